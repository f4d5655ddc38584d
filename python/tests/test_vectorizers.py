"""The drop-in vectorizers against scikit-learn's, over a grid of settings and on real text."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import text as sklearn_text

from corpuscle import CountVectorizer, TfidfVectorizer

COUNTED = [
    {"lowercase": lowercase, "ngram_range": grams, "stop_words": stop, "binary": binary, **bounds}
    for lowercase, grams, stop, binary in itertools.product(
        [True, False], [(1, 1), (1, 2), (2, 3)], [None, "english", ["the", "my", "is"]], [False, True]
    )
    for bounds in [{}, {"min_df": 2, "max_df": 0.5}, {"min_df": 0.01, "max_df": 300}]
]
WEIGHED = [
    {"norm": norm, "use_idf": idf, "smooth_idf": smooth, "sublinear_tf": sublinear, **more}
    for norm, idf, smooth, sublinear in itertools.product(["l1", "l2", None], [True, False], [True, False], [True, False])
    for more in [{}, {"ngram_range": (1, 2), "min_df": 2, "dtype": np.float32}, {"binary": True, "stop_words": "english"}]
]
# Settings for which the inherited code counts.
INHERITED = [
    {"analyzer": "char", "ngram_range": (2, 3)},
    {"analyzer": "char_wb", "ngram_range": (3, 3)},
    {"strip_accents": "unicode"},
    {"token_pattern": r"(?u)\b\w+\b"},
    {"vocabulary": ["printer", "password", "paper"]},
    {"stop_words": ["don't"]},
]


def same(ours, theirs, texts, new):
    expected, found = theirs.fit_transform(texts), ours.fit_transform(texts)
    assert ours.vocabulary_ == {term: int(column) for term, column in theirs.vocabulary_.items()}
    assert np.array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    for expected, found in [(expected, found), (theirs.transform(new), ours.transform(new))]:
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert np.array_equal(found.indptr, expected.indptr)
        expected.sort_indices()
        found.sort_indices()
        assert np.array_equal(found.indices, expected.indices)
        assert np.allclose(found.data, expected.data, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("settings", COUNTED, ids=str)
def test_counts(settings, demo):
    same(CountVectorizer(**settings), sklearn_text.CountVectorizer(**settings), demo[0], demo[2])


@pytest.mark.parametrize("settings", WEIGHED, ids=str)
def test_weights(settings, demo):
    ours, theirs = TfidfVectorizer(**settings), sklearn_text.TfidfVectorizer(**settings)
    same(ours, theirs, demo[0], demo[2])
    if settings["use_idf"]:
        assert np.allclose(ours.idf_, theirs.idf_)


@pytest.mark.parametrize("settings", INHERITED, ids=str)
def test_settings_of_the_inherited_code(settings, demo):
    same(CountVectorizer(**settings), sklearn_text.CountVectorizer(**settings), demo[0], demo[2])
    same(TfidfVectorizer(**settings), sklearn_text.TfidfVectorizer(**settings), demo[0], demo[2])


@pytest.mark.parametrize("limit", [1, 10, 100])
def test_the_most_frequent_terms(limit, demo):
    """Among terms equally frequent scikit-learn keeps any; the frequencies kept are the same."""
    ours, theirs = CountVectorizer(max_features=limit), sklearn_text.CountVectorizer(max_features=limit)
    kept = [sorted(np.asarray(v.fit_transform(demo[0]).sum(axis=0)).ravel().tolist()) for v in (ours, theirs)]
    assert kept[0] == kept[1]


@pytest.mark.parametrize("settings", [{}, {"ngram_range": (1, 2), "min_df": 3, "sublinear_tf": True}, {"stop_words": "english"}], ids=str)
def test_real_text(settings, newsgroups):
    texts, _ = newsgroups
    same(TfidfVectorizer(**settings), sklearn_text.TfidfVectorizer(**settings), texts[:6000], texts[6000:7000])


def test_parts_make_the_whole(demo):
    texts, _, new, _ = demo
    for make in [CountVectorizer(ngram_range=(1, 2)), TfidfVectorizer(min_df=2), TfidfVectorizer(use_idf=False)]:
        whole, parts = clone(make).fit(texts), clone(make)
        for start in range(0, len(texts), 100):
            parts.partial_fit(texts[start : start + 100])
        parts = pickle.loads(pickle.dumps(parts))
        assert parts.vocabulary_ == whole.vocabulary_
        assert (parts.transform(new) != whole.transform(new)).nnz == 0
        parts.partial_fit(["another word"])
        assert "another" in parts.vocabulary_ or make.min_df == 2
    with pytest.raises(ValueError, match="at once"):
        TfidfVectorizer(analyzer="char").partial_fit(texts)


@pytest.mark.parametrize("name", ["preprocessor", "tokenizer", "analyzer", "strip_accents"])
@pytest.mark.parametrize("make", [CountVectorizer, TfidfVectorizer])
def test_callables_are_refused_with_the_alternative(make, name):
    with pytest.raises(ValueError, match=f"{name} is a callable.*sklearn.feature_extraction.text.{make.__name__}"):
        make(**{name: str.split}).fit(["a text"])


def test_pickles_frames_and_generators(demo):
    texts, _, new, _ = demo
    for make in [CountVectorizer(), TfidfVectorizer()]:
        fitted = make.fit(pd.Series(texts))
        copied = pickle.loads(pickle.dumps(fitted))
        assert pickle.dumps(copied) == pickle.dumps(pickle.loads(pickle.dumps(copied)))
        assert (copied.transform(new) != fitted.transform(text for text in new)).nnz == 0
        assert fitted.inverse_transform(fitted.transform(new[:2]))[0].size


def test_messages_are_those_of_scikit_learn():
    for given, settings in [
        (["the"], {"stop_words": "english"}),
        (["a b"], {}),
        (["x y z"], {"min_df": 5}),
        (["red apple", "blue sky"], {"max_df": 1, "min_df": 2}),
        ([np.nan], {}),
        ("text", {}),
    ]:
        said = []
        for make in (CountVectorizer, sklearn_text.CountVectorizer):
            with pytest.raises(ValueError) as raised:
                make(**settings).fit(given)
            said.append(str(raised.value))
        assert said[0] == said[1]
