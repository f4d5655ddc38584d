"""Texts, targets and matrices as the core takes them, and back."""

import numbers
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from corpuscle import _native


def as_texts(X):
    """Texts of any make; Arrow memory and the strings of a list are borrowed."""
    if isinstance(X, _native.Texts):
        return X
    if isinstance(X, str | bytes):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    if sparse.issparse(X):
        raise TypeError("texts are needed, not a sparse matrix; use LinearSVM, Logistic or KNN for matrices")
    if isinstance(X, list | tuple):
        return _native.Texts(X)
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) == 0:
        raise ValueError("Expected 1D array of texts, got scalar array instead")
    if shape is not None and len(shape) > 1 and (len(shape) > 2 or shape[1] != 1):
        raise ValueError(f"texts are one column, but this has the shape {tuple(shape)}; choose one")
    if isinstance(X, np.ndarray):
        return _native.Texts(X.ravel().tolist())
    if type(X).__module__.split(".")[0] == "pandas":
        series = X.iloc[:, 0] if X.ndim == 2 else X
        if series.dtype == object or not hasattr(series.array, "__arrow_array__"):
            return _native.Texts(series.tolist())
        X = series.array.__arrow_array__()
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"):
        try:
            return _native.Texts(X)
        except TypeError as error:
            # Before 1.5 Polars exports only when handed a schema.
            if "requested_schema" not in str(error):
                raise
            return _native.Texts(X.to_arrow())
    try:
        return _native.Texts(list(X))
    except TypeError as error:
        if "not iterable" in str(error):
            raise TypeError(f"texts are a list, an array or a column of str, not {type(X).__name__}") from None
        raise


def texts_of(X):
    """Texts of any make as a list."""
    return X if isinstance(X, list) else as_texts(X).to_list()


def listed(y):
    """Labels of any make as something whose rows can be picked: columns of Arrow and Polars as lists, anything else as it is."""
    for name in ("to_pylist", "to_list"):
        if not isinstance(y, np.ndarray) and hasattr(y, name) and not hasattr(y, "iloc"):
            return getattr(y, name)()
    return list(y) if isinstance(y, tuple) else y


def strata_of(y):
    """The text of each label, for folds with as many of each; of missing ones too."""
    return np.asarray(["\0" if is_missing(label) else text_of(label) for label in y])


@dataclass
class Classes:
    """The classes of a fitted estimator: as Python has them, and as the model numbers them."""

    values: np.ndarray
    """In scikit-learn's order."""
    names: list
    """Their text, in the order of the model."""
    to_values: np.ndarray
    """Number in the model -> place in `values`."""
    kind: str
    """What a target looks like: `single`, `indicator`, `sparse indicator` or `lists`."""

    @property
    def to_numbers(self):
        """Place in `values` -> number in the model."""
        return np.argsort(self.to_values)

    @classmethod
    def of(cls, values, kind):
        texts = [text_of(value) for value in values]
        if len(set(texts)) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise ValueError(f"two classes have the same text {twice!r}; a model file tells classes apart by their text")
        order = sorted(range(len(texts)), key=texts.__getitem__)
        return cls(values, [texts[place] for place in order], np.array(order, dtype=np.intp), kind)

    def texts(self):
        """The text of each class, in the order of `values`."""
        return [text_of(value) for value in self.values]

    def decided(self, starts, codes):
        """The targets of rows in the form that was fitted."""
        places = self.to_values[codes]
        if self.kind == "single":
            return self.values[places]
        if self.kind == "lists":
            labels = self.values[places].tolist()
            return [labels[a:b] for a, b in zip(starts[:-1], starts[1:], strict=True)]
        shape = (len(starts) - 1, len(self.values))
        found = sparse.csr_matrix((np.ones(len(places), dtype=np.int64), places, starts), shape=shape)
        found.sort_indices()
        return found if self.kind == "sparse indicator" else found.toarray()

    def columns(self, scores):
        """Columns in scikit-learn's order."""
        return scores[:, self.to_numbers] if len(self.values) else scores


def text_of(value):
    """The text of a class in a model file."""
    return str(value.item() if hasattr(value, "item") else value)


def is_missing(value):
    """None, NaN, NA or the number -1."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, numbers.Real | np.generic) and not isinstance(value, bool | np.bool_ | np.str_):
        return bool(value != value or value == -1)
    return False


def weights_of(sample_weight, n):
    if sample_weight is None:
        return None
    from sklearn.utils.validation import check_array, check_consistent_length

    if isinstance(sample_weight, numbers.Number):
        return np.full(n, sample_weight, dtype=np.float32)
    weights = check_array(sample_weight, ensure_2d=False, dtype=np.float32, input_name="sample_weight", order="C")
    if weights.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    check_consistent_length(weights, np.empty(n))
    if np.any(weights < 0):
        raise ValueError("Negative values in data passed to `sample_weight`")
    if not np.any(weights):
        raise ValueError("every weight is zero; give at least one document a positive weight")
    return np.ascontiguousarray(weights)


def encode(y, n, sample_weight=None, *, missing=True):
    """The target of `n` rows and its classes; with `missing`, rows without a label are unlabelled."""
    from sklearn.utils.validation import check_consistent_length

    if sparse.issparse(y):
        return _encode_indicator(y, n, sample_weight, np.arange(y.shape[1]), "sparse indicator", missing)
    columns = getattr(y, "columns", None)
    if missing and _has_nulls(y):
        # As an array, whole numbers with holes would become floats and flags objects.
        y = listed(y) if not hasattr(y, "iloc") else y.tolist()
    if not isinstance(y, np.ndarray) and hasattr(y, "to_numpy"):
        try:
            y = y.to_numpy()
        except Exception:  # pyarrow refuses to copy unless asked
            y = y.to_numpy(zero_copy_only=False)
    elif not isinstance(y, np.ndarray | list):
        y = np.asarray(y) if hasattr(y, "__array__") else list(y)
    if isinstance(y, list) and any(isinstance(row, list | tuple | set | frozenset) for row in y):
        if missing:
            check_consistent_length(y, range(n))
            return _encode_lists(y, n, sample_weight)
    array = np.asarray(y)
    if missing and isinstance(y, list) and array.dtype.kind == "U" and not all(isinstance(label, str) for label in y):
        # NumPy has made text of what stands for a missing label among names.
        array = np.empty(len(y), dtype=object)
        array[:] = y
    check_consistent_length(array, range(n))
    if array.ndim == 2 and array.shape[1] > 1:
        values = np.arange(array.shape[1]) if columns is None else np.asarray(columns)
        return _encode_indicator(array, n, sample_weight, values, "indicator", missing)
    if array.ndim != 1:
        from sklearn.utils.validation import column_or_1d

        array = column_or_1d(array, warn=True)
    if array.dtype == object and len(array) and isinstance(array[0], list | tuple | set | frozenset | np.ndarray) and missing:
        return _encode_lists(list(array), n, sample_weight)
    return _encode_single(array, n, sample_weight, missing, isinstance(y, list))


def _has_nulls(y):
    """Whether a column of pandas, Polars or Arrow has nulls of its own beside its values."""
    count = getattr(y, "null_count", None)
    if count is not None:
        return not hasattr(y, "columns") and (count() if callable(count) else count) > 0
    return hasattr(y, "isna") and getattr(y, "ndim", 2) == 1 and not isinstance(y.dtype, np.dtype) and bool(y.isna().any())


def _target(classes, starts, codes, labelled, sample_weight, n):
    weights = weights_of(sample_weight, n)
    starts, codes = np.asarray(starts, dtype=np.int64), np.asarray(codes, dtype=np.uint32)
    return _native.Target(classes.names, starts, codes, np.asarray(labelled, dtype=bool), weights), classes


def _encode_single(y, n, sample_weight, missing, was_list):
    from sklearn.utils.multiclass import check_classification_targets

    labelled = np.ones(n, dtype=bool)
    if missing and y.dtype.kind == "f":
        labelled = ~(np.isnan(y) | (y == -1))
    elif missing and y.dtype.kind == "i":
        labelled = y != -1
    elif missing and y.dtype == object:
        labelled = np.fromiter((not is_missing(value) for value in y), dtype=bool, count=n)
    known = y[labelled]
    if y.dtype == object and was_list:
        # A list with holes in it: its classes are of the kind they would be without.
        known = np.asarray(known.tolist())
    if not missing or y.dtype.kind == "f":
        check_classification_targets(known if len(known) else np.zeros(1, dtype=int))
    values, places = np.unique(known, return_inverse=True)
    classes = Classes.of(values, "single")
    starts = np.concatenate([[0], np.cumsum(labelled)])
    return _target(classes, starts, classes.to_numbers[places] if len(values) else [], labelled, sample_weight, n)


def _encode_lists(rows, n, sample_weight):
    labelled = [isinstance(row, list | tuple | set | frozenset | np.ndarray) or not is_missing(row) for row in rows]
    rows = [row if known else () for row, known in zip(rows, labelled, strict=True)]
    if any(isinstance(row, str) or not hasattr(row, "__iter__") for row in rows):
        raise ValueError("some labels are lists and some are not; give every document a list of its labels")
    distinct = sorted({label for row in rows for label in row})
    values = np.empty(len(distinct), dtype=object)
    values[:] = distinct
    if distinct and all(isinstance(label, str) for label in distinct):
        values = np.asarray(distinct)
    classes = Classes.of(values, "lists")
    numbers_of = dict(zip(distinct, classes.to_numbers.tolist(), strict=True))
    codes = [numbers_of[label] for row in rows for label in row]
    return _target(classes, np.cumsum([0] + [len(row) for row in rows]), codes, labelled, sample_weight, n)


def _encode_indicator(y, n, sample_weight, values, kind, missing):
    from sklearn.utils.validation import check_consistent_length

    check_consistent_length(y, np.empty(n))
    labelled = np.ones(n, dtype=bool)
    if kind == "indicator":
        if missing:
            numeric = np.asarray(y, dtype=np.float64)
            labelled = ~(np.isnan(numeric).any(axis=1) | (numeric == -1).all(axis=1))
            y = np.where(labelled[:, None], numeric, 0)
        if not np.isin(y, (0, 1)).all():
            raise ValueError("a target with several columns has a 1 where a document has the label and a 0 where it has not")
    known = sparse.csr_matrix(y)
    known.eliminate_zeros()
    known.sort_indices()
    classes = Classes.of(np.asarray(values), kind)
    return _target(classes, known.indptr, classes.to_numbers[known.indices], labelled, sample_weight, n)


def matrix_in(X):
    """A checked NumPy array or CSR matrix as the core takes it."""
    if sparse.issparse(X):
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        data = np.ascontiguousarray(X.data, dtype=np.float32)
        return (X.indptr.astype(np.int64), X.indices.astype(np.int32, copy=False), data, X.shape[1])
    return np.ascontiguousarray(X, dtype=np.float32)


def matrix_out(parts, *, dense=False):
    """The core's matrix as CSR, or as an array where no column is sparse or one is asked for."""
    some, rest, _ = parts
    if some is None:
        return rest
    indptr, indices, data, columns = some
    matrix = sparse.csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, columns), copy=False)
    matrix.has_canonical_format = True
    if dense:
        return matrix.toarray() if rest is None else np.hstack([matrix.toarray(), rest])
    return matrix if rest is None else sparse.hstack([matrix, sparse.csr_matrix(rest)], format="csr", dtype=np.float32)
