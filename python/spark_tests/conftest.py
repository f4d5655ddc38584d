"""A cluster for the tests: two executors in processes of their own, by DataFrames or, with CORPUSCLE_SPARK=connect, over Connect."""

import json
import os
import random
import sys

import pytest

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)

CONNECT = os.environ.get("CORPUSCLE_SPARK") == "connect"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "40",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.task.maxFailures": "4",
    "spark.log.level": "ERROR",
}


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if CONNECT:
        builder = builder.remote("local-cluster[2,1,1024]")
    else:
        builder = builder.master("local-cluster[2,1,1024]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def demo():
    import corpuscle

    return corpuscle.load_demo()


@pytest.fixture(scope="session")
def rows(demo):
    """Documents in an order of their own: id, text, label; some without a label."""
    texts, labels, _, _ = demo
    rows = [(number, text, label) for number, (text, label) in enumerate(zip(texts, labels, strict=True))]
    return [(number, text, None if number % 11 == 3 else label) for number, text, label in rows]


@pytest.fixture(scope="session")
def frame(spark, rows):
    """Makes the documents a DataFrame: shuffled, in so many partitions."""

    def make(partitions=2, seed=0, some=None):
        mixed = list(rows if some is None else some)
        random.Random(seed).shuffle(mixed)
        return spark.createDataFrame(mixed, "id long, text string, label string").repartition(partitions)

    return make


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """The bytes that ``corpuscle train`` writes for documents in the order given."""
    from corpuscle import _native

    folder = tmp_path_factory.mktemp("trained")

    def train(rows, recipe):
        data, model = folder / "data.jsonl", folder / "out.model"
        with open(data, "w", encoding="utf-8") as out:
            for row in rows:
                told = {"id": str(row[0]), "text": row[1]} | ({} if row[2] is None else {"label": row[2]})
                out.write(json.dumps(told) + "\n")
        code = _native.command(["corpuscle", "train", str(data), "--recipe", recipe, "-o", str(model), "--quiet"])
        assert code == 0
        return model.read_bytes()

    return train
