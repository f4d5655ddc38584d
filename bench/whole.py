"""Times whole jobs, from a text file to decisions, beside scikit-learn, gensim and fastText: seconds and peak memory.

    python bench/whole.py --data 20newsgroups.jsonl.gz --ours target/release/corpuscle [--jobs svm,lsi,fasttext,scdv]

Every job of either side runs in a process of its own, one after the other, so that its peak memory is its own. The data
must be JSON Lines (.gz) with the fields text, label and split. scikit-learn 1.9, gensim 4.4, fasttext-wheel 0.9.2.
SCDV is trained with --epochs passes over the text (1 by default: gensim needs minutes for the paper's 25).
"""
import argparse, gzip, json, os, re, subprocess, sys, tempfile, time

JOBS = {
    "svm": ("scikit-learn", "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | svm(calibrate=0)"),
    # With probabilities: both fit the classifier on all documents and three times for held-out scores.
    "calibrated": ("scikit-learn", "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | svm(calibrate=3)"),
    "bigrams": ("scikit-learn", "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2, ngrams=2) | svm(calibrate=0)"),
    "lsi": ("scikit-learn", "words(tokenizer=sklearn) | tfidf(sublinear=true, min_df=2) | lsi(200) | svm(calibrate=0)"),
    "fasttext": ("fastText", "tfidf(sublinear=true, min_df=2, ngrams=2) | svm(calibrate=0)"),
    "scdv": ("gensim, scikit-learn", "words(tokenizer=unicode) | scdv(epochs={epochs}) | svm(calibrate=0)"),
}


def rows(data):
    for line in gzip.open(data, "rt", encoding="utf-8"):
        row = json.loads(line)
        yield row["split"] == "train", row["label"], row["text"]


def peer(job, data, epochs):
    """The other side's whole job; prints its accuracy on the test part."""
    import numpy as np

    parts = list(rows(data))
    train, test = ([part for part in parts if part[0] == wanted] for wanted in (True, False))
    y, z = (np.array([label for _, label, _ in part]) for part in (train, test))
    if job == "fasttext":
        import fasttext

        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            for _, label, text in train:
                file.write("__label__%s %s\n" % (label, " ".join(re.findall(r"\w+", text.lower()))))
            file.flush()
            # The best of three settings on held-out training rows; fewer epochs and bigrams were worse.
            model = fasttext.train_supervised(file.name, epoch=50, lr=1.0, dim=100, thread=os.cpu_count(), verbose=0)
        texts = [" ".join(re.findall(r"\w+", text.lower())) for _, _, text in test]
        # The array that fasttext makes of probabilities is refused by numpy 2; its own function below is not.
        said = np.array([model.f.predict(text + "\n", 1, 0.0, "strict")[0][1] for text in texts])
        print((said == np.char.add("__label__", z)).mean())
        return
    from sklearn.svm import LinearSVC

    if job == "scdv":
        from gensim.models import Word2Vec
        from sklearn.feature_extraction.text import TfidfVectorizer
        from sklearn.mixture import GaussianMixture
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        from words_peer import scdv

        docs = [re.findall(r"\w+", text.lower()) for _, _, text in train + test]
        learnt = docs[: len(train)]
        model = Word2Vec(learnt, vector_size=200, window=10, negative=10, min_count=20, sample=1e-3, sg=1, workers=os.cpu_count(), epochs=epochs, seed=1)
        words, vectors = model.wv.index_to_key, model.wv.get_normed_vectors()
        mixture = GaussianMixture(60, covariance_type="tied", max_iter=50, random_state=1).fit(vectors)
        tfidf = TfidfVectorizer(analyzer=lambda doc: doc).fit(learnt)
        idf = np.array([tfidf.idf_[tfidf.vocabulary_[word]] for word in words], np.float32)
        x = scdv(docs, words, vectors, mixture.predict_proba(vectors).astype(np.float32), idf, [True] * len(train) + [False] * len(test), 4)
        x, q = x[: len(train)], x[len(train) :]
    else:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2, ngram_range=(1, 2 if job == "bigrams" else 1))
        x = vectorizer.fit_transform([text for _, _, text in train])
        q = vectorizer.transform([text for _, _, text in test])
        if job == "lsi":
            svd = TruncatedSVD(200, random_state=1)
            x, q = svd.fit_transform(x), svd.transform(q)
    classifier = LinearSVC()
    if job == "calibrated":
        from sklearn.calibration import CalibratedClassifierCV

        classifier = CalibratedClassifierCV(classifier, cv=3, ensemble=False)
    print((classifier.fit(x, y).predict(q) == z).mean())


def watched(command):
    """Seconds, peak memory in MB and what was printed."""
    started = time.perf_counter()
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        if status:
            sys.exit(f"{command[0]} failed")
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, out.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", help="the corpuscle program")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--output", help="results as JSON")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.peer:
        return peer(args.peer, args.data, args.epochs)
    print(f"{'job':10} {'ours s':>8} {'theirs s':>9} {'ratio':>6} {'ours MB':>8} {'theirs MB':>10}   accuracy, ours and theirs")
    results = []
    for job in args.jobs.split(","):
        name, recipe = JOBS[job]
        recipe = recipe.replace("{epochs}", str(args.epochs))
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(folder, "model")
            train = watched([args.ours, "train", args.data, "--where", "split=train", "--recipe", recipe, "-o", model, "-q"])
            test = watched([args.ours, "evaluate", model, args.data, "--where", "split=test", "--json", "-q"])
        theirs = watched([sys.executable, os.path.abspath(__file__), "--data", args.data, "--peer", job, "--epochs", str(args.epochs)])
        row = {
            "work": job, "recipe": recipe, "peer": name, "ours": train[0] + test[0], "theirs": theirs[0],
            "ratio": theirs[0] / (train[0] + test[0]), "ours_mb": max(train[1], test[1]), "theirs_mb": theirs[1],
            "ours_accuracy": json.loads(test[2])["accuracy"], "theirs_accuracy": float(theirs[2]),
        }
        results.append(row)
        print(f"{job:10} {row['ours']:8.2f} {row['theirs']:9.2f} {row['ratio']:6.1f} {row['ours_mb']:8.0f} {row['theirs_mb']:10.0f}   "
              f"{100 * row['ours_accuracy']:.2f} % and {100 * row['theirs_accuracy']:.2f} % ({name})", flush=True)
    if args.output:
        with open(args.output + ".tmp", "w") as file:
            json.dump({"cores": os.cpu_count(), "results": results}, file, indent=1)
            file.write("\n")
        os.replace(args.output + ".tmp", args.output)


if __name__ == "__main__":
    main()
