"""Times scikit-learn and Corpuscle on the same work, one after the other in one run, and prints the ratios.

Called by bench/run, which sets up the virtual environment. The data must be JSON Lines (.gz) with the fields
text, label and split; 20 Newsgroups (bydate) is what the figures in the README were measured on.
"""
import argparse, gzip, json, os, subprocess, sys, tempfile, time, warnings

import numpy as np
import sklearn
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import LinearSVC

TASKS = ["vectorise", "bigrams", "svm", "logistic", "crammer_singer", "knn"]


def timed(work, repeat):
    best = float("inf")
    for _ in range(repeat):
        started = time.perf_counter()
        result = work()
        best = min(best, time.perf_counter() - started)
    return best, result


def squared_hinge(model, x, y):
    signs = np.where(y[:, None] == np.arange(len(model.classes_))[None, :], 1.0, -1.0)
    slack = np.maximum(0, 1 - signs * (x @ model.coef_.T + model.intercept_))
    return 0.5 * ((model.coef_**2).sum() + (model.intercept_**2).sum()) + (slack**2).sum()


def crammer_singer(model, x, y):
    scores = x @ model.coef_.T + model.intercept_
    own = scores[np.arange(len(y)), y].copy()
    scores[np.arange(len(y)), y] = -np.inf
    return 0.5 * ((model.coef_**2).sum() + (model.intercept_**2).sum()) + np.maximum(0, 1 - own + scores.max(1)).sum()


def multinomial(model, x, y):
    scores = x @ model.coef_.T + model.intercept_
    top = scores.max(1)
    log_sum = top + np.log(np.exp(scores - top[:, None]).sum(1))
    return 0.5 * (model.coef_**2).sum() + (log_sum - scores[np.arange(len(y)), y]).sum()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", required=True, help="the side-by-side program")
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--repeat", type=int, default=1, help="runs of each peer task; the fastest counts")
    parser.add_argument("--output", help="results as JSON")
    args = parser.parse_args()
    warnings.simplefilter("ignore")

    rows = [json.loads(line) for line in gzip.open(args.data, "rt", encoding="utf-8")]
    train = [row for row in rows if row["split"] == "train"]
    test = [row for row in rows if row["split"] == "test"]
    names = sorted({row["label"] for row in train})
    y = np.array([names.index(row["label"]) for row in train])
    z = np.array([names.index(row["label"]) for row in test])
    texts = [row["text"] for row in train]
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
    x = vectorizer.fit_transform(texts)
    q = vectorizer.transform([row["text"] for row in test])

    def ours(task, *more):
        command = [args.ours, "--data", args.data, "--tasks", task, "--repeat", "3", *more]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[task]

    print(f"scikit-learn {sklearn.__version__}, {os.cpu_count()} cores, {len(train)} + {len(test)} documents, "
          f"{x.shape[1]} terms, {x.nnz} non-zeros")
    print(f"{'work':15} {'ours s':>9} {'theirs s':>9} {'ratio':>7}   remarks")
    results = []
    for task in args.tasks.split(","):
        remark = ""
        if task in ("vectorise", "bigrams"):
            ngrams = (1, 2) if task == "bigrams" else (1, 1)
            seconds, matrix = timed(lambda: TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=ngrams).fit_transform(texts), args.repeat)
            mine = ours(task)
            same = matrix.shape == (mine["rows"], mine["columns"]) and matrix.nnz == mine["nnz"]
            remark = f"{matrix.shape[1]} terms, same shape and non-zeros: {same}"
        elif task == "knn":
            seconds, (distances, theirs) = timed(lambda: NearestNeighbors(n_neighbors=10, metric="cosine", algorithm="brute").fit(x).kneighbors(q), args.repeat)
            with tempfile.NamedTemporaryFile() as file:
                mine = ours(task, "--neighbours", file.name)
                found = np.fromfile(file.name, dtype="<u4").reshape(theirs.shape)
            # Documents at the same distance may stand in any order: what must agree is the list of distances.
            agree = np.array([
                np.allclose(1 - (q[i] @ x[found[i]].T).toarray()[0], distances[i], atol=1e-6)
                for i in np.flatnonzero((found != theirs).any(1))
            ])
            remark = f"{(found == theirs).all(1).sum()} of {len(found)} lists equal, {(~agree).sum() if len(agree) else 0} differ by more than ties"
        else:
            model, objective = {
                "svm": (LinearSVC(), squared_hinge),
                "crammer_singer": (LinearSVC(multi_class="crammer_singer"), crammer_singer),
                "logistic": (LogisticRegression(max_iter=1000), multinomial),
            }[task]
            seconds, model = timed(lambda: model.fit(x, y), args.repeat)
            mine = ours(task)
            value = objective(model, x, y)
            accuracy = (model.predict(q) == z).mean()
            remark = (f"objective {mine['objective']:.4f} against {value:.4f} ({mine['objective'] / value - 1:+.1e}), "
                      f"accuracy {100 * mine['accuracy']:.2f} against {100 * accuracy:.2f} %")
        row = {"work": task, "ours": mine["seconds"], "theirs": seconds, "ratio": seconds / mine["seconds"], "remark": remark}
        results.append(row)
        print(f"{task:15} {row['ours']:9.3f} {row['theirs']:9.2f} {row['ratio']:7.1f}   {remark}", flush=True)
    if args.output:
        with open(args.output + ".tmp", "w") as file:
            json.dump({"peer": f"scikit-learn {sklearn.__version__}", "cores": os.cpu_count(), "results": results}, file, indent=1)
            file.write("\n")
        os.replace(args.output + ".tmp", args.output)


if __name__ == "__main__":
    sys.exit(main())
