"""Functions that experiment: rows, frames, pictures; the shape of fastText's call; MLflow."""

import numpy as np
import pytest

import corpuscle
from corpuscle import TextClassifier


def whole(result):
    assert len(result) == len(result.to_pandas()) == len(result.to_polars()) == len(result.rows) > 0
    svg = result.plot()._repr_svg_()
    assert svg.lstrip().startswith("<svg") or svg.lstrip().startswith("<?xml")
    assert "<table>" in result._repr_html_() and result.title in repr(result)


def test_compare(demo, tmp_path):
    texts, labels, *_ = demo
    found = corpuscle.compare(texts, labels, ["tfidf-svm", "counts | logistic"], folds=3)
    whole(found)
    best = max(found.rows, key=lambda row: row["accuracy"])
    assert best["recipe"] == found.best and best["p"] is None
    again = corpuscle.compare(texts, labels, ["tfidf-svm", "counts | logistic"], folds=3, n_jobs=1)
    assert [row["accuracy"] for row in again.rows] == [row["accuracy"] for row in found.rows]
    found.plot().save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").stat().st_size > 500
    with pytest.raises(ValueError, match="did you mean"):
        corpuscle.compare(texts, labels, ["tfidf | smv"])


def test_label_curve_tune_recommend(demo):
    texts, labels, new, truth = demo
    curve = corpuscle.label_curve(texts, labels, ["tfidf-svm"], [20, 100, None], test=(new, truth), draws=2)
    whole(curve)
    assert [row["labels"] for row in curve.rows] == [20, 100, len(texts)]
    assert curve.rows[0]["accuracy"] < curve.rows[-1]["accuracy"]
    tuned = corpuscle.tune(texts, labels, "tfidf(ngrams={1|2}) | svm(c=0.1..10 log)", trials=4, folds=2)
    whole(tuned)
    assert TextClassifier(tuned.recipe).fit(texts, labels).score(new, truth) > 0.6
    with pytest.raises(ValueError, match="how long"):
        corpuscle.tune(texts, labels, "tfidf | svm(c=0.1..10)")
    advised = corpuscle.recommend(texts, labels, budget=2)
    whole(advised)
    assert advised.recipe in {row["recipe"] for row in advised.rows}


def test_out_of_fold_probabilities(demo):
    texts, labels, *_ = demo
    probabilities, classes = corpuscle.cross_val_proba(texts, labels, folds=3)
    assert (classes[probabilities.argmax(axis=1)] == np.asarray(labels)).mean() > 0.6


def test_the_shape_of_fasttext(demo, tmp_path):
    texts, labels, new, truth = demo

    def write(name, texts, labels):
        lines = [f"__label__{label} {' '.join(text.split())}\n" for text, label in zip(texts, labels, strict=True)]
        (tmp_path / name).write_text("".join(lines), encoding="utf-8")
        return str(tmp_path / name)

    model = corpuscle.train_supervised(write("train.txt", texts, labels), wordNgrams=2, seed=1, thread=2)
    assert sorted(model.labels) == sorted({f"__label__{label}" for label in labels})
    n, precision, recall = model.test(write("test.txt", new, truth))
    assert n == len(new) and precision == recall > 0.7
    found, shares = model.predict(new[0], k=2)
    assert len(found) == len(shares) == 2 and shares[0] >= shares[1]
    assert len(model.predict(new[:3])[0]) == 3
    model.save_model(tmp_path / "x.model")
    assert TextClassifier.load(tmp_path / "x.model").recipe_ == "tfidf(sublinear=true, ngrams=2) | svm"
    with pytest.raises(TypeError, match="lr"):
        corpuscle.train_supervised(str(tmp_path / "train.txt"), lr=0.1)


def test_mlflow(demo, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    import corpuscle.mlflow

    texts, labels, new, _ = demo
    model = TextClassifier("tfidf-svm").fit(texts, labels)
    corpuscle.mlflow.save_model(model, tmp_path / "saved")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert loaded.predict(new).tolist() == model.predict(new).tolist()
    assert corpuscle.mlflow.load_model(tmp_path / "saved").predict(new).tolist() == model.predict(new).tolist()


def test_the_flavour_without_mlflow(demo, tmp_path):
    from corpuscle.mlflow import FILE, _load_pyfunc

    texts, labels, new, _ = demo
    model = TextClassifier("tfidf-svm").fit(texts, labels)
    model.save(tmp_path / FILE)
    assert _load_pyfunc(tmp_path).predict(new).tolist() == model.predict(new).tolist()


def test_word_vectors(demo):
    import pickle

    texts, _, new, _ = demo
    make = corpuscle.WordVectors(dim=12, min_count=2, epochs=2)
    model = make.fit(texts)
    assert model.vectors_.shape == (len(model.words_), 12) and model["password"].shape == (12,)
    near = model.most_similar("password", 5)
    assert len(near) == 5 and near == sorted(near, key=lambda pair: -pair[1]) and near[0][0] != "password"
    assert model.transform(new).shape == (len(new), 12)
    copied = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copied.transform(new), model.transform(new)) and copied.get_params() == model.get_params()
    with pytest.raises(KeyError):
        model["zzyzx"]
