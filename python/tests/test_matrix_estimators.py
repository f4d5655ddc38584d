"""The estimators over matrices: scikit-learn's own checks on every one, and what they make of arrays and CSR."""

import inspect
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import corpuscle
from corpuscle import (
    DCoT,
    Discriminant,
    InformationGain,
    KNN,
    LinearSVM,
    Logistic,
    LSI,
    Sprinkle,
    VarNorm,
)

PROJECTIONS = [LSI, Sprinkle, VarNorm, Discriminant, DCoT, InformationGain]
CLASSIFIERS = [LinearSVM, Logistic, KNN]
EVERY = PROJECTIONS + CLASSIFIERS

# Checks of scikit-learn that do not hold, each with its reason.
BITS = "values are 32-bit floats: a product of more rows at once differs in the last bits"
FOLDS = "probabilities come from folds of rows, and a row twice as heavy is not two rows in two folds"
APART = "probabilities are calibrated class by class: on the border the likeliest class may not have the highest score"
PASSES = "how many steps were taken stands in notes_"
WEIGHTS = ["check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"]
EXPECTED = {
    "VarNorm": {"check_methods_subset_invariance": BITS},
    "DCoT": {"check_methods_subset_invariance": BITS},
    "LinearSVM": dict.fromkeys(WEIGHTS, FOLDS) | {"check_classifiers_train": APART, "check_non_transformer_estimators_n_iter": PASSES},
    "Logistic": dict.fromkeys(WEIGHTS, "equal to the tolerance of the solver (2e-4), not to 1e-7")
    | {"check_non_transformer_estimators_n_iter": PASSES},
    "KNN": dict.fromkeys(WEIGHTS, "a heavy row has more votes but is one of k neighbours, not several")
    | {"check_classifiers_multilabel_output_format_predict_proba": "a label that no neighbour has is given the probability 0"},
}


@parametrize_with_checks([estimator() for estimator in EVERY], expected_failed_checks=lambda e: EXPECTED.get(type(e).__name__, {}))
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(240, 20, n_informative=8, n_classes=3, random_state=0)
    return np.abs(X) * (np.abs(X) > 0.7), np.array(["c", "a", "b"])[y]


@pytest.mark.parametrize("estimator", PROJECTIONS, ids=lambda e: e.__name__)
def test_arrays_and_csr_give_the_same(estimator, rows):
    X, y = rows
    dense = estimator().fit(X, y).transform(X)
    sparse = estimator().fit(sp.csr_matrix(X), y).transform(sp.csr_array(X))
    assert isinstance(dense, np.ndarray) and dense.dtype == np.float32
    sparse = sparse.toarray() if sp.issparse(sparse) else sparse
    # Directions may come with either sign, so rows are compared with each other.
    assert np.allclose(dense @ dense.T, sparse @ sparse.T, atol=1e-3 * np.abs(dense @ dense.T).max())
    assert len(estimator().fit(X, y).get_feature_names_out()) == dense.shape[1]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda e: e.__name__)
def test_classifiers_learn_and_come_back_from_a_pickle(estimator, rows):
    X, y = rows
    model = estimator().fit(sp.csr_matrix(X), y)
    assert model.score(X, y) > 0.5
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1, atol=1e-5)
    copied = pickle.loads(pickle.dumps(model))
    assert copied._fitted.to_bytes() == model._fitted.to_bytes()
    assert pickle.dumps(copied) == pickle.dumps(pickle.loads(pickle.dumps(copied)))
    assert np.array_equal(copied.decision_function(X), model.decision_function(X))
    assert np.array_equal(clone(model).set_params(n_jobs=1).fit(X, y).decision_function(X), estimator().fit(X, y).decision_function(X))


def test_several_labels():
    X, Y = make_multilabel_classification(200, 12, n_classes=3, random_state=0)
    for estimator in [LinearSVM(), Logistic(), KNN()]:
        model = estimator.fit(X, Y)
        assert model.predict(X).shape == Y.shape and model.score(X, Y) > 0.3
        assert model.predict_proba(X).shape == Y.shape


def test_weights_of_a_linear_classifier_make_its_scores(rows):
    X, y = rows
    for estimator in [LinearSVM(), Logistic()]:
        model = estimator.fit(X, y)
        assert np.allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X), atol=1e-4)
        two = estimator.fit(X, y == "a")
        assert two.coef_.shape == (1, X.shape[1])
        assert np.allclose((X @ two.coef_.T + two.intercept_).ravel(), two.decision_function(X), atol=1e-4)


def test_in_a_pipeline_of_scikit_learn(rows):
    X, y = rows
    assert make_pipeline(InformationGain(terms=15), LSI(rank=8), Discriminant(), KNN(k=5)).fit(X, y).score(X, y) > 0.5


def test_constructors_come_from_the_table():
    for estimator in EVERY:
        known = corpuscle.stages()[estimator._stage]["parameters"]
        signature = inspect.signature(estimator)
        for name, described in known.items():
            assert signature.parameters[name].default == described["default"]
            assert described["about"] in estimator.__doc__
        assert set(estimator().get_params()) == set(known) | {"random_state", "n_jobs"}
    with pytest.raises(TypeError, match="unexpected keyword"):
        LSI(ranks=3)
    with pytest.raises(ValueError, match="rank"):
        LSI(rank=0).fit(np.eye(3))
    with pytest.raises(ValueError, match="must be a number"):
        LSI(rank=[1]).fit(np.eye(3))


def test_a_dense_result_too_large_is_refused_with_the_alternative():
    X = sp.random(60_000, 10_000, density=1e-4, format="csr", random_state=0)
    with pytest.raises(ValueError, match="TextClassifier"):
        VarNorm().fit(X, np.arange(60_000) % 2)


def test_sixty_four_bit_indices_and_doubled_entries(rows):
    X, y = rows
    wide = sp.csr_matrix(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert np.array_equal(LSI(rank=3).fit_transform(wide), LSI(rank=3).fit_transform(sp.csr_matrix(X)))
    doubled = sp.csr_matrix((np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    before = doubled.data.copy()
    assert np.allclose(np.abs(LSI(rank=2).fit_transform(doubled)).max(axis=1), [3, 4])
    assert np.array_equal(doubled.data, before)
