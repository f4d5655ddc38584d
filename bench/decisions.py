"""How documents are decided when few are labelled, for one or more builds of the command: one label each, or several.

    python bench/decisions.py target/release/corpuscle [another build] --data ../shared/data/reuters21578.jsonl.gz [more files]
        [--field label|labels|tags] [--labels 100,500,all] [--draws 3] [--recipe "tfidf(sublinear=true) | svm"] [--unlabelled] [--seed 1]

A file has rows of `text`, of a label or a list of labels in `--field` (`labels` taken for `label` where there is one) and, if it likes, of `split`; only
rows of `train` are used, and a third of them is held out by chance: no test part is looked at. Labelled documents are drawn at random from the rest,
the same for every build; with `--unlabelled` the others come without labels. A table of what `evaluate` says, and for several labels of how many are
given to a document, and the share of documents with the label that is given most beside its true share.
"""

import argparse
import gzip
import json
import pathlib
import random
import subprocess
import tempfile
from collections import Counter


def read(path, field):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    kept = []
    for row in rows:
        label = row.get(field)
        if field == "label" and label is None and len(row.get("labels", [])) == 1:
            label = row["labels"][0]
        if label and row.get("split", "train") == "train":
            kept.append({"text": row["text"], "label": sorted(set(label)) if isinstance(label, list) else label})
    return kept


def write(path, rows, labelled=None):
    with open(path, "w", encoding="utf-8") as file:
        for at, row in enumerate(rows):
            label = row["label"] if labelled is None or at < labelled else None
            file.write(json.dumps({"id": str(at), "text": row["text"], "label": label}) + "\n")


def measured(build, recipe, folder):
    def call(*arguments):
        done = subprocess.run([build, *arguments, "--label", "label", "-q", "--json"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode:
            raise SystemExit(done.stderr.decode())
        return json.loads(done.stdout)

    call("train", "train.jsonl", "--recipe", recipe, "-o", "a.model")
    said = call("evaluate", "a.model", "test.jsonl")
    found = {name: said[name] for name in ("accuracy", "micro_f1", "weighted_f1", "macro_f1", "log_loss", "calibration_error") if said.get(name) is not None}
    if said.get("lrap") is not None:
        most = max(said["per_class"], key=lambda one: one["predicted"])
        n = said["documents"]
        found |= {"lrap": said["lrap"], "p@1": said["precision_at"]["1"]}
        found |= {"given": sum(one["predicted"] for one in said["per_class"]) / n, "true": sum(one["support"] for one in said["per_class"]) / n}
        found |= {"most given": most["predicted"] / n, "its share": most["support"] / n}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("builds", nargs="+")
    parser.add_argument("--data", nargs="+", required=True)
    parser.add_argument("--field", default="label")
    parser.add_argument("--labels", default="100,500,all")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--recipe", action="append")
    parser.add_argument("--unlabelled", action="store_true")
    parser.add_argument("--most", type=int, default=6000, help="documents at most, drawn by chance")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    header = None
    for path in asked.data:
        rows = read(path, asked.field)
        random.Random(asked.seed).shuffle(rows)
        rows = rows[: asked.most]
        test, rest = rows[: len(rows) // 3], rows[len(rows) // 3 :]
        for size in asked.labels.split(","):
            for recipe in asked.recipe or ["tfidf(sublinear=true) | svm"]:
                for build in asked.builds:
                    sums, draws = Counter(), 1 if size == "all" else asked.draws
                    for draw in range(draws):
                        order = random.Random(asked.seed * 1000 + draw).sample(rest, len(rest))
                        labelled = len(rest) if size == "all" else int(size)
                        with tempfile.TemporaryDirectory() as folder:
                            write(pathlib.Path(folder, "train.jsonl"), order if asked.unlabelled else order[:labelled], labelled)
                            write(pathlib.Path(folder, "test.jsonl"), test)
                            sums.update(measured(pathlib.Path(build).resolve(), recipe, folder))
                    found = {name: value / draws for name, value in sums.items()}
                    if header != list(found):
                        header = list(found)
                        print("| corpus | labels | recipe | build | " + " | ".join(header) + " |")
                        print("|---|---:|---|---|" + "---:|" * len(header))
                    shown = " | ".join(f"{value:.2f}" if name in ("log_loss", "given", "true") else f"{100 * value:.1f}" for name, value in found.items())
                    name = pathlib.Path(path).name.split(".")[0]
                    print(f"| {name} | {size} | `{recipe}` | {build} | {shown} |".replace(" | svm", " \\| svm"), flush=True)


if __name__ == "__main__":
    main()
