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


def test_a_classifier_over_singular_vectors(small, frame, demo):
    recipe = "tfidf(min_df=2) | lsi(20) | svm(calibrate=0)"
    there = TextClassifier(recipe=recipe, idCol="id", fitting="distributed").fit(frame(2)).toLocal()
    here = TextClassifier(recipe=recipe, idCol="id").fit(frame(2)).toLocal()
    truth = np.array(demo[3])
    right = [(model.predict(list(demo[2])) == truth).mean() for model in (there, here)]
    assert abs(right[0] - right[1]) < 0.02


@pytest.mark.parametrize(
    ("recipe", "reason"),
    [
        ("scdv | svm", "word vectors are learnt by small steps"),
        ("tfidf | knn", "every training document is part of the model; end the recipe with svm or logistic"),
        ("binary | ig(100) | sprinkle(20) | svm", "`ig` cannot be fitted"),
        ("tfidf | svm(multiclass=crammer_singer)", "document by document; use multiclass=one_vs_rest"),
        ("tfidf | svm(c=auto)", "give a value of c"),
        ("(tfidf + counts) | svm", "side by side"),
    ],
)
def test_what_does_not_come_apart_into_sums_is_refused_with_reason_and_alternative(frame, recipe, reason):
    with pytest.raises(ValueError, match=reason):
        TextClassifier(recipe=recipe, fitting="distributed").fit(frame(1))
