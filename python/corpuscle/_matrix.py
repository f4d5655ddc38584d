"""The methods on matrices: projections and classifiers as scikit-learn estimators, constructors from the library's table."""

import json
import re
import warnings
from collections.abc import Mapping

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from corpuscle import _native
from corpuscle._input import encode, is_missing, matrix_in, matrix_out
from corpuscle._params import arguments, from_table, values_of, written
from corpuscle._run import run_of

# Bytes of an array that a method whose result is dense may make of a sparse matrix.
LARGEST_DENSE = 2**31


class _Stage(BaseEstimator):
    _stage = None
    # Fewest rows to learn from.
    _fewest = 2
    # Whether the method works on sparse columns alone; an array is then read as one and comes back as one.
    _sparse_only = False
    # Whether what comes out is dense whatever goes in, so that sparse rows are written out first; and what is said when they are too many.
    _dense_only = None
    # Whether values must not be negative.
    _positive_only = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self._positive_only
        return tags

    def __sklearn_is_fitted__(self):
        return getattr(self, "_fitted", None) is not None

    def _values(self):
        return values_of(self)

    def _checked(self, X, *, reset):
        fewest = self._fewest if reset else 1
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float32, np.float64], ensure_min_samples=fewest
        )
        if self._positive_only:
            check_non_negative(X, type(self).__name__)
        if self._dense_only is None or not sparse.issparse(X):
            return X
        if 4 * X.shape[0] * X.shape[1] > LARGEST_DENSE:
            name = type(self).__name__
            raise ValueError(f"{name} writes out {X.shape[0]} × {X.shape[1]} sparse values, which are too many; {self._dense_only}")
        return X.toarray()

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
        with run_of(self) as run:
            self._fitted, rows = self._fit_rows(self._given(X), target, run, names)
        return rows

    def _fit_rows(self, rows, target, run, names):
        return _native.fit_method(written(self._stage, self._values()), rows, target, run, names)

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
        some, rest, _ = self._learn(X, target)
        self._n_named = some[3] if some is not None else 0
        self._n_features_out = self._n_named + (rest.shape[1] if rest is not None else 0)
        return self

    def transform(self, X):
        """What becomes of the rows of X: an array, or CSR where X is and columns stay sparse."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        with run_of(self) as run:
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
    known = self._fitted.has_probabilities if self.__sklearn_is_fitted__() else self._own_probabilities or self.calibrate != 0
    if not known:
        raise AttributeError("no probabilities: the classifier was not calibrated (`calibrate=0`, or too few rows of a class)")
    return True


class _Classification(ClassifierMixin, _Stage):
    # Whether the method has probabilities without being calibrated.
    _own_probabilities = True

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
        """Learns from the rows of X and their labels: one each, or an indicator matrix.

        With ``self_training=True`` or ``em=True`` the label of a row may be missing: None, NaN or -1. Elsewhere -1 is a class.
        """
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        X = self._checked(X, reset=True)
        missing = any(str(getattr(self, name, False)).lower() != "false" for name in ("self_training", "em"))
        y = y if missing else _finite(y)
        if self._weighs_by_hand():
            by_class = self._weights_by_class(y, missing)
            sample_weight = by_class if sample_weight is None else by_class * np.asarray(sample_weight)
        target, self._classes = encode(y, X.shape[0], sample_weight, missing=missing)
        self.classes_ = self._classes.values
        if len(self.classes_) < 2:
            raise ValueError(f"This solver needs samples of at least 2 classes in the data, but the data has {len(self.classes_)} class")
        self._learn(X, target)
        return self

    def _weights_by_class(self, y, missing):
        from sklearn.utils.class_weight import compute_sample_weight

        if not missing:
            return compute_sample_weight(self.class_weight, y)
        known = [at for at, label in enumerate(y) if not is_missing(label)]
        weights = np.ones(len(y))
        weights[known] = compute_sample_weight(self.class_weight, [y[at] for at in known])
        return weights

    def _said(self, X):
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        with run_of(self) as run:
            return self._fitted.predict(self._given(X), run)

    def predict(self, X):
        """The label of each row, or an indicator matrix where one was fitted."""
        return self._classes.decided(*self._said(X)[0]) if self.__sklearn_is_fitted__() else check_is_fitted(self)

    def decision_function(self, X):
        """The score of each class, log-odds where held-out rows told what scores mean; with two classes half the second's lead."""
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

    @property
    def n_iter_(self):
        """Steps of the solver, the most of any class; of a method without one the pass over the rows, and rounds after it."""
        notes = self.notes_
        steps = re.match(r"\d+", notes.get("solver", ""))
        rounds = re.match(r"\d+", notes.get("expectation maximisation", ""))
        return int(steps[0]) if steps else 1 + int(rounds[0] if rounds else 0)

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

    What comes out has ``rank`` + 1 columns: the last is the length of what a new row has outside the space of the training rows, so that
    cosines and distances to them are those of whole rows; it is 0 for training rows. With ``fold_in=True`` it is 0 everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import Sprinkle
    >>> X = np.random.default_rng(0).poisson(0.5, size=(30, 8))
    >>> Sprinkle(rank=2).fit(X, [0, 1] * 15).transform(X).shape
    (30, 3)
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

    _dense_only = (
        "use it in a recipe, TextClassifier('tfidf | varnorm | knn') or TextVectorizer('tfidf | varnorm'), which does not write it out"
    )


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
    _own_probabilities = False


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


@from_table
class Bayes(_Linear):
    """Multinomial naive Bayes, by expectation maximisation also from rows without a label.

    Values must not be negative: counts, presence, tf-idf. With ``em=True`` a missing label is None, NaN or -1.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import Bayes
    >>> Bayes().fit(np.eye(4), [0, 0, 1, 1]).predict(np.eye(4)).tolist()
    [0, 0, 1, 1]
    """

    _stage = "bayes"
    _sparse_only = True
    _positive_only = True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # As scikit-learn's own: rows that are no counts are told apart badly.
        tags.classifier_tags.poor_score = True
        return tags


@from_table
class GaussianMixture(_Projection):
    """A mixture of Gaussians: soft clusters of rows, such as word vectors.

    A row becomes the probabilities of the components; :meth:`predict` is the most probable one.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import GaussianMixture
    >>> X = np.array([[0.0], [0.2], [0.1], [5.0], [5.2], [5.1]])
    >>> found = GaussianMixture(clusters=2).fit_predict(X)
    >>> bool(found[0] == found[1] == found[2] != found[3])
    True
    """

    _stage = "mixture"
    _dense_only = "give rows of fewer columns, such as those of LSI or WordVectors"

    def _fit_rows(self, rows, target, run, names):
        return _native.Mixture.fit(json.dumps(arguments(self._stage, self._values())), rows, run)

    def predict(self, X):
        """The number of the most probable component of each row."""
        return self.transform(X).argmax(axis=1)

    def fit_predict(self, X, y=None):
        """Learns from the rows of X and gives their components."""
        return self.fit(X).predict(X)

    @property
    def means_(self):
        """The mean of each component, a row each."""
        check_is_fitted(self)
        return self._fitted.means

    @property
    def weights_(self):
        """The share of each component; they add up to 1."""
        check_is_fitted(self)
        return self._fitted.weights

    @property
    def converged_(self):
        """Whether the steps ended because they changed little."""
        check_is_fitted(self)
        return self._fitted.converged

    @property
    def n_iter_(self):
        """Steps taken."""
        return len(self.likelihoods_)

    @property
    def likelihoods_(self):
        """The mean log-likelihood of a row before each step."""
        check_is_fitted(self)
        return list(self._fitted.likelihoods)


@from_table
class Dirichlet(_Projection):
    """Topics of a matrix of counts: latent Dirichlet allocation.

    A row becomes its shares of topics. ``components_`` is how probable each column is in each topic, ``weights_`` the share of each topic
    in all counts. Values are counts: whole numbers from 0. Others are rounded, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from corpuscle import Dirichlet
    >>> X = np.array([[3, 2, 0, 0], [0, 0, 2, 3]] * 10)
    >>> Dirichlet(topics=2).fit(X).transform(X).shape
    (20, 2)
    """

    _stage = "dirichlet"
    _fewest = 1
    _sparse_only = True
    _positive_only = True

    def _checked(self, X, *, reset):
        X = super()._checked(X, reset=reset)
        values = X.data if sparse.issparse(X) else X
        whole = np.rint(values)
        if np.array_equal(whole, values):
            return X
        warnings.warn("Dirichlet counts: values that are no whole numbers are rounded", stacklevel=3)
        return sparse.csr_matrix((whole, X.indices, X.indptr), shape=X.shape) if sparse.issparse(X) else whole

    def _fit_rows(self, rows, target, run, names):
        return _native.Dirichlet.fit(json.dumps(arguments(self._stage, self._values())), rows, run)

    @property
    def components_(self):
        """The probability of each column in each topic, a row for each topic; 0 for columns that were left out."""
        check_is_fitted(self)
        return self._fitted.words()

    @property
    def weights_(self):
        """The share of each topic in all counts that were learnt from."""
        check_is_fitted(self)
        return self._fitted.weights
