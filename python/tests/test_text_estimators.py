"""The estimators over texts: rules of scikit-learn, every make of input, model files of the command."""

import io
import json
import pickle
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import estimator_checks

from corpuscle import LinearSVM, TextClassifier, TextVectorizer, _native
from corpuscle._input import as_texts

PLAIN = "tfidf | svm(calibrate=0)"


def model_bytes(model):
    return model._model.to_bytes()


def train_with_command(folder, rows, recipe, *more):
    file, model = folder / "train.jsonl", folder / "train.model"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    call = [sys.executable, "-m", "corpuscle", "train", str(file), "--recipe", recipe, "-o", str(model), "--quiet", *more]
    subprocess.run(call, check=True, capture_output=True)
    return model.read_bytes()


@pytest.mark.parametrize("recipe", ["tfidf-svm", "dcot", "words(stem=porter) | binary | ig(100) | sprinkle(rank=10) | knn(k=3)"])
def test_the_bytes_are_those_of_the_command(tmp_path, demo, recipe):
    texts, labels, *_ = demo
    labels = [None if row % 5 == 0 else label for row, label in enumerate(labels)]
    weights = [0.5 if row % 3 == 0 else 1.0 for row in range(len(texts))]
    rows = [
        {"id": str(row), "text": text, "weight": weight} | ({} if label is None else {"label": label})
        for row, (text, label, weight) in enumerate(zip(texts, labels, weights, strict=True))
    ]
    expected = train_with_command(tmp_path, rows, recipe, "--weight", "weight")
    model = TextClassifier(recipe).fit(texts, labels, weights, sources=["train.jsonl"])
    assert model_bytes(model) == expected
    model.save(tmp_path / "own.model")
    assert (tmp_path / "own.model").read_bytes() == expected
    loaded = TextClassifier.load(tmp_path / "own.model")
    assert model_bytes(loaded) == expected
    assert loaded.predict(texts).tolist() == model.predict(texts).tolist()


def test_numbers_as_classes_make_the_model_of_their_text(tmp_path, demo):
    texts, labels, *_ = demo
    names = sorted(set(labels))
    y = np.array([names.index(label) + 7 for label in labels])  # 7 … 12: as text in another order
    rows = [{"text": text, "label": str(label)} for text, label in zip(texts, y, strict=True)]
    expected = train_with_command(tmp_path, rows, "tfidf-svm")
    model = TextClassifier("tfidf-svm").fit(texts, y, sources=["train.jsonl"])
    assert model_bytes(model) == expected
    assert model.classes_.tolist() == sorted(set(y.tolist()))
    assert (model.classes_[model.predict_proba(texts).argmax(axis=1)] == model.predict(texts)).mean() > 0.9
    assert (model.classes_[model.decision_function(texts).argmax(axis=1)] == model.predict(texts)).all()
    loaded = TextClassifier.load(_saved(model, tmp_path))
    assert loaded.predict(texts[:5]).tolist() == [str(label) for label in model.predict(texts[:5])]


def _saved(model, folder):
    model.save(folder / "x.model")
    return folder / "x.model"


def makes(texts):
    """Every make of a column of texts."""
    return {
        "tuple": tuple(texts),
        "object array": np.array(texts, dtype=object),
        "str array": np.array(texts),
        "one column": np.array(texts, dtype=object)[:, None],
        "pandas object": pd.Series(texts, dtype=object),
        "pandas": pd.Series(texts, index=range(5, 5 + len(texts))),
        "pandas arrow": pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
        "pandas category": pd.Series(texts, dtype="category"),
        "pandas index": pd.Index(texts),
        "pandas frame": pd.DataFrame({"text": texts}, index=range(9, 9 + len(texts))),
        "polars": pl.Series(texts),
        "polars category": pl.Series(texts, dtype=pl.Categorical),
        "polars frame": pl.DataFrame({"text": texts}),
        "arrow": pa.array(texts),
        "arrow large": pa.array(texts, pa.large_string()),
        "arrow view": pa.array(texts, pa.string_view()),
        "arrow dictionary": pa.array(texts).dictionary_encode(),
        "arrow chunked": pa.chunked_array([texts[:7], [], texts[7:]]),
        "arrow slice": pa.array(["before", *texts, "after"])[1:-1],
        "arrow table": pa.table({"text": texts}),
        "iterator": iter(texts),
    }


@pytest.fixture(scope="module")
def fitted(demo):
    texts, labels, *_ = demo
    return TextClassifier("tfidf-svm").fit(texts, labels)


def test_every_make_of_texts_is_the_same(demo, fitted):
    texts, labels, new, _ = demo
    texts[3] = "été naïve 東京 " + texts[3]
    expected = model_bytes(TextClassifier(PLAIN).fit(texts, labels))
    for name, given in makes(texts).items():
        assert model_bytes(TextClassifier(PLAIN).fit(given, labels)) == expected, name
    answers = fitted.predict_proba(new)
    for name, given in makes(new).items():
        assert np.array_equal(fitted.predict_proba(given), answers), name


def test_arrow_memory_is_not_copied():
    for column in [pa.array(["a", "bcd"] * 50), pa.array(["x" * 40] * 9, pa.large_string())]:
        assert column.buffers()[2].address in as_texts(column).addresses()
        assert column.buffers()[2].address in as_texts(pa.chunked_array([column])).addresses()
    column = pa.chunked_array([["a", "bcd"] * 50])
    series = pd.Series(pd.arrays.ArrowExtensionArray(column))
    assert column.chunk(0).buffers()[2].address in as_texts(series).addresses()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("one text", "string object received"),
        ([b"bytes"], "text 0 .bytes. is bytes"),
        (["a", None], "text 1 .None. is missing"),
        (["a", float("nan")], "text 1 .float. is missing"),
        ([1, 2], "text 0 .int. is no str"),
        (np.array([["a", "b"]]), "one column"),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "one column"),
        (pl.DataFrame({"a": ["x"], "b": ["y"]}), "one column"),
        (pa.table({"a": ["x"], "b": ["y"]}), "one column"),
        (pa.array(["a", None]), "text 1 .null. is missing"),
        (pa.array([1, 2]), "strings"),
        (pl.Series(["a", None]), "is missing"),
        (pd.Series(["a", None]), "is missing"),
        (sp.eye(3), "sparse matrix"),
        (3, "texts are a list"),
        ([], "no documents|[Ff]ound"),
    ],
)
def test_what_is_no_text_is_refused_with_the_place(given, said):
    n = 1 if isinstance(given, str | int) or sp.issparse(given) else len(given)
    with pytest.raises((TypeError, ValueError), match=said):
        TextClassifier(PLAIN).fit(given, ["a"] * n)


def test_writing_without_spaces_between_words(tmp_path):
    texts = ["เครื่องพิมพ์กระดาษติดอีกแล้ว", "หมึกเครื่องพิมพ์หมด", "ลืมรหัสผ่านของฉัน", "ขอเปลี่ยนรหัสผ่าน"] * 4
    labels = ["พิมพ์", "พิมพ์", "รหัส", "รหัส"] * 4
    model = TextClassifier(PLAIN).fit(pl.Series(texts), labels)
    assert model.predict(pa.array(["เครื่องพิมพ์เสีย", "รหัสผ่านหมดอายุ"], pa.string_view())).tolist() == ["พิมพ์", "รหัส"]
    assert model.explain("รหัสผ่านหมดอายุ").terms
    assert TextClassifier.load(_saved(model, tmp_path)).classes_.tolist() == ["พิมพ์", "รหัส"]


def labels_of(names):
    return {
        "str": names,
        "object": np.array(names, dtype=object),
        "int": [len(name) for name in names],
        "float": np.array([float(len(name)) for name in names]),
        "bool": [name.startswith("b") for name in names],
        "category": pd.Series(names, dtype="category"),
        "polars": pl.Series(names),
        "arrow": pa.array(names),
        "index": pd.Series(names, index=range(3, 3 + len(names))),
    }


def test_classes_keep_their_type(demo):
    texts, labels, new, _ = demo
    for name, y in labels_of(labels).items():
        model = TextClassifier(PLAIN).fit(texts, y)
        values = np.asarray(y.to_pylist() if isinstance(y, pa.Array) else y)
        assert model.classes_.tolist() == np.unique(values).tolist(), name
        assert set(model.predict(new).tolist()) <= set(values.tolist()), name
        copied = pickle.loads(pickle.dumps(model))
        assert copied.classes_.dtype == model.classes_.dtype, name
        assert copied.predict(new).tolist() == model.predict(new).tolist(), name


def test_missing_labels_are_unlabelled_documents(demo):
    texts, labels, *_ = demo
    names = sorted(set(labels))
    number = {name: at for at, name in enumerate(names)}
    hidden = {row for row in range(len(texts)) if row % 3}
    holes = [None if row in hidden else label for row, label in enumerate(labels)]
    recipe = "tfidf | dcot(20) | svm(self_training=true, calibrate=0)"
    expected = TextClassifier(recipe).fit(texts, holes)
    alone = TextClassifier(recipe)
    with pytest.warns(UserWarning, match="no unlabelled documents"):
        alone.fit(*zip(*[(t, h) for t, h in zip(texts, holes, strict=True) if h], strict=True))
    assert model_bytes(alone) != model_bytes(expected)
    for y in [
        np.array([float("nan") if h is None else h for h in holes], dtype=object),
        pd.Series(holes),
        pl.Series(holes),
        pa.array(holes),
        pd.Series(holes, dtype="category"),
        pd.Series(holes, dtype="string"),
        [float("nan") if h is None else h for h in holes],
        [-1 if h is None else h for h in holes],
        [pd.NA if h is None else h for h in holes],
        pl.Series(holes, dtype=pl.Categorical),
        pa.array(holes, pa.string_view()),
    ]:
        assert model_bytes(TextClassifier(recipe).fit(texts, y)) == model_bytes(expected), type(y)
    codes = [-1 if h is None else number[h] for h in holes]
    counted = TextClassifier(recipe).fit(texts, codes)
    assert counted.classes_.tolist() == list(range(len(names)))
    for y in [np.array(codes), np.array([float("nan") if c < 0 else c for c in codes]), pd.Series(codes).where(lambda c: c >= 0)]:
        model = TextClassifier(recipe).fit(texts, y)
        assert [int(found) for found in model.predict(texts)] == counted.predict(texts).tolist()
    nulls = [None if c < 0 else c for c in codes]
    for y in [nulls, pd.Series(nulls, dtype="Int64"), pl.Series(nulls), pa.array(nulls), pa.chunked_array([nulls])]:
        model = TextClassifier(recipe).fit(texts, y)
        assert model.classes_.dtype.kind == "i" and model_bytes(model) == model_bytes(counted), type(y)


def test_several_labels_come_back_in_the_form_given(demo):
    texts, labels, new, _ = demo
    lists = [[label] + (["long"] if len(text) > 80 else []) for text, label in zip(texts, labels, strict=True)]
    lists[0] = []
    model = TextClassifier("tfidf-svm").fit(texts, lists)
    found = model.predict(new)
    assert all(isinstance(row, list) for row in found) and any(len(row) == 2 for row in found)
    assert 0.3 < model.score(texts, lists) <= 1
    binarizer = MultiLabelBinarizer().fit(lists)
    Y = binarizer.transform(lists)
    frame = pd.DataFrame(Y, columns=binarizer.classes_)
    for y, sparse in [(Y, False), (sp.csr_matrix(Y), True), (frame, False)]:
        other = TextClassifier("tfidf-svm").fit(texts, y)
        indicator = other.predict(new)
        assert sp.issparse(indicator) == sparse
        indicator = indicator.toarray() if sparse else indicator
        assert np.array_equal(indicator, binarizer.transform(found))
        assert np.allclose(other.predict_proba(new), model.predict_proba(new))
    assert model_bytes(TextClassifier("tfidf-svm").fit(texts, frame)) == model_bytes(model)
    assert 0.3 < TextClassifier("tfidf-svm").fit(texts, Y).score(texts, Y)
    hidden = [None if row % 4 == 1 else own for row, own in enumerate(lists)]
    holes = Y.astype(float)
    holes[[own is None for own in hidden]] = np.nan
    first = TextClassifier("tfidf-svm").fit(texts, hidden)
    assert np.allclose(first.predict_proba(new), TextClassifier("tfidf-svm").fit(texts, holes).predict_proba(new))


def test_bad_targets_are_refused(demo):
    texts, labels, *_ = demo
    for y, said in [
        (None, "requires y"),
        (labels[:-1], "inconsistent"),
        (["one"] * len(texts), "at least two classes"),
        ([None] * len(texts), "needs labels"),
        (np.linspace(0, 1, len(texts)), "continuous"),
        (np.full((len(texts), 2), 7), "1 where"),
        ([["a"], "b"] + [["a"]] * (len(texts) - 2), "lists"),
    ]:
        with pytest.raises(ValueError, match=said):
            TextClassifier(PLAIN).fit(texts, y)
    for weights, said in [([1.0], "inconsistent"), ([-1.0] * len(texts), "[Nn]egative"), ([np.nan] * len(texts), "NaN")]:
        with pytest.raises(ValueError, match=said):
            TextClassifier(PLAIN).fit(texts, labels, sample_weight=weights)
    for recipe, said in [("tfidf | smv", "did you mean `svm`"), ("tfidf", "representation only"), (7, "must be a recipe")]:
        with pytest.raises(ValueError, match=said):
            TextClassifier(recipe).fit(texts, labels)


def test_explaining_says_what_the_command_says(demo, fitted):
    *_, new, _ = demo
    one = fitted.explain(new[0])
    assert one.label == fitted.predict([new[0]])[0]
    assert one.weighing == "adds" and len(one.terms) <= 10
    everything = fitted.explain(new[:3], top=None)
    total = [sum(amount for _, amount in found.terms) for found in everything]
    scores = fitted.decision_function(new[:3]).max(axis=1)
    constant = scores - total
    assert len(everything) == 3 and all(isinstance(value, float) for value in constant)
    other = fitted.explain(new[0], label=fitted.classes_[0])
    assert other.label == fitted.classes_[0]
    assert "adds to the score" in str(one) and "<table>" in one._repr_html_()
    assert one.to_pandas().columns.tolist() == one.to_polars().columns == ["term", "amount"]
    with pytest.raises(ValueError, match="no class"):
        fitted.explain(new[0], label="nonsense")


def test_an_update_adds_documents_and_classes(demo):
    texts, labels, new, truth = demo
    model = TextClassifier("tfidf-svm", updatable=True).fit(texts[:200], labels[:200])
    assert model.update(texts[200:], labels[200:]) is model
    assert model.score(new, truth) > 0.7
    model.update(["a wholly new matter", "another new matter of the kind"] * 3, ["new"] * 6)
    assert "new" in model.classes_ and model.predict_proba(new).shape == (len(new), len(model.classes_))
    numbers = TextClassifier(PLAIN, updatable=True).fit(texts[:6], [10, 9, 10, 9, 10, 9]).update(texts[6:9], [2, 11, 2])
    assert numbers.classes_.tolist() == [2, 9, 10, 11]
    assert set(numbers.predict(texts).tolist()) <= {2, 9, 10, 11}
    with pytest.raises(ValueError, match="updatable"):
        TextClassifier(PLAIN).fit(texts, labels).update(texts, labels)


def test_no_recipe_recommends_within_the_budget(demo):
    texts, labels, new, truth = demo
    model = TextClassifier(budget=2.0).fit(texts, labels)
    assert model.score(new, truth) > 0.7 and model.candidates_ and "|" in model.recipe_


def test_without_calibration_there_are_no_probabilities(demo):
    texts, labels, *_ = demo
    model = TextClassifier(PLAIN)
    assert not hasattr(model, "predict_proba") and hasattr(TextClassifier("tfidf-svm"), "predict_proba")
    model.fit(texts, labels)
    assert not hasattr(model, "predict_proba")
    assert hasattr(TextClassifier("tfidf | logistic(calibrate=0)").fit(texts, labels), "predict_proba")
    assert model.decision_function(texts).shape == (len(texts), len(model.classes_))


# The checks of scikit-learn that need no data, and twins in text of those that do: `check_estimator` skips nearly all of them for
# estimators whose input is no matrix, by design.
ESTIMATORS = [TextClassifier(PLAIN), TextVectorizer("tfidf | lsi(5)")]
DATA_FREE = [
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_mixin_order",
]


@pytest.mark.parametrize("check", [check for check in DATA_FREE if hasattr(estimator_checks, check)])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_data_free_checks(estimator, check):
    getattr(estimator_checks, check)(type(estimator).__name__, clone(estimator))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_twins_of_the_checks(estimator, demo):
    texts, labels, new, _ = demo
    given, y = list(texts), list(labels)
    model = clone(estimator)

    def answers(model, documents):
        if isinstance(model, TextVectorizer):
            return model.transform(documents)
        return model.decision_function(documents)

    with pytest.raises(NotFittedError):
        answers(model, new)
    before = dict(model.get_params())
    assert model.fit(given, y) is model  # fit returns self
    assert model.get_params() == before  # parameters are not changed
    assert (given, y) == (texts, labels)  # input is not changed
    found = answers(model, new)
    state = model_bytes(model)
    assert np.array_equal(answers(model, new), found)  # answering changes nothing
    assert model_bytes(model) == state
    assert model_bytes(model.fit(given, y)) == state  # fitting twice is fitting once
    assert model_bytes(clone(model).fit(given, y)) == state
    for copied in [pickle.loads(pickle.dumps(model)), _joblib(model)]:
        assert model_bytes(copied) == state
        assert np.array_equal(answers(copied, new), found)
        assert pickle.dumps(copied) == pickle.dumps(pickle.loads(pickle.dumps(copied)))
    order = np.random.default_rng(0).permutation(len(new))
    assert np.array_equal(answers(model, [new[at] for at in order]), found[order])  # order invariance
    parts = [answers(model, new[at : at + 3]) for at in range(0, len(new), 3)]
    assert np.allclose(np.concatenate(parts), found, atol=1e-6)  # subset invariance
    assert np.array_equal(answers(model.set_params(n_jobs=1), new), found)
    assert model_bytes(clone(model).set_params(n_jobs=2).fit(given, y)) == state  # any number of threads


def _joblib(model):
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    return joblib.load(file)


def test_a_vectorizer_gives_rows_and_names(demo):
    texts, labels, new, _ = demo
    for recipe, sparse in [
        ("tfidf", True),
        ("tfidf | lsi(7)", False),
        ("(tfidf + (counts | lsi(3)))", True),
        ("tfidf | varnorm(4) | discriminant", False),
        ("tfidf-svm", True),
        ("tfidf | dcot(20)", True),
        ("average(dim=4, min_count=2, epochs=1)", False),
    ]:
        vectorizer = TextVectorizer(recipe)
        z = vectorizer.fit_transform(texts, labels)
        assert sp.issparse(z) == sparse and z.dtype == np.float32, recipe
        names = vectorizer.get_feature_names_out()
        assert len(names) == z.shape[1] and len(set(names)) == len(names), recipe
        again = vectorizer.transform(texts)
        difference = abs(again - z).max()
        assert difference < 1e-4, (recipe, difference)
        assert vectorizer.transform(new).shape == (len(new), z.shape[1])
    with pytest.warns(UserWarning, match="count negatively"):
        TextVectorizer("tfidf | varnorm(4)").fit_transform(texts, labels)
    with pytest.raises(ValueError, match="needs labels"):
        TextVectorizer("tfidf | varnorm(4)").fit(texts)
    named = TextVectorizer("tfidf | lsi(3)").set_output(transform="pandas").fit_transform(texts)
    assert named.columns.tolist() == ["lsi0", "lsi1", "lsi2"]


def test_a_representation_is_loaded_from_its_file(demo, tmp_path):
    texts, labels, new, _ = demo
    vectorizer = TextVectorizer("tfidf | lsi(7)").fit(texts)
    vectorizer.save(tmp_path / "x.model")
    assert np.array_equal(TextVectorizer.load(tmp_path / "x.model").transform(new), vectorizer.transform(new))
    with pytest.raises(ValueError, match="representation only"):
        TextClassifier.load(tmp_path / "x.model")
    with pytest.raises(FileNotFoundError):
        TextClassifier.load(tmp_path / "y.model")
    (tmp_path / "z.model").write_bytes(b"no model" * 10)
    with pytest.raises(ValueError, match="refused"):
        TextClassifier.load(tmp_path / "z.model")
    with pytest.raises(OSError):
        vectorizer.save(tmp_path / "no" / "folder" / "x.model")


def test_it_works_inside_scikit_learns_tools(demo):
    texts, labels, new, truth = demo
    pipeline = make_pipeline(TextVectorizer("tfidf"), LinearSVM())
    assert pipeline.fit(texts, labels).score(new, truth) > 0.7
    frame = pd.DataFrame({"text": texts, "number": range(len(texts))})
    columns = ColumnTransformer([("text", TextVectorizer("tfidf | lsi(5)"), "text"), ("rest", "passthrough", ["number"])])
    assert columns.fit_transform(frame).shape == (len(texts), 6)
    assert columns.get_feature_names_out().tolist()[-1] == "rest__number"
    search = GridSearchCV(TextClassifier(), {"recipe": [PLAIN, "counts | logistic"]}, n_jobs=2, cv=2, error_score="raise")
    assert search.fit(texts, labels).best_score_ > 0.5
    calibrated = CalibratedClassifierCV(TextClassifier(PLAIN), cv=2).fit(texts, labels)
    assert np.allclose(calibrated.predict_proba(new).sum(axis=1), 1)
    out_of_fold = cross_val_predict(TextClassifier("tfidf-svm"), texts, labels, cv=3, method="predict_proba")
    assert out_of_fold.shape == (len(texts), len(set(labels)))
    stack = StackingClassifier([("a", TextClassifier(PLAIN)), ("b", TextClassifier("counts | logistic"))], LogisticRegression(), cv=2)
    assert stack.fit(texts, labels).score(new, truth) > 0.6


def test_the_fast_way_for_one_text_says_the_same(demo, fitted):
    *_, new, _ = demo
    together = fitted.predict_proba(new[:20])
    for row, text in enumerate(new[:20]):
        assert np.array_equal(fitted.predict_proba([text])[0], together[row])
    assert _native.__version__
