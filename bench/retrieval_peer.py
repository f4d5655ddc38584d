"""Search by BM25 beside bm25s and rank-bm25, in one run.

    python bench/retrieval_peer.py --ours target/release/retrieval --collections ../shared/data/ir

Collections with judgements (Cranfield, CISI, CACM, MED) show that all sides find the same (MAP); made-up short documents show speed.
Peers begin with the words that our program writes, so that texts are cut the same way and only search is compared; ours cuts queries
itself within its time. Ten documents are asked for, one query after the other. bm25s 0.3, rank-bm25 0.2.
"""
import argparse, json, statistics, subprocess, tempfile, time
from pathlib import Path

import numpy as np

WORDS = "words(stem=porter, stop=english)"


def lines(path):
    return [(key, words.split()) for key, words in (line.rstrip("\n").split("\t") for line in open(path, encoding="utf-8"))]


def average_precision(found, relevant):
    hits, total = 0, 0.0
    for rank, document in enumerate(found, 1):
        if document in relevant:
            hits += 1
            total += hits / rank
    return total / len(relevant)


def bm25s_side(documents, k):
    import bm25s

    model = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    model.index([words for _, words in documents], show_progress=False)

    def search(words, k=k):
        words = [word for word in words if word in model.vocab_dict]
        if not words:
            return []
        found, scores = model.retrieve([words], k=min(k, len(documents)), show_progress=False, n_threads=0)
        return [int(row) for row, score in zip(found[0], scores[0]) if score > 0]

    return search


def rank_bm25_side(documents, k):
    from rank_bm25 import BM25Okapi

    model = BM25Okapi([words for _, words in documents], k1=1.2, b=0.75)

    def search(words, k=k):
        scores = model.get_scores(words)
        best = np.argsort(-scores, kind="stable")[:k]
        return [int(row) for row in best if scores[row] > 0]

    return search


def peer(make, documents, queries, timed, qrels=None):
    started = time.perf_counter()
    search = make(documents, 10)
    result = {"index_seconds": time.perf_counter() - started}
    asked = [queries[i % len(queries)][1] for i in range(timed)]
    for words in asked[:5]:
        search(words)
    times = []
    for words in asked:
        started = time.perf_counter()
        search(words)
        times.append((time.perf_counter() - started) * 1e3)
    result |= {"queries": timed, "median_ms": statistics.median(times), "p99_ms": sorted(times)[min(timed - 1, int(timed * 0.99))]}
    result["queries_per_second"] = 1e3 * timed / sum(times)
    if qrels:
        ids = [key for key, _ in documents]
        of = [average_precision([ids[row] for row in search(words, 1000)], qrels[key]) for key, words in queries if key in qrels]
        result["map"] = statistics.mean(of)
    return result


def ours(args, *flags):
    return json.loads(subprocess.run([args.ours, *map(str, flags)], check=True, stdout=subprocess.PIPE, text=True).stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--ours", required=True)
    parser.add_argument("--collections", type=Path, default=Path("../shared/data/ir"))
    parser.add_argument("--documents", type=int, default=1_000_000, help="made-up documents for ours alone")
    parser.add_argument("--together", type=int, default=100_000, help="made-up documents for all sides")
    parser.add_argument("--output")
    args = parser.parse_args()
    results = {}
    for name in ["cranfield", "cisi", "cacm", "med"]:
        files = [args.collections / f"{name}.{end}" for end in ("docs.jsonl.gz", "queries.jsonl.gz", "qrels.tsv")]
        if not all(file.is_file() for file in files):
            continue
        with tempfile.TemporaryDirectory() as folder:
            flags = ["--data", files[0], "--queries", files[1], "--qrels", files[2], "--words", WORDS, "--vectors", "", "--write", folder]
            of = {"ours": ours(args, *flags)}
            of["ours"] = of["ours"] | of["ours"].pop("words")
            qrels = {}
            for line in open(files[2], encoding="utf-8"):
                query, document, relevance = line.split()[:3]
                if int(relevance) > 0:
                    qrels.setdefault(query, set()).add(document)
            documents, queries = lines(Path(folder) / "documents.tsv"), lines(Path(folder) / "queries.tsv")
            of["bm25s"] = peer(bm25s_side, documents, queries, 1000, qrels)
            of["rank-bm25"] = peer(rank_bm25_side, documents, queries, 200, qrels)
        results[name] = of
    with tempfile.TemporaryDirectory() as folder:
        one = ours(args, "--documents", args.together, "--vectors", "", "--write", folder)
        of = {"ours": one | one.pop("words")}
        documents, queries = lines(Path(folder) / "documents.tsv"), lines(Path(folder) / "queries.tsv")
        of["bm25s"] = peer(bm25s_side, documents, queries, 300)
        of["rank-bm25"] = peer(rank_bm25_side, documents, queries, 10)
        results[f"{args.together} made up"] = of
    for name, of in results.items():
        print(name)
        for side, r in of.items():
            found = f", MAP {r['map']:.4f}" if "map" in r else ""
            ratio = of["ours"]["queries_per_second"] / r["queries_per_second"]
            print(f"  {side:10} {r['queries_per_second']:9.0f} queries/s ({ratio:5.1f} x), median {r['median_ms']:7.3f} ms, p99 {r['p99_ms']:7.3f} ms, indexed in {r['index_seconds']:.2f} s{found}")
    large = ours(args, "--documents", args.documents)
    results["large"] = large
    print(f"{large['documents']} made up, ours alone: {large['mb_per_second']:.0f} MB/s, index {100 * large['index_of_text']:.0f} % of the text")
    for part in ("words", "vectors"):
        print(f"  {part}: median {large[part]['median_ms']:.1f} ms, p99 {large[part]['p99_ms']:.1f} ms")
    if args.output:
        Path(args.output).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
