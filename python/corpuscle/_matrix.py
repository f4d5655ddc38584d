"""The methods on matrices: projections and classifiers as scikit-learn estimators, constructors from the library's table."""

from collections.abc import Mapping

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from corpuscle import _native
from corpuscle._input import encode, matrix_in, matrix_out
from corpuscle._params import from_table, parameters, written
from corpuscle._run import run_of

# Bytes of an array that a method whose result is dense may make of a sparse matrix.
LARGEST_DENSE = 2**31


class _Stage(BaseEstimator):
    _stage = None
    # Fewest rows to learn from.
    _fewest = 2
    # Whether the method works on sparse columns alone; an array is then read as one and comes back as one.
    _sparse_only = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self):
        return getattr(self, "_fitted", None) is not None

    def _values(self):
        return {p.name: getattr(self, p.name) for p in parameters(self._stage)}

    def _checked(self, X, *, reset):
        fewest = self._fewest if reset else 1
        return validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float32, np.float64], ensure_min_samples=fewest
        )

    def _given(self, X):
        """Rows in the make that was learnt from, or that alone can be."""
        if self._sparse_learnt and not sparse.issparse(X):
            X = sparse.csr_matrix(X)
        elif not self._sparse_learnt and sparse.issparse(X):
            X = X.toarray()
        return matrix_in(X)

    def _learn(self, X, target):
        self._sparse_learnt = self._sparse_only or sparse.issparse(X)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None or not sparse.issparse(X) else list(names)
        run, _ = run_of(self)
        fitted, rows = _native.fit_method(written(self._stage, self._values()), self._given(X), target, run, names)
        self._fitted = fitted
        return rows

    @property
    def notes_(self):
        """What was found and reached in fitting."""
        check_is_fitted(self)
        return dict(self._fitted.notes)


class _Projection(TransformerMixin, _Stage):
    _needs_labels = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags

    def fit(self, X, y=None):
        """Learns from the rows of X, and from their labels where the method uses some."""
        if y is None and self._needs_labels:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._checked(X, reset=True)
        if y is None:
            target = _native.Target.none(X.shape[0])
        else:
            target, self._classes = encode(_finite(y), X.shape[0], missing=False)
        some, rest, _ = self._learn(self._prepared(X), target)
        self._n_named = some[3] if some is not None else 0
        self._n_features_out = self._n_named + (rest.shape[1] if rest is not None else 0)
        return self

    def _prepared(self, X):
        return X

    def transform(self, X):
        """What becomes of the rows of X: an array, or CSR where X is and columns stay sparse."""
        check_is_fitted(self)
        X = self._prepared(self._checked(X, reset=False))
        run, _ = run_of(self)
        return matrix_out(self._fitted.transform(self._given(X), run), dense=not sparse.issparse(X))

    def get_feature_names_out(self, input_features=None):
        """Names of the columns that come out: those kept from before, then the method's name with a number."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self)
        before = _check_feature_names_in(self, input_features)
        kept = list(self._fitted.feature_names(list(before)))[: self._n_named] if self._n_named else []
        rest = range(self._n_features_out - len(kept))
        return np.asarray(kept + [f"{type(self).__name__.lower()}{number}" for number in rest], dtype=object)


def _has_probabilities(self):
    if self.__sklearn_is_fitted__() and not self._fitted.has_probabilities:
        raise AttributeError("no probabilities: the classifier was not calibrated (`calibrate=0`, or too few rows of a class)")
    return True


class _Classification(ClassifierMixin, _Stage):
    def _weighs_by_hand(self):
        """Whether classes have weights of the caller's: ``class_weight={"rare": 5}``."""
        return isinstance(getattr(self, "class_weight", None), Mapping)

    def _values(self):
        values = super()._values()
        if "class_weight" in values and (values["class_weight"] is None or self._weighs_by_hand()):
            values["class_weight"] = "none"
        return values

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Learns from the rows of X and their labels: one each, or an indicator matrix."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._checked(X, reset=True)
        y = _finite(y)
        if self._weighs_by_hand():
            from sklearn.utils.class_weight import compute_sample_weight

            by_class = compute_sample_weight(self.class_weight, y)
            sample_weight = by_class if sample_weight is None else by_class * np.asarray(sample_weight)
        target, self._classes = encode(y, X.shape[0], sample_weight, missing=False)
        self.classes_ = self._classes.values
        if len(self.classes_) < 2:
            raise ValueError(f"This solver needs samples of at least 2 classes in the data, but the data has {len(self.classes_)} class")
        self._learn(X, target)
        return self

    def _said(self, X):
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        run, _ = run_of(self)
        return self._fitted.predict(self._given(X), run)

    def predict(self, X):
        """The label of each row, or an indicator matrix where one was fitted."""
        return self._classes.decided(*self._said(X)[0]) if self.__sklearn_is_fitted__() else check_is_fitted(self)

    def decision_function(self, X):
        """The score of each class; with two classes half the second's lead."""
        found = self._said(X)[1]
        scores = self._classes.columns(found)
        return (scores[:, 1] - scores[:, 0]) / 2 if self._classes.kind == "single" and scores.shape[1] == 2 else scores

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """The probability of each class."""
        found = self._said(X)[2]
        return self._classes.columns(found)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X).astype(np.float64))


def _finite(y):
    if not sparse.issparse(y):
        from sklearn.utils import assert_all_finite

        y = np.asarray(y)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
    return y


class _Linear(_Classification):
    @property
    def coef_(self):
        """Weights, a row for each class; with two classes one row."""
        weights = self._classes.columns(self._linear()[0]).T
        return (weights[1:] - weights[:1]) / 2 if len(self.classes_) == 2 and self._classes.kind == "single" else weights

    @property
    def intercept_(self):
        """The bias of each class; with two classes one."""
        bias = self._classes.columns(self._linear()[1][None, :])[0]
        return (bias[1:] - bias[:1]) / 2 if len(self.classes_) == 2 and self._classes.kind == "single" else bias

    def _linear(self):
        check_is_fitted(self)
        return self._fitted.linear()


@from_table
class LSI(_Projection):
    """Latent semantic indexing: a truncated singular value decomposition of documents.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import LSI
    >>> LSI(rank=2).fit_transform(np.eye(4)).shape
    (4, 2)
    """

    _stage = "lsi"
    _fewest = 1


@from_table
class Sprinkle(_Projection):
    """Sprinkled LSI: class labels as extra terms draw documents of one class together.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import Sprinkle
    >>> X = np.random.default_rng(0).poisson(0.5, size=(30, 8))
    >>> Sprinkle(rank=2).fit(X, [0, 1] * 15).transform(X).shape[0]
    30
    """

    _stage = "sprinkle"
    _needs_labels = True


@from_table
class VarNorm(_Projection):
    """Removes the directions in which documents of one class differ most.

    The result is dense. For text, where it would be too large to write out, use it in a recipe (`tfidf | varnorm | knn`), which
    never does.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import VarNorm
    >>> VarNorm(components=1).fit(np.eye(4), [0, 0, 1, 1]).transform(np.eye(4)).shape
    (4, 4)
    """

    _stage = "varnorm"
    _needs_labels = True

    def _prepared(self, X):
        if not sparse.issparse(X):
            return X
        if 4 * X.shape[0] * X.shape[1] > LARGEST_DENSE:
            raise ValueError(
                f"what VarNorm makes of {X.shape[0]} × {X.shape[1]} sparse values is dense and too large; use it in a recipe, "
                "TextClassifier('tfidf | varnorm | knn') or TextVectorizer('tfidf | varnorm'), which does not write it out"
            )
        return X.toarray()


@from_table
class Discriminant(_Projection):
    """Linear discriminant analysis: the directions in which classes differ most against their own spread.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import Discriminant
    >>> X = np.random.default_rng(0).normal(size=(30, 5))
    >>> Discriminant().fit(X, [0, 1, 2] * 10).transform(X).shape
    (30, 2)
    """

    _stage = "discriminant"
    _needs_labels = True


@from_table
class DCoT(_Projection):
    """Denoising: documents beside what is reconstructed of them from documents with words taken out.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import DCoT
    >>> X = np.random.default_rng(0).poisson(0.5, size=(30, 8))
    >>> DCoT().fit(X).transform(X).shape[0]
    30
    """

    _stage = "dcot"
    _sparse_only = True


@from_table
class InformationGain(_Projection):
    """Keeps the columns that tell most about the label.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import InformationGain
    >>> X = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    >>> InformationGain(terms=1).fit(X, [0, 0, 1, 1]).get_feature_names_out().tolist()
    ['x0']
    """

    _stage = "ig"
    _needs_labels = True
    _sparse_only = True


@from_table
class LinearSVM(_Linear):
    """Linear support vector machine with calibrated probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import LinearSVM
    >>> LinearSVM().fit(np.eye(4), [0, 0, 1, 1]).predict(np.eye(4)).tolist()
    [0, 0, 1, 1]
    """

    _stage = "svm"


@from_table
class Logistic(_Linear):
    """Logistic regression.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import Logistic
    >>> Logistic().fit(np.eye(4), [0, 0, 1, 1]).predict(np.eye(4)).tolist()
    [0, 0, 1, 1]
    """

    _stage = "logistic"


@from_table
class KNN(_Classification):
    """The nearest neighbours vote.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import KNN
    >>> KNN(k=1).fit(np.eye(4), [0, 0, 1, 1]).predict(np.eye(4)).tolist()
    [0, 0, 1, 1]
    """

    _stage = "knn"
