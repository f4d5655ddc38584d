"""Writes the seeds that are not text: Parquet, workbooks, compressed documents, models, word vectors.

    python3 -m venv venv && venv/bin/pip install pyarrow openpyxl
    venv/bin/python fuzz/make_seeds.py target/release/corpuscle

Seeds that are text were written by hand. The first byte of a seed of documents says how they are read (see `documents` in `targets.rs`). Written once:
other versions of these packages write other bytes, which are as good.
"""

import gzip
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import openpyxl
import pyarrow
import pyarrow.parquet

SEEDS = pathlib.Path(__file__).parent / "seeds"
ROWS = [
    {"id": "1", "text": "my invoice is wrong", "label": "billing", "labels": ["a", "b"], "weight": 1.5},
    {"id": "2", "text": "cannot log in, password \u00e9\u6771\u4eac", "label": "login", "labels": [], "weight": 0.0},
    {"id": "3", "text": "", "label": None, "labels": None, "weight": None},
]
RECIPES = {
    "bayes": "counts | bayes",
    "chars": "chars(min=2, max=3) | tfidf(max_features=40) | logistic",
    "discriminant": "tfidf | lsi(3) | discriminant | knn(k=2)",
    "dirichlet": "dirichlet(topics=2, sweeps=5) | svm",
    "marks": "words(position=true, negate=2, stem=porter) | tfidf(ngrams=2, skip=1, max_features=60) | svm(self_training=true)",
    "paragraph": "paragraph(dim=4, epochs=2, min_count=1) | svm",
    "pmi": "tfidf(max_features=30) | pmi(window=5, min_count=2) | svm",
    "slsi": "tfidf | slsi(2) | svm",
    "twe": "twe(dim=4, topics=2, sweeps=5, epochs=2, min_count=1) | svm",
    "vote": "vote(tfidf | svm; counts | bayes)",
}


def write(target, name, data):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def parquet(**settings):
    table = pyarrow.Table.from_pylist(ROWS)
    out = io.BytesIO()
    pyarrow.parquet.write_table(table, out, **settings)
    return out.getvalue()


def workbook():
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["id", "text", "label", "weight"])
    for row in ROWS:
        sheet.append([row["id"], row["text"], row["label"], row["weight"]])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def main():
    command = sys.argv[1]
    for name, settings in {
        "plain": {"compression": "none", "use_dictionary": False},
        "snappy": {"compression": "snappy"},
        "zstd": {"compression": "zstd", "data_page_version": "2.0"},
        "gzip": {"compression": "gzip", "row_group_size": 1},
    }.items():
        write("parquet", name, b"\x00" + parquet(**settings))
    write("parquet", "kept", b"\x06" + parquet(compression="lz4"))
    write("excel", "plain", b"\x00" + workbook())
    lines = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
    write("compressed", "gzip", b"\x01" + gzip.compress(lines, mtime=0))
    write("compressed", "members", b"\x04" + 2 * gzip.compress(lines, mtime=0))
    packed = subprocess.run(["zstd", "-c"], input=lines, capture_output=True, check=True).stdout
    write("compressed", "zstd", b"\x00" + packed)
    with tempfile.TemporaryDirectory() as folder:
        data, model = pathlib.Path(folder) / "a.jsonl", pathlib.Path(folder) / "a.model"
        texts = ["invoice wrong charge", "refund my invoice now", "log in password lost", "password not right", "charge refund", "cannot log in"]
        rows = [{"text": text, "label": "billing" if n in (0, 1, 4) else "login"} for n, text in enumerate(texts)]
        data.write_text("".join(json.dumps(row) + "\n" for row in 3 * rows))
        for name, recipe in RECIPES.items():
            subprocess.run([command, "train", str(data), "--recipe", recipe, "-o", str(model), "-q"], check=True, capture_output=True)
            write("model", name, model.read_bytes())
        for name, recipe in {"svm": "tfidf | svm", "knn": "counts | knn(k=3)"}.items():
            subprocess.run([command, "train", str(data), "--recipe", recipe, "--updatable", "-o", str(model), "-q"], check=True, capture_output=True)
            write("update", name, model.read_bytes())
    write("vectors", "binary", b"2 3\nword " + struct.pack("<3f", 1, 2, 3) + b"\nother " + struct.pack("<3f", -1, 0.5, 1e-9) + b"\n")
    write("index", "byte", bytes([2, 0, 10, 0, 3, 5]))
    write("index", "cut", bytes([1, 1, 20, 0]))


if __name__ == "__main__":
    main()
