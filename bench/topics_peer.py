"""Latent Dirichlet allocation beside scikit-learn's online variational Bayes and tomotopy, in one run.

    python bench/topics_peer.py --data 20newsgroups.jsonl.gz --ours target/release/topics

The data must be JSON Lines (.gz) with the fields text and split. All sides have the same words: those our program writes, of the
training part's vocabulary. All are scored by one definition, document completion: of every test document the words at even places
are read, those at odd places are foreseen, perplexity is exp(-mean ln sum_k theta_k P(w|k)), theta by each program's own inference.
Ours is fitted with several numbers of sweeps; what counts is the time of the first whose perplexity is no worse than a peer's.
Coherence is UMass of the ten most probable words as in `corpuscle topics`, over the documents of both parts, mean of all topics.
scikit-learn 1.9, tomotopy 0.14.
"""
import argparse, json, resource, subprocess, sys, tempfile, time, warnings
from pathlib import Path

import numpy as np


def halves(documents):
    return [words[::2] for words in documents], [words[1::2] for words in documents]


def perplexity(foreseen, theta, phi):
    total, count = 0.0, 0
    for row, words in enumerate(foreseen):
        if words:
            total += np.log(theta[row] @ phi[:, words]).sum()
            count += len(words)
    return float(np.exp(-total / count))


def umass(top, documents):
    wanted = {word for words in top for word in words}
    having = {word: set() for word in wanted}
    for number, words in enumerate(documents):
        for word in wanted.intersection(words):
            having[word].add(number)
    pair = lambda other, word: np.log((len(having[other] & having[word]) + 1) / max(len(having[word]), 1))
    return float(np.mean([sum(pair(words[m], words[l]) for m in range(1, len(words)) for l in range(m)) for words in top]))


def used():
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


def scikit(train, test, n_words, args):
    import scipy.sparse as sp
    from sklearn.decomposition import LatentDirichletAllocation

    def matrix(documents):
        rows = np.repeat(np.arange(len(documents)), [len(words) for words in documents])
        columns = np.array([word for words in documents for word in words])
        return sp.csr_matrix((np.ones(len(columns)), (rows, columns)), shape=(len(documents), n_words))

    x = matrix(train)
    model = LatentDirichletAllocation(args.topics, learning_method="online", random_state=args.seed, n_jobs=args.jobs, max_iter=args.max_iter)
    started, cpu = time.perf_counter(), used()
    model.fit(x)
    seconds, cpu = time.perf_counter() - started, used() - cpu
    read, foreseen = halves(test)
    theta = model.transform(matrix(read))
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    return [{"iterations": args.max_iter, "seconds": seconds, "cpu": cpu, "perplexity": perplexity(foreseen, theta, phi),
             "umass": umass(np.argsort(-phi, axis=1)[:, :10].tolist(), train + test)}]


def tomotopy(train, test, n_words, args):
    import tomotopy as tp

    model = tp.LDAModel(k=args.topics, seed=args.seed)
    for words in train:
        if words:
            model.add_doc([str(word) for word in words])
    model.burn_in = 0
    read, foreseen = halves(test)
    results, done, seconds, cpu = [], 0, 0.0, 0.0
    for iterations in args.iterations:
        started, before = time.perf_counter(), used()
        model.train(iterations - done, workers=2)
        seconds, cpu, done = seconds + time.perf_counter() - started, cpu + used() - before, iterations
        # Words of one count may be left out by the program: they get the least probability there is.
        phi = np.full((args.topics, n_words), 1e-12)
        columns = [int(word) for word in model.used_vocabs]
        phi[:, columns] = np.array([model.get_topic_word_dist(topic) for topic in range(args.topics)])
        documents = [model.make_doc([str(word) for word in words]) if words else None for words in read]
        known = [document for document in documents if document is not None]
        model.infer(known, iterations=100, workers=2)
        prior = np.array(model.alpha) / np.sum(model.alpha)
        theta = np.array([prior if document is None else document.get_topic_dist() for document in documents])
        results.append({"iterations": iterations, "seconds": seconds, "cpu": cpu, "perplexity": perplexity(foreseen, theta, phi),
             "umass": umass(np.argsort(-phi, axis=1)[:, :10].tolist(), train + test)})
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", required=True, help="the `topics` program of this folder")
    parser.add_argument("--topics", type=int, default=80)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--max-iter", type=int, default=10)
    parser.add_argument("--iterations", type=int, nargs="+", default=[100, 200, 500])
    parser.add_argument("--sweeps", type=int, nargs="+", default=[20, 40, 80, 120, 150, 250])
    parser.add_argument("--peers", nargs="+", default=["sklearn", "tomotopy"])
    parser.add_argument("--output")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / "words.json"
        call = [args.ours, "--data", args.data, "--topics", str(args.topics), "--seed", str(args.seed), "--threads", "2", "--write", str(words), "--sweeps"]
        ours = json.loads(subprocess.run(call + [",".join(map(str, args.sweeps))], check=True, capture_output=True).stdout)
        made = json.loads(words.read_text())
    print(f"{ours['documents']} documents, {ours['tokens']} words, {ours['vocabulary']} different, {args.topics} topics")
    line = lambda name, result: print(
        f"{name:12} {result['iterations']:>6} passes {result['seconds']:>8.2f} s ({result['cpu']:.2f} s of processor) "
        f"perplexity {result['perplexity']:.1f} UMass {result['umass']:.1f}", flush=True)
    for result in ours["fits"]:
        result["umass"] = umass(result.pop("top"), made["train"] + made["test"])
        line("corpuscle", result)
    peers = {}
    for name in args.peers:
        peers[name] = (scikit if name == "sklearn" else tomotopy)(made["train"], made["test"], ours["vocabulary"], args)
        for result in peers[name]:
            line(name, result)
            equal = next((own for own in ours["fits"] if own["perplexity"] <= result["perplexity"]), None)
            if equal is None:
                print("             none of our fits is as good")
            else:
                print(f"             as good with {equal['iterations']} sweeps: {result['seconds'] / equal['seconds']:.1f} times faster, "
                      f"{result['cpu'] / equal['cpu']:.1f} times less processor time")
    if args.output:
        Path(args.output).write_text(json.dumps({"corpuscle": ours, **peers}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
