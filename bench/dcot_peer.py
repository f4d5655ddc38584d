"""Times one dCoT layer in numpy and scipy beside Corpuscle's, on the same matrix, in one run.

Called by bench/run. The data are Reuters-21578 as JSON Lines (.gz) with the fields text, labels and split; taken are the
training documents with exactly one topic that also occurs among such test documents (6532 documents, 52 topics). The
peer is the Woodbury form in 32-bit floats: one Cholesky factorisation by LAPACK, sparse products by scipy.
"""
import argparse, gzip, json, os, subprocess, tempfile, time

import numpy as np
import scipy
import scipy.linalg
import scipy.sparse


def one_layer(x, prototypes, noise, ridge=1e-5):
    keep = 1 - noise
    mean = np.asarray(x.mean(0)).ravel().astype(np.float32)
    squares = np.asarray(x.multiply(x).sum(0)).ravel()
    inverse = (1 / (squares + ridge * squares.mean())).astype(np.float32)
    scaled = x.multiply(inverse[None, :]).tocsr()
    gram = (scaled @ x.T).toarray()
    near = scaled @ mean
    gram -= near[:, None]
    gram -= near[None, :]
    gram += float((mean * mean * inverse).sum())
    gram *= keep / noise
    gram[np.diag_indices_from(gram)] += 1
    target = x[:, prototypes].toarray()
    centre = target.mean(0)
    target -= centre
    factor = scipy.linalg.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)
    solution = scipy.linalg.cho_solve(factor, target, check_finite=False)
    weights = (scaled.T @ solution - np.outer(inverse * mean, solution.sum(0))) / noise
    bias = centre - keep * (mean @ weights)
    z = np.tanh(x @ weights + bias)
    z -= z.mean(0)
    length = np.sqrt(2 * x.multiply(x).sum() / x.shape[0])
    return z * (length / np.linalg.norm(z, axis=1, keepdims=True))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", required=True, help="the dcot program")
    parser.add_argument("--noise", type=float, default=0.97)
    parser.add_argument("--prototypes", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=2, help="runs of each; the fastest counts")
    args = parser.parse_args()

    rows = [json.loads(line) for line in gzip.open(args.data, "rt", encoding="utf-8")]
    rows = [row for row in rows if len(row["labels"]) == 1]
    tested = {row["labels"][0] for row in rows if row["split"] == "test"}
    train = [row["text"] for row in rows if row["split"] == "train" and row["labels"][0] in tested]
    with tempfile.TemporaryDirectory() as folder:
        texts = os.path.join(folder, "texts.jsonl")
        with open(texts, "w", encoding="utf-8") as out:
            out.writelines(json.dumps({"text": text}) + "\n" for text in train)
        call = [args.ours, "--data", texts, "--out", folder, "--noise", str(args.noise)]
        call += ["--prototypes", str(args.prototypes), "--repeat", str(args.repeat)]
        ours = json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)
        n, d, _ = ours["shape"]
        read = lambda name, kind: np.fromfile(os.path.join(folder, name), dtype=kind)
        x = (read("values.f32", "<f4"), read("indices.u32", "<u4").astype(np.int32), read("indptr.u64", "<u8").astype(np.int64))
        x = scipy.sparse.csr_matrix(x, shape=(n, d))
        found = read("z.f32", "<f4").reshape(n, -1)
    documents = np.bincount(x.indices, minlength=d)
    prototypes = np.sort(np.argsort(-documents, kind="stable")[: args.prototypes])
    theirs = float("inf")
    for _ in range(args.repeat):
        started = time.perf_counter()
        z = one_layer(x, prototypes, args.noise)
        theirs = min(theirs, time.perf_counter() - started)
    print(f"dcot on {n} × {d}, {args.prototypes} prototypes, noise {args.noise}; numpy {np.__version__}, scipy {scipy.__version__}")
    print(f"  largest difference of any output: {np.abs(z - found).max():.1e} (outputs up to {np.abs(z).max():.2f})")
    print(f"  one layer, numpy Woodbury   {theirs:8.2f} s")
    for name, what in [("one_layer", "one layer, Corpuscle"), ("one_layer_woodbury", "  by Woodbury"),
                       ("one_layer_gradients", "  by gradients"), ("five_layers", "five layers, Corpuscle")]:
        result = ours[name]
        print(f"  {what:27} {result['seconds']:8.2f} s   {theirs / result['seconds']:5.1f} ×   {result['solver']}")
    print(f"  peak memory, Corpuscle      {ours['peak_memory'] / 1e6:8.0f} MB")


if __name__ == "__main__":
    main()
