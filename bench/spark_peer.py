"""Corpuscle on Spark beside Spark ML in one run: fit and score of the same documents on the same executors.

    SPARK_LOCAL_IP=127.0.0.1 python bench/spark_peer.py --documents 1000000 --json out.json

Documents are short messages made of Zipf-distributed words, some of them a class's own; the same for the same number. Spark ML is
Tokenizer + CountVectorizer + IDF + LinearSVC one-vs-rest. Shows seconds, rows per second, accuracy on documents held out, bytes that
went through shuffles and that came back to the driver (from Spark's event log), passes of a distributed fit, and the most memory that
one of the executors' processes had. `--recipe` fits another recipe than `tfidf | svm(calibrate=0)`.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import threading
import time

WORDS = 50_000


def make(batches, classes):
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
            label = int(draw.integers(classes))
            words = np.searchsorted(steps, draw.random(int(draw.integers(6, 19))))
            own = draw.random(len(words)) < 0.12
            # A class's own words are those of some rank whose number leaves the class's remainder.
            words = np.where(own, 200 + (words % 400) // classes * classes + label, words)
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
    """The result, seconds, most memory by kind of process, and when it began and ended."""
    memory = Memory()
    memory.start()
    started = time.time()
    result = work()
    ended = time.time()
    memory.over = True
    memory.join()
    return result, ended - started, {kind: round(size / 2**20) for kind, size in memory.most.items()}, (started, ended)


def moved(folder, spans):
    """Bytes written to shuffles and sent to the driver by the tasks that ended in each span, from the event log."""
    found = [{"shuffle_bytes": 0, "returned_bytes": 0} for _ in spans]
    for root, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(root, name), encoding="utf-8") as lines:
                for line in lines:
                    if '"SparkListenerTaskEnd"' not in line:
                        continue
                    task = json.loads(line)
                    at, metrics = task["Task Info"]["Finish Time"] / 1000, task.get("Task Metrics") or {}
                    for span, sums in zip(spans, found, strict=True):
                        if span[0] <= at <= span[1]:
                            sums["shuffle_bytes"] += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
                            sums["returned_bytes"] += metrics.get("Result Size", 0)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--master", default="local-cluster[2,1,2048]")
    parser.add_argument("--systems", default="corpuscle,distributed,spark-ml")
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--recipe", default="tfidf | svm(calibrate=0)")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    log = tempfile.mkdtemp()
    spark = (
        SparkSession.builder.master(arguments.master)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "3g")
        .config("spark.driver.maxResultSize", "2g")
        .config("spark.sql.shuffle.partitions", "8")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", f"file://{log}")
        .getOrCreate()
    )
    folder = tempfile.mkdtemp()
    held = max(2_000, arguments.documents // 10)
    numbers = spark.range(0, arguments.documents + held, 1, 8)
    numbers.mapInArrow(lambda batches: make(batches, arguments.classes), "id long, text string, label double").write.parquet(f"{folder}/documents")
    documents = spark.read.parquet(f"{folder}/documents")
    train, test = documents.where(f"id < {arguments.documents}"), documents.where(f"id >= {arguments.documents}")
    results, spans = [], []
    for system in arguments.systems.split(","):
        took = {}
        estimator = ours(system, arguments.recipe, took) if system != "spark-ml" else theirs()
        model, fit_seconds, fit_memory, fit_span = timed(lambda: estimator.fit(train))
        right = model.transform(test).where("prediction = label").count()
        # The answers are asked for and thrown away: nothing is written that one of the two would have to write as well.
        _, seconds, memory, _ = timed(lambda: model.transform(train).select("prediction").write.format("noop").mode("overwrite").save())
        spans.append(fit_span)
        results.append(
            {
                "system": system,
                "documents": arguments.documents,
                "classes": arguments.classes,
                "fit_seconds": round(fit_seconds, 2),
                "score_rows_per_second": round(arguments.documents / seconds),
                "accuracy": round(right / held, 4),
                "fit_mb": fit_memory,
                "score_mb": memory,
                **took,
            }
        )
        print(json.dumps(results[-1]), flush=True)
    spark.stop()
    for result, bytes_of in zip(results, moved(log, spans), strict=True):
        result |= bytes_of
        print(json.dumps({"system": result["system"], **bytes_of}), flush=True)
    shutil.rmtree(folder)
    shutil.rmtree(log)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as out:
            json.dump(results, out, indent=1)


def ours(system, recipe, took):
    """The estimator; what a distributed fit took is put into `took`."""
    from corpuscle.spark import TextClassifier, _distributed

    fit = getattr(_distributed.fit, "plain", _distributed.fit)

    def telling(*given):
        model, about = fit(*given)
        took.update(about)
        return model, about

    telling.plain = fit
    _distributed.fit = telling
    fitting = "distributed" if system == "distributed" else "driver"
    return TextClassifier(recipe=recipe, idCol="id", probabilityCol="", fitting=fitting)


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
