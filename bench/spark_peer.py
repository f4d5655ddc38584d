"""Corpuscle on Spark beside Spark ML in one run: fit and score of the same documents on the same executors.

    SPARK_LOCAL_IP=127.0.0.1 python bench/spark_peer.py --documents 1000000 --json out.json

Documents are short messages of 20 classes made of Zipf-distributed words, some of them a class's own; the same for the same number.
Spark ML is Tokenizer + CountVectorizer + IDF + LinearSVC one-vs-rest. Shows seconds, rows per second, accuracy on documents held out,
bytes that came back to the driver, and the most memory that the executors' processes had at once.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time

CLASSES = 20
WORDS = 50_000


def make(batches):
    """Documents of the numbers in `id`."""
    import numpy as np
    import pyarrow as pa

    ranks = np.arange(1, WORDS + 1)
    steps = np.cumsum(1 / ranks)
    steps /= steps[-1]
    names = np.array([f"w{number:x}" for number in range(WORDS)], dtype=object)
    for batch in batches:
        ids = np.asarray(batch.column(0))
        texts, labels = [], []
        for number in ids.tolist():
            draw = np.random.default_rng([7, number])
            label = int(draw.integers(CLASSES))
            words = np.searchsorted(steps, draw.random(int(draw.integers(6, 19))))
            own = draw.random(len(words)) < 0.12
            # A class's own words are those of some rank whose number leaves the class's remainder.
            words = np.where(own, 200 + (words % 400) // CLASSES * CLASSES + label, words)
            texts.append(" ".join(names[words]))
            labels.append(float(label))
        yield pa.RecordBatch.from_arrays([pa.array(ids), pa.array(texts), pa.array(labels)], names=["id", "text", "label"])


class Memory(threading.Thread):
    """The most resident memory of this process's descendants, by what they are."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.over = {}, False

    def run(self):
        while not self.over:
            sums = {}
            parents = {}
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open(f"/proc/{name}/stat") as stat:
                        parents[int(name)] = int(stat.read().rsplit(")", 1)[1].split()[1])
                except OSError:
                    continue
            for process in parents:
                above, steps = process, 0
                while above in parents and above != os.getpid() and steps < 50:
                    above, steps = parents[above], steps + 1
                if above != os.getpid() or process == above:
                    continue
                try:
                    with open(f"/proc/{process}/cmdline") as line, open(f"/proc/{process}/statm") as statm:
                        command, pages = line.read(), int(statm.read().split()[1])
                except OSError:
                    continue
                kind = "executor java" if "CoarseGrainedExecutorBackend" in command else "driver java" if "java" in command.split("\0")[0] else "workers"
                sums.setdefault(kind, []).append(pages * os.sysconf("SC_PAGE_SIZE"))
            for kind, sizes in sums.items():
                self.most[kind] = max(self.most.get(kind, 0), max(sizes))
            time.sleep(0.2)


def timed(work):
    memory = Memory()
    memory.start()
    started = time.perf_counter()
    result = work()
    seconds = time.perf_counter() - started
    memory.over = True
    memory.join()
    return result, seconds, {kind: round(size / 2**20) for kind, size in memory.most.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    parser.add_argument("--systems", default="corpuscle,distributed,spark-ml")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master(arguments.master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.maxResultSize", "2g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    folder = tempfile.mkdtemp()
    held = max(2_000, arguments.documents // 10)
    numbers = spark.range(0, arguments.documents + held, 1, 8)
    numbers.mapInArrow(make, "id long, text string, label double").write.parquet(f"{folder}/documents")
    documents = spark.read.parquet(f"{folder}/documents")
    train, test = documents.where(f"id < {arguments.documents}"), documents.where(f"id >= {arguments.documents}")
    results = []
    for system in arguments.systems.split(","):
        estimator = ours(system) if system != "spark-ml" else theirs()
        model, fit_seconds, fit_memory = timed(lambda: estimator.fit(train))
        right = model.transform(test).where("prediction = label").count()
        # The answers are asked for and thrown away: nothing is written that one of the two would have to write as well.
        _, seconds, memory = timed(lambda: model.transform(train).select("prediction").write.format("noop").mode("overwrite").save())
        results.append(
            {
                "system": system,
                "documents": arguments.documents,
                "fit_seconds": round(fit_seconds, 2),
                "score_rows_per_second": round(arguments.documents / seconds),
                "accuracy": round(right / held, 4),
                "fit_mb": fit_memory,
                "score_mb": memory,
            }
        )
        print(json.dumps(results[-1]), flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)
    spark.stop()


def ours(system):
    from corpuscle.spark import TextClassifier

    fitting = "distributed" if system == "distributed" else "driver"
    return TextClassifier(recipe="tfidf | svm(calibrate=0)", idCol="id", probabilityCol="", fitting=fitting)


def theirs():
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LinearSVC, OneVsRest
    from pyspark.ml.feature import IDF, CountVectorizer, Tokenizer

    stages = [
        Tokenizer(inputCol="text", outputCol="words"),
        CountVectorizer(inputCol="words", outputCol="counts"),
        IDF(inputCol="counts", outputCol="features"),
        OneVsRest(classifier=LinearSVC(maxIter=20, regParam=1e-5), labelCol="label", featuresCol="features"),
    ]
    return Pipeline(stages=stages)


if __name__ == "__main__":
    main()
