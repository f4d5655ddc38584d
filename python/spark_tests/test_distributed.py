"""Fits whose documents stay on executors, beside fits on the driver."""

import json
import os
import tempfile

import numpy as np
import pytest

import corpuscle
from corpuscle.spark import TextClassifier, TextVectorizer


@pytest.fixture(scope="module")
def small(monkeypatch_module):
    from corpuscle.spark import _distributed

    monkeypatch_module.setattr(_distributed, "BLOCK", 64)


@pytest.fixture(scope="module")
def monkeypatch_module():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def scores(model, texts):
    return model.toLocal().decision_function(list(texts))


def arrays(model):
    """The arrays of a model's file by the ends of their names."""
    data = model.modelBytes
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    kinds = {"F32": np.float32, "F64": np.float64}
    found = {}
    for name, entry in header.items():
        if entry.get("dtype") in kinds:
            start, end = entry["data_offsets"]
            array = np.frombuffer(data[8 + length + start : 8 + length + end], dtype=kinds[entry["dtype"]])
            found[name.rsplit("/", 1)[-1].rsplit(".", 1)[-1]] = array.reshape(entry["shape"]).astype(np.float64)
    return found


def objective(model, rows, price):
    """The squared hinge's objective of one problem per class."""
    known = [(text, label) for _, text, label in rows if label is not None]
    found = arrays(model)
    x = corpuscle.TextVectorizer.load(_saved(model)).transform([text for text, _ in known]).astype(np.float64)
    margins = x @ found["weights"] + found["bias"]
    signs = np.where(np.array([label for _, label in known])[:, None] == np.array(model.classes)[None, :], 1.0, -1.0)
    short = np.maximum(0, 1 - signs * margins)
    return 0.5 * ((found["weights"] ** 2).sum() + (found["bias"] ** 2).sum()) + price * (short**2).sum()


def _saved(model):
    path = os.path.join(tempfile.mkdtemp(), "m.model")
    model.saveFile(path)
    return path


def test_a_support_vector_machine_of_sums_answers_as_that_of_the_driver(small, frame, rows, demo):
    recipe = "words(stem=english) | tfidf(min_df=2) | svm(calibrate=0, tolerance=0.0001)"
    there = TextClassifier(recipe=recipe, idCol="id", fitting="distributed").fit(frame(3))
    here = TextClassifier(recipe=recipe, idCol="id").fit(frame(3))
    assert there.classes == here.classes and there.fittedRecipe == here.fittedRecipe
    assert np.abs(scores(there, demo[2]) - scores(here, demo[2])).max() < 0.05
    same = there.toLocal().predict(list(demo[2])) == here.toLocal().predict(list(demo[2]))
    assert same.mean() > 0.99
    ratio = objective(there, rows, 1.0) / objective(here, rows, 1.0)
    assert abs(ratio - 1) < 1e-3


def test_partitions_do_not_change_a_bit(small, frame):
    recipe = "tfidf(min_df=2) | svm(calibrate=0)"
    found = {
        TextClassifier(recipe=recipe, idCol="id", fitting="distributed").fit(frame(partitions, seed)).modelBytes
        for partitions, seed in [(1, 1), (5, 2)]
    }
    assert len(found) == 1


def test_logistic_regression_of_sums(small, frame, demo):
    recipe = "tfidf(min_df=2) | logistic(calibrate=0, tolerance=0.0001)"
    there = TextClassifier(recipe=recipe, idCol="id", fitting="distributed").fit(frame(2))
    here = TextClassifier(recipe=recipe, idCol="id").fit(frame(2))
    assert np.abs(scores(there, demo[2]) - scores(here, demo[2])).max() < 0.05


def test_singular_vectors_of_sums(small, frame):
    recipe = "tfidf(min_df=2) | lsi(10, iterations=30)"
    there, here = (
        arrays(TextVectorizer(recipe=recipe, idCol="id", fitting=fitting).fit(frame(2))) for fitting in ("distributed", "driver")
    )
    assert np.abs(there["singular_values"] / here["singular_values"] - 1).max() < 1e-4
    assert np.abs(there["explained"] - here["explained"]).max() < 1e-4
    cosines = np.linalg.svd(np.linalg.qr(there["vectors"])[0].T @ np.linalg.qr(here["vectors"])[0])[1]
    assert np.sqrt(max(0.0, 1 - cosines.min() ** 2)) < 1e-3


def angle(a, b):
    """The sine of the largest angle between the spans of columns."""
    cosines = np.linalg.svd(np.linalg.qr(a)[0].T @ np.linalg.qr(b)[0])[1]
    return np.sqrt(max(0.0, 1 - cosines.min() ** 2))


def vectors(model, texts):
    """The rows of a representation, dense."""
    found = corpuscle.TextVectorizer.load(_saved(model)).transform(list(texts))
    return found.toarray() if hasattr(found, "toarray") else found


def both(frame, recipe, **more):
    """The same representation fitted on executors and on the driver."""
    return [
        TextVectorizer(recipe=recipe, idCol="id", labelCol="label", fitting=fitting, **more).fit(frame(3))
        for fitting in ("distributed", "driver")
    ]


def test_terms_are_chosen_by_the_same_gains_to_the_bit(small, frame):
    there, here = both(frame, "binary | ig(200)")
    assert there.vocabulary == here.vocabulary
    assert np.array_equal(arrays(there)["gains"], arrays(here)["gains"])


def test_directions_of_variability_of_sums(small, frame):
    there, here = map(arrays, both(frame, "tfidf(min_df=2) | varnorm(10, iterations=40)"))
    assert np.abs(there["eigenvalues"] / here["eigenvalues"] - 1).max() < 1e-4
    assert angle(there["vectors"], here["vectors"]) < 1e-3


@pytest.mark.parametrize("before", ["", "varnorm(5, iterations=40) | ", "lsi(30, iterations=40) | "])
def test_discriminant_directions_of_sums(small, frame, demo, before):
    there, here = both(frame, f"tfidf(min_df=2) | {before}discriminant(shrinkage=0.3)")
    assert np.abs(arrays(there)["ratios"] / arrays(here)["ratios"] - 1).max() < 1e-3
    # Signs, and how directions of equal worth are turned, are left open: inner products are not.
    a, b = vectors(there, demo[2]), vectors(here, demo[2])
    assert np.abs(a @ a.T - b @ b.T).max() < 2e-3 * np.abs(b @ b.T).max()


@pytest.mark.parametrize("noise", [0.5, 0.97])
def test_layers_written_out_are_those_of_the_driver(small, frame, demo, noise):
    there, here = both(frame, f"tfidf(min_df=2) | dcot(prototypes=60, noise={noise}, layers=2, rank=full)", precision="full")
    a, b = vectors(there, demo[2]), vectors(here, demo[2])
    assert a.shape == b.shape and np.abs(a - b).max() < 1e-3 * np.abs(b).max()


def test_layers_in_few_directions_are_those_of_the_driver(small, frame, demo):
    there, here = both(frame, "tfidf(min_df=2) | dcot(prototypes=150, noise=0.9, layers=2, rank=10)")
    a, b = vectors(there, demo[2]), vectors(here, demo[2])
    # Directions are kept in few bits and have no sign.
    assert a.shape == b.shape and np.abs(a @ a.T - b @ b.T).max() < 0.02 * np.abs(b @ b.T).max()


def test_wide_layers_are_found_without_being_written_out(small, frame, demo):
    from corpuscle.spark import _dcot

    found = []
    with pytest.MonkeyPatch.context() as patch:
        compact = _dcot._compact
        patch.setattr(_dcot, "_compact", lambda *arguments: found.append(1) or compact(*arguments))
        recipe = "tfidf(min_df=2) | dcot(prototypes=500, layers=1, rank=20) | svm(calibrate=0)"
        there, here = (TextClassifier(recipe=recipe, idCol="id", fitting=way).fit(frame(2)).toLocal() for way in ("distributed", "driver"))
    assert found
    truth = np.array(demo[3])
    right = [(model.predict(list(demo[2])) == truth).mean() for model in (there, here)]
    assert abs(right[0] - right[1]) < 0.02


@pytest.mark.parametrize("before", ["lsi(20)", "varnorm(8)", "ig(400)", "normalize", "ig(800) | dcot(prototypes=100, rank=10)"])
def test_a_classifier_over_projections(small, frame, demo, before):
    recipe = f"tfidf(min_df=2) | {before} | svm(calibrate=0)"
    there = TextClassifier(recipe=recipe, idCol="id", fitting="distributed").fit(frame(2)).toLocal()
    here = TextClassifier(recipe=recipe, idCol="id").fit(frame(2)).toLocal()
    truth = np.array(demo[3])
    right = [(model.predict(list(demo[2])) == truth).mean() for model in (there, here)]
    assert abs(right[0] - right[1]) < 0.02
    if "dcot" not in before:
        assert np.abs(there.decision_function(list(demo[2])) - here.decision_function(list(demo[2]))).max() < 0.05


def test_sums_added_up_in_groups_are_the_same_bits(small, frame):
    from corpuscle.spark import _distributed

    recipe = "tfidf(min_df=2) | varnorm(5) | svm(calibrate=0)"
    estimator = TextClassifier(recipe=recipe, idCol="id", fitting="distributed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_distributed, "FAN", 1)
        grouped = estimator.fit(frame(4)).modelBytes
    assert grouped == estimator.fit(frame(2)).modelBytes


def test_skewed_and_empty_partitions_and_a_corrupt_row_change_nothing(small, spark, frame):
    from pyspark.sql import functions as F

    recipe = "tfidf(min_df=2) | svm(calibrate=0)"
    estimator = TextClassifier(recipe=recipe, idCol="id", fitting="distributed", handleInvalid="keep")
    skewed = frame(1).repartition(6, F.when(F.col("id") < 10, F.col("id") % 2).otherwise(7))
    corrupt = spark.sql("select 100000L as id, cast(X'FFFE61' as string) as text, cast(null as string) as label")
    expected = estimator.fit(frame(2)).modelBytes
    assert estimator.fit(skewed.union(corrupt)).modelBytes == expected
    with pytest.raises(Exception, match="not UTF-8"):
        estimator.copy().setHandleInvalid("error").fit(frame(1).union(corrupt))


def test_an_executor_killed_among_the_sums_changes_nothing(small, frame, tmp_path):
    from corpuscle.spark import _distributed
    from test_classifier import kill_once

    flag = str(tmp_path / "killed")
    recipe = "tfidf(min_df=2) | lsi(5) | svm(calibrate=0)"
    estimator = TextClassifier(recipe=recipe, idCol="id", fitting="distributed")
    expected = estimator.fit(frame(2)).modelBytes

    class Killing(_distributed.Documents):
        """Documents that end an executor in the middle of a sum, once; its blocks are made anew elsewhere."""

        def ask(self, *arguments, **payload):
            self.frame = self.frame.mapInArrow(kill_once(flag, 0), self.frame.schema)
            return super().ask(*arguments, **payload)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_distributed, "Documents", Killing)
        assert estimator.fit(frame(2)).modelBytes == expected
    assert os.path.exists(flag)


def test_the_command_reads_a_model_of_sums(small, frame, demo, tmp_path):
    from corpuscle import _native

    recipe = "tfidf(min_df=2) | varnorm(5) | discriminant(shrinkage=1) | logistic(calibrate=0)"
    model = TextClassifier(recipe=recipe, idCol="id", fitting="distributed").fit(frame(2))
    path = _saved(model)
    data, out = tmp_path / "new.jsonl", tmp_path / "out.jsonl"
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in demo[2]), encoding="utf-8")
    assert _native.command(["corpuscle", "predict", path, str(data), "-o", str(out), "--quiet"]) == 0
    assert len(out.read_text(encoding="utf-8").splitlines()) == len(demo[2])
    assert (model.toLocal().predict(list(demo[2])) == np.array(demo[3])).mean() > 0.6


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("scdv | svm", "word vectors are learnt by small steps"),
        ("tfidf | knn", "every training document is part of the model; end the recipe with svm or logistic"),
        ("binary | ig(100) | sprinkle(20) | svm", "`sprinkle` cannot be fitted .* held-out folds; use lsi"),
        ("tfidf | discriminant | svm", r"shrinkage=auto.* needs folds; give a value"),
        ("tfidf | dcot(noise=auto) | svm", r"noise=auto.* needs folds; give a value"),
        ("tfidf | svm(multiclass=crammer_singer)", "document by document; use multiclass=one_vs_rest"),
        ("tfidf | svm(c=auto)", "give a value of c"),
        ("(tfidf + counts) | svm", "side by side"),
    ],
)
def test_what_does_not_come_apart_into_sums_is_refused_with_reason_and_alternative(frame, recipe, reason):
    with pytest.raises(ValueError, match=reason):
        TextClassifier(recipe=recipe, fitting="distributed").fit(frame(1))
