"""`corpuscle train --spill` against the number of documents: seconds, peak memory, and whether the model is that of a fit in memory.

    python bench/spill.py target/release/corpuscle 1000000 10000000

Documents are short messages of 20 classes made of Zipf-distributed words, some of them a class's own. Sizes up to `--same` are also
trained without --spill, and the bytes of the two models compared.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time

import numpy as np

CLASSES = 20
WORDS = 100_000
PIECE = 100_000


def write(path, documents):
    """JSON Lines of so many documents; the same for the same number."""
    steps = np.cumsum(1 / np.arange(1, WORDS + 1))
    steps /= steps[-1]
    names = np.array([f"w{number:x}" for number in range(WORDS)], dtype=object)
    with open(path, "w", encoding="ascii") as out:
        for first in range(0, documents, PIECE):
            draw = np.random.default_rng([11, first])
            count = min(PIECE, documents - first)
            labels, lengths = draw.integers(CLASSES, size=count), draw.integers(6, 19, size=count)
            words = np.searchsorted(steps, draw.random(lengths.sum()))
            of = np.repeat(labels, lengths)
            own = draw.random(len(words)) < 0.12
            words = names[np.where(own, 200 + (words % 400) // CLASSES * CLASSES + of, words)].tolist()
            ends = np.cumsum(lengths).tolist()
            starts = [0, *ends[:-1]]
            out.writelines(
                f'{{"text": "{" ".join(words[start:end])}", "label": "c{label}"}}\n'
                for start, end, label in zip(starts, ends, labels.tolist(), strict=True)
            )


def train(command, data, model, recipe, *more):
    """Seconds and peak memory in bytes."""
    started = time.perf_counter()
    process = subprocess.Popen([command, "train", data, "--recipe", recipe, "-o", model, "--quiet", *more])
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} train failed on {data}")
    return time.perf_counter() - started, used.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", help="the program `corpuscle`")
    parser.add_argument("sizes", type=int, nargs="+", help="numbers of documents")
    parser.add_argument("--recipe", default="tfidf(min_df=5) | svm(calibrate=0)")
    parser.add_argument("--same", type=int, default=1_000_000)
    parser.add_argument("--folder", help="where documents and models are put; a temporary one without it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        for size in arguments.sizes:
            data, model = os.path.join(folder, "documents.jsonl"), os.path.join(folder, "spilled.model")
            write(data, size)
            seconds, peak = train(arguments.command, data, model, arguments.recipe, "--spill")
            found = {
                "documents": size,
                "mb": round(os.path.getsize(data) / 1e6),
                "seconds": round(seconds, 1),
                "peak_mb": round(peak / 1e6),
            }
            if size <= arguments.same:
                plain = os.path.join(folder, "plain.model")
                seconds, peak = train(arguments.command, data, plain, arguments.recipe)
                with open(plain, "rb") as a, open(model, "rb") as b:
                    same = a.read() == b.read()
                found |= {"plain_seconds": round(seconds, 1), "plain_peak_mb": round(peak / 1e6), "same_bytes": same}
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
