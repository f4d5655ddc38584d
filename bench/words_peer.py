"""Times gensim and scikit-learn on word vectors, mixture, SCDV and SVM, and Corpuscle on the same, in one run.

    python bench/words_peer.py --data 20newsgroups.jsonl.gz --ours target/release/words --epochs 1

The data must be JSON Lines (.gz) with the fields text, label and split. Word vectors and idf are fitted on the text of
both parts, as in the SCDV paper (transductive). gensim 4.4, scikit-learn 1.9.
Both sides start from the same words: runs of letters, digits and underscores, in lower case.
"""
import argparse, gzip, json, re, subprocess, time, warnings

import numpy as np
import scipy.sparse as sp
from gensim.models import Word2Vec
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.mixture import GaussianMixture
from sklearn.svm import LinearSVC


def scdv(docs, words, vectors, posteriors, idf, train, sparsity):
    """The published program's way, with the words x K*d table kept sparse in memory by taking a document at a time."""
    number = {word: i for i, word in enumerate(words)}
    k, dim = posteriors.shape[1], vectors.shape[1]
    low = high = 0.0
    rows = []
    for doc, is_train in zip(docs, train):
        ids = [number[word] for word in doc if word in number]
        row = ((posteriors[ids] * idf[ids][:, None]).T @ vectors[ids]).ravel() if ids else np.zeros(k * dim, np.float32)
        length = np.linalg.norm(row)
        row = row / length if length else row
        if is_train:
            low, high = low + row.min(), high + row.max()
        rows.append(sp.csr_matrix(np.where(np.abs(row) < 1e-4, 0, row).astype(np.float32)))
    t = (abs(low) + abs(high)) / (2 * sum(train))
    x = sp.vstack(rows, format="csr")
    x.data[np.abs(x.data) < sparsity / 100 * t] = 0
    x.eliminate_zeros()
    return x


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", required=True, help="the `words` program of this folder")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--vectors-only", action="store_true", help="only the training of word vectors")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    call = [args.ours, "--data", args.data, "--epochs", str(args.epochs), "--seed", str(args.seed), "--words"]
    ours = json.loads(subprocess.run(call + ["words(tokenizer=unicode)"], check=True, capture_output=True).stdout)

    rows = [json.loads(line) for line in gzip.open(args.data, "rt", encoding="utf-8")]
    docs = [re.findall(r"\w+", row["text"].lower()) for row in rows]
    train = [row["split"] == "train" for row in rows]
    theirs = {}
    started = time.perf_counter()
    model = Word2Vec(vector_size=200, window=10, negative=10, min_count=20, sample=1e-3, sg=1, workers=args.workers, seed=args.seed)
    model.build_vocab(docs)
    model.train(docs, total_examples=len(docs), epochs=args.epochs)
    theirs["vectors"] = time.perf_counter() - started
    theirs["tokens_per_second"] = sum(map(len, docs)) * args.epochs / theirs["vectors"]
    print("vectors: gensim %.1f s, ours %.1f s, %.1f x" % (theirs["vectors"], ours["vectors"]["seconds"], theirs["vectors"] / ours["vectors"]["seconds"]), flush=True)
    if args.vectors_only:
        return
    words, vectors = model.wv.index_to_key, model.wv.get_normed_vectors()
    started = time.perf_counter()
    mixture = GaussianMixture(60, covariance_type="tied", max_iter=50, tol=0, random_state=args.seed).fit(vectors)
    theirs["mixture"] = time.perf_counter() - started
    print("mixture: scikit-learn %.1f s (%.3f), ours %.1f s (%.3f), %.1f x" % (
        theirs["mixture"], mixture.lower_bound_, ours["mixture"]["seconds"], ours["mixture"]["likelihood"],
        theirs["mixture"] / ours["mixture"]["seconds"]), flush=True)
    started = time.perf_counter()
    tfidf = TfidfVectorizer(analyzer=lambda doc: doc).fit(docs)
    idf = np.array([tfidf.idf_[tfidf.vocabulary_[word]] for word in words], np.float32)
    x = scdv(docs, words, vectors, mixture.predict_proba(vectors).astype(np.float32), idf, train, 4)
    theirs["documents"] = time.perf_counter() - started
    mine = ours["scdv 4"]
    print("documents: numpy %.1f s, ours %.1f s, %.1f x" % (theirs["documents"], mine["transform_seconds"], theirs["documents"] / mine["transform_seconds"]), flush=True)
    y = np.array([row["label"] for row in rows])
    train = np.array(train)
    started = time.perf_counter()
    svm = LinearSVC().fit(x[train], y[train])
    theirs["svm"] = time.perf_counter() - started
    theirs["accuracy"] = svm.score(x[~train], y[~train])
    mine = mine["svm"]["c = 1"]
    print("svm: LinearSVC %.1f s (%.4f), ours %.1f s (%.4f), %.1f x" % (
        theirs["svm"], theirs["accuracy"], mine["seconds"], mine["accuracy"], theirs["svm"] / mine["seconds"]), flush=True)
    print(json.dumps({"theirs": theirs, "ours": ours}))


if __name__ == "__main__":
    main()
