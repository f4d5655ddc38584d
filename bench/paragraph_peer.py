"""Paragraph vectors by gensim and by Corpuscle at the same settings, in one run: seconds, and what a linear SVM makes of the rows.

    python bench/paragraph_peer.py --data 20newsgroups.jsonl.gz --ours target/release/paragraph

The data must be JSON Lines (.gz) with the fields text, label and split. Both sides learn from the words of the training part
alone (runs of letters, digits and underscores, in lower case) and infer the test part; the same SVM judges both, its C chosen by five
folds of the training part. gensim's training rows are those training ended with, or inferred ones, whichever does better
in the folds. gensim 4.4, scikit-learn 1.9.
"""
import argparse, gzip, json, re, subprocess, tempfile, time, warnings

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC


def judge(x, y, z, truth):
    search = GridSearchCV(LinearSVC(dual=False), {"C": [0.1, 1, 10]}, cv=5, n_jobs=2).fit(normalize(x), y)
    return search.best_score_, (search.predict(normalize(z)) == truth).mean(), search.best_params_["C"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", required=True, help="the `paragraph` program of this folder")
    parser.add_argument("--mode", default="dbow", choices=["dbow", "dm"])
    parser.add_argument("--dim", type=int, default=400)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--negatives", type=int, default=5)
    parser.add_argument("--window", type=int, default=10)
    parser.add_argument("--min-count", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--set", default="", help="more parameters of ours, name=value,name=value")
    parser.add_argument("--ours-only", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = [json.loads(line) for line in gzip.open(args.data, "rt", encoding="utf-8")]
    part = lambda name: [row for row in rows if row["split"] == name]
    y, truth = (np.array([row["label"] for row in part(name)]) for name in ("train", "test"))
    settings = dict(mode=args.mode, dim=args.dim, epochs=args.epochs, negatives=args.negatives, window=args.window,
                    min_count=args.min_count, subsample=0.001)
    given = ",".join(f"{name}={value}" for name, value in settings.items()) + ("," + args.set if args.set else "")
    with tempfile.NamedTemporaryFile() as file:
        call = [args.ours, "--data", args.data, "--seed", str(args.seed), "--threads", str(args.workers),
                "--set", given, "--output", file.name]
        ours = json.loads(subprocess.run(call, check=True, capture_output=True).stdout)
        x = np.fromfile(file.name, dtype="<f4").reshape(-1, ours["dim"])
    folds, accuracy, c = judge(x[: len(y)], y, x[len(y):], truth)
    print(f"{given}\nours: fit with rows {ours['fit_seconds']:.1f} s, test rows {ours['infer_seconds']:.1f} s, "
          f"folds {100 * folds:.2f}, test {100 * accuracy:.2f} (C {c})", flush=True)
    if args.ours_only:
        return
    from gensim.models.doc2vec import Doc2Vec, TaggedDocument

    words = lambda name: [re.findall(r"\w+", row["text"].lower()) for row in part(name)]
    train, test = words("train"), words("test")
    started = time.perf_counter()
    model = Doc2Vec(vector_size=args.dim, window=args.window, negative=args.negatives, min_count=args.min_count, sample=1e-3,
                    dm=int(args.mode == "dm"), hs=0, epochs=args.epochs, workers=args.workers, seed=args.seed)
    tagged = [TaggedDocument(doc, [i]) for i, doc in enumerate(train)]
    model.build_vocab(tagged)
    model.train(tagged, total_examples=len(tagged), epochs=args.epochs)
    fit = time.perf_counter() - started
    # Inference of one document at a time is all gensim has; it lets go of the interpreter's lock only inside a pass.
    started = time.perf_counter()
    z = np.array([model.infer_vector(doc) for doc in test])
    infer = time.perf_counter() - started
    started = time.perf_counter()
    again = np.array([model.infer_vector(doc) for doc in train])
    both = time.perf_counter() - started
    folds, accuracy, c = max(judge(rows, y, z, truth) for rows in (model.dv.vectors, again))
    print(f"gensim: fit {fit:.1f} s ({fit / ours['fit_seconds']:.1f} x), test rows {infer:.1f} s ({infer / ours['infer_seconds']:.1f} x), "
          f"training rows inferred {both:.1f} s, folds {100 * folds:.2f}, test {100 * accuracy:.2f} (C {c})", flush=True)


if __name__ == "__main__":
    main()
