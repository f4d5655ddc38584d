"""The Python package beside scikit-learn and beside the same work in Rust, in one run.

Needs the package installed (`pip install ./python`, a release build) with scikit-learn and pyarrow beside it. The Rust time is what the
command says of its stages; the command is the package's own unless `--ours` names another.
`python bench/python_side.py --data DATA.jsonl.gz [--wheel FILE]`
"""
import argparse, gzip, json, os, pathlib, subprocess, sys, tempfile, time


def best(work, repeat):
    taken = []
    for _ in range(repeat):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return min(taken)


def in_rust(ours, rows, repeat):
    """Seconds of `read` (tokenising included) to the end of the last fit, as the command tells them."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "train.jsonl"
        file.write_text("".join(json.dumps({"text": t, "label": l}) + "\n" for t, l in rows), encoding="utf-8")
        taken = []
        for _ in range(repeat):
            call = [*ours, "train", str(file), "--recipe", "tfidf-svm", "-o", f"{folder}/x.model", "--json", "--quiet"]
            said = json.loads(subprocess.run(call, check=True, capture_output=True).stdout)
            taken.append(sum(seconds for stage, seconds in said["seconds"].items() if stage != "write"))
        return min(taken)


# The peak is set back to what is held now (Linux), or what making the column took would hide what predicting takes.
MEMORY = """
import re, time
import numpy as np, pyarrow as pa
import corpuscle
from corpuscle import TextClassifier, load_demo
from corpuscle._input import as_texts
texts, labels, *_ = load_demo()
model = TextClassifier("tfidf-svm").fit(texts, labels)
model.predict(texts)
n = 1_000_000
column = pa.array([f"{texts[i % len(texts)]} {i}" for i in range(10_000)]).take(pa.array(np.arange(n) % 10_000))
def memory(what):
    with open("/proc/self/status") as status:
        return int(re.search(what + r":\\s+(\\d+)", status.read())[1])
with open("/proc/self/clear_refs", "w") as peak:
    peak.write("5")
before = memory("VmRSS")
kept = as_texts(column)
taken = memory("VmHWM")
started = time.perf_counter()
answers = model.predict(column)
seconds = time.perf_counter() - started
after = memory("VmHWM")
print(column.nbytes / 1e6, answers.nbytes / 1e6, before / 1e3, taken / 1e3, after / 1e3, seconds)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", required=True)
    parser.add_argument("--ours", help="the program corpuscle")
    parser.add_argument("--wheel")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output")
    args = parser.parse_args()
    rows = [json.loads(line) for line in gzip.open(args.data, "rt", encoding="utf-8")]
    texts, labels = [row["text"] for row in rows], [row["label"] for row in rows]

    from sklearn.feature_extraction.text import TfidfVectorizer as Theirs
    from corpuscle import TextClassifier, TfidfVectorizer

    found = {}
    found["tfidf_sklearn"] = best(lambda: Theirs().fit_transform(texts), 2)
    found["tfidf"] = best(lambda: TfidfVectorizer().fit_transform(texts), args.repeat)
    found["tfidf_times"] = found["tfidf_sklearn"] / found["tfidf"]
    found["fit"] = best(lambda: TextClassifier("tfidf-svm").fit(texts, labels), args.repeat)
    found["fit_rust"] = in_rust([args.ours] if args.ours else [sys.executable, "-m", "corpuscle"], list(zip(texts, labels)), args.repeat)
    found["fit_ratio"] = found["fit"] / found["fit_rust"]
    model = TextClassifier("tfidf-svm").fit(texts, labels)
    short = ["my graphics card does not work with this driver"]
    model.predict(short)
    many = 2000
    found["predict_one_microseconds"] = best(lambda: [model.predict(short) for _ in range(many)], 3) / many * 1e6
    done = subprocess.run([sys.executable, "-c", MEMORY], check=True, capture_output=True, text=True).stdout.split()
    names = ["text_mb", "answers_mb", "before_mb", "texts_taken_mb", "peak_mb", "seconds"]
    for name, value in zip([f"million_{name}" for name in names], done, strict=True):
        found[name] = float(value)
    imports = "import time; s=time.perf_counter(); import corpuscle; print(time.perf_counter()-s)"
    found["import_seconds"] = min(float(subprocess.run([sys.executable, "-c", imports], capture_output=True, text=True).stdout) for _ in range(5))
    if args.wheel:
        found["wheel_mb"] = os.path.getsize(args.wheel) / 1e6
    for name, value in found.items():
        print(f"{name:26} {value:.4g}")
    if args.output:
        pathlib.Path(args.output).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
