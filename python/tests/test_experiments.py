"""Functions that experiment: rows, frames, pictures; the shape of fastText's call; MLflow."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
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


def test_out_of_fold_probabilities_of_any_labels(demo):
    texts, labels, *_ = demo
    texts, labels = texts[:150], labels[:150]
    recipe = "tfidf | logistic"
    expected, classes = corpuscle.cross_val_proba(texts, labels, recipe, folds=2)
    for given, y in [(pa.array(texts), pa.array(labels)), (pl.Series(texts), pl.Series(labels)), (pd.Series(texts), pd.Series(labels))]:
        found, same = corpuscle.cross_val_proba(given, y, recipe, folds=2)
        assert np.array_equal(found, expected) and same.tolist() == classes.tolist()
    holes = [None if row % 4 == 0 else label for row, label in enumerate(labels)]
    found, same = corpuscle.cross_val_proba(texts, holes, recipe, folds=2)
    assert same.tolist() == classes.tolist() and np.allclose(found.sum(axis=1), 1, atol=1e-5)
    numbers = [-1 if label is None else classes.tolist().index(label) for label in holes]
    found, same = corpuscle.cross_val_proba(texts, numbers, recipe, folds=2)
    assert same.tolist() == list(range(len(classes))) and np.allclose(found.sum(axis=1), 1, atol=1e-5)
    lists = [[label, "long"] if len(text) > 80 else [label] for text, label in zip(texts, labels, strict=True)]
    found, several = corpuscle.cross_val_proba(texts, lists, recipe, folds=2)
    assert "long" in several and found.shape == (len(texts), len(several))
    curve = corpuscle.label_curve(pa.array(texts), pl.Series(labels), ["tfidf-svm"], [20], test=(pd.Series(texts), labels), draws=1)
    assert len(curve) == 1


def test_topics(demo):
    texts, labels, new, _ = demo
    dates = [f"2026-{1 + row % 6:02}-01" for row in range(len(texts))]
    found = corpuscle.topics(texts, 6, labels=labels, over=dates, documents=2)
    whole(found)
    assert found.shares.shape == (len(texts), 6) and np.allclose(found.shares.sum(axis=1), 1, atol=1e-5)
    assert {row["topic"] for row in found.rows} == set(range(6)) and {row["label"] for row in found.rows} <= set(labels)
    weights = [row["weight"] for row in found.rows]
    assert weights == sorted(weights, reverse=True) and abs(sum(weights) - 1) < 1e-4
    for topic, closest in found.documents.items():
        row, share = closest[0]
        assert len(closest) == 2 and np.isclose(found.shares[row, topic], share)
    assert [group["value"] for group in found.over] == sorted(set(dates)) and len(found.labels) == len(set(labels))
    for kind in ["labels", "over"]:
        assert "<svg" in found.plot(kind)._repr_svg_()
    assert found.vectorizer.transform(new).shape == (len(new), 6)
    again = corpuscle.topics(texts, model=found.vectorizer, words=5)
    assert np.array_equal(again.shares, found.shares) and len(again.rows[0]["words"].split()) == 5
    with pytest.raises(ValueError, match="no picture"):
        again.plot("labels")
    other = corpuscle.topics(texts, recipe="tfidf | lsi(4)", stable=True)
    assert other.rows[0]["comes_back"] > 0.9
    with pytest.raises(ValueError, match="no topics"):
        corpuscle.topics(texts, recipe="tfidf")
    with pytest.raises(ValueError, match="not several"):
        corpuscle.topics(texts, 3, recipe="tfidf | lsi(4)")
    with pytest.raises(ValueError, match="values to go along"):
        corpuscle.topics(texts, 3, over=["a"])


def test_search(demo, tmp_path):
    texts, labels, *_ = demo
    found = corpuscle.search(texts, "change my password", 5, words="words(stem=english, stop=english)")
    whole(found)
    scores = [row["score"] for row in found.rows]
    assert [row["rank"] for row in found.rows] == [1, 2, 3, 4, 5] and scores == sorted(scores, reverse=True)
    assert "password" in texts[found.rows[0]["id"]].lower() and "<mark>" in found._repr_html_()
    assert found.hits[0]["text"] == texts[found.rows[0]["id"]]
    for start, end in found.hits[0]["marks"]:
        assert found.hits[0]["snippet"][start:end].strip()
    accents = corpuscle.search(["naïve café — žluťoučký kůň", "nothing"], "kůň")
    (mark,) = accents.hits[0]["marks"]
    assert accents.hits[0]["snippet"][slice(*mark)] == "kůň"
    several = corpuscle.search(pa.array(texts), ["printer", "password"], 2, ids=[f"d{row}" for row in range(len(texts))], rank="dirichlet", mu=50)
    assert [row["query"] for row in several.rows] == ["printer"] * 2 + ["password"] * 2 and several.rows[0]["id"].startswith("d")
    model = corpuscle.TextVectorizer("tfidf | lsi(20)").fit(texts)
    mixed = corpuscle.search(texts, "printer", 3, model=model, share=0.7, feedback="rm3")
    assert mixed.rows[0]["cosine"] > 0
    assert len(corpuscle.search(texts, "zzyzx")) == 0
    for how, said in [
        ({"rank": "pagerank"}, "none of"),
        ({"mu": 3}, "not for the ranking"),
        ({"b": 3}, "b = 3"),
        ({"feedback": "x"}, "none of"),
        ({"words": "wordz"}, "did you mean"),
    ]:
        with pytest.raises(ValueError, match=said):
            corpuscle.search(texts, "a", **how)


def test_an_index_in_a_folder_is_that_of_the_command(demo, tmp_path):
    import subprocess
    import sys

    texts, *_ = demo
    index = corpuscle.SearchIndex(tmp_path / "index", words="words(stem=english)")
    assert index.add(texts[:100], range(100)) == 100
    assert index.add(["a printer of mine", "another"], ["0", "new"]) == 101  # the document 0 is replaced
    assert index.delete(["new"]) == 100
    call = [sys.executable, "-m", "corpuscle", "search", str(tmp_path / "index"), "printers", "--json", "--top", "5"]
    said = json.loads(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
    ours = corpuscle.search(tmp_path / "index", "printers", 5)
    assert [(hit["id"], hit["score"]) for hit in said["hits"]] == [(row["id"], row["score"]) for row in ours.rows]
    assert "0" in [row["id"] for row in corpuscle.SearchIndex(tmp_path / "index").search("printer", 100).rows]
    with pytest.raises(ValueError, match="ids"):
        index.add(["a"], ["1", "2"])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ValueError, match="no index"):
        corpuscle.SearchIndex(tmp_path / "other")


def test_reproduce(demo, tmp_path):
    texts, labels, *_ = demo
    rows = [json.dumps({"text": text, "label": label}) for text, label in zip(texts, labels, strict=True)]
    (tmp_path / "demo.jsonl").write_text("\n".join(rows), encoding="utf-8")
    protocol = {
        "name": "own",
        "title": "Own",
        "paper": "None",
        "note": "",
        "claims": [],
        "file": "demo.jsonl",
        "parts": {"share": {"train": 0.5}},
        "runs": 2,
        "figures": ["accuracy", "macro_f1"],
        "systems": [
            {"name": "svm", "recipe": "tfidf | svm", "paper": {"accuracy": 80.0}},
            {"name": "knn", "recipe": "tfidf | knn(k=5)"},
        ],
    }
    (tmp_path / "own.json").write_text(json.dumps(protocol), encoding="utf-8")
    found = corpuscle.reproduce(tmp_path / "own.json", tmp_path, runs=2)
    whole(found)
    assert [(row["system"], row["figure"]) for row in found.rows] == [
        (system, figure) for system in ("svm", "knn") for figure in ("accuracy", "macro_f1")
    ]
    assert found.rows[0]["paper"] == 0.8 and 0.5 < found.rows[0]["mean"] <= 1 and found.found["runs"] == 2
    with pytest.raises(ValueError, match="no protocol"):
        corpuscle.reproduce("nothing", tmp_path)


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


def test_mlflow(demo, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed (mlflow-skinny is enough): the flavour is not tried with it")
    import corpuscle.mlflow

    texts, labels, new, _ = demo
    model = TextClassifier("tfidf-svm").fit(texts, labels)
    corpuscle.mlflow.save_model(model, tmp_path / "saved")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    assert loaded.predict(new).tolist() == model.predict(new).tolist()
    assert corpuscle.mlflow.load_model(tmp_path / "saved").predict(new).tolist() == model.predict(new).tolist()
    # Logged with a run, in files: a database would need all of mlflow.
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        with mlflow.start_run():
            logged = corpuscle.mlflow.log_model(model, name="tickets")
        assert logged.flavors["corpuscle"]["recipe"] == model.recipe_
        assert mlflow.pyfunc.load_model(logged.model_uri).predict(new).tolist() == model.predict(new).tolist()
    finally:
        mlflow.set_tracking_uri(before)


def test_the_flavour_without_mlflow(demo, tmp_path):
    from corpuscle.mlflow import FILE, _load_pyfunc

    texts, labels, new, _ = demo
    model = TextClassifier("tfidf-svm").fit(texts, labels)
    model.save(tmp_path / FILE)
    assert _load_pyfunc(tmp_path).predict(new).tolist() == model.predict(new).tolist()


def test_word_vectors(demo):
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
