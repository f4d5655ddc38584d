"""scikit-learn's ``CountVectorizer`` and ``TfidfVectorizer``, counted by the core.

Settings that the core counts (words of the default pattern, n-grams of words, stop words, frequency bounds) go to it; for any other
(characters, accents, other patterns, a vocabulary handed in, files) the code inherited from scikit-learn counts, and so it does
wherever the core refuses, so that messages are scikit-learn's own. Callables are refused: they would run for every document.
"""

import json
import re
from numbers import Integral

import numpy as np
from sklearn.feature_extraction import text as _sklearn
from sklearn.utils.validation import check_is_fitted

from corpuscle import _native
from corpuscle._input import as_texts, matrix_out

_PATTERN = r"(?u)\b\w\w+\b"
_WORD = re.compile(r"\w+\Z")
# The longest run of words that the core counts as a term.
_LONGEST = 8


class _Counting:
    """What both have in common; it stands before scikit-learn's class."""

    def _settings(self):
        """The settings as JSON, or None where the core does not count."""
        self._refuse_callables()
        low, high = self.ngram_range
        usual = (
            self.input == "content"
            and self.strip_accents is None
            and self.analyzer == "word"
            and self.token_pattern == _PATTERN
            and self.vocabulary is None
            and isinstance(low, Integral)
            and isinstance(high, Integral)
            and 1 <= low <= high <= _LONGEST
        )
        if not usual:
            return None
        stop = self.stop_words
        if stop is not None and stop != "english":
            if not isinstance(stop, list) or not all(isinstance(word, str) and _WORD.match(word) for word in stop):
                return None
            stop = " ".join(stop) or None
        words = {"tokenizer": "sklearn", "lowercase": bool(self.lowercase)} | ({} if stop is None else {"stop": stop})
        terms = {"ngrams_min": int(low), "ngrams": int(high), "min_df": _bound(self.min_df), "max_df": _bound(self.max_df)}
        if self.max_features is not None:
            terms["max_features"] = int(self.max_features)
        stage, terms = self._weighed(terms)
        return json.dumps({"words": words, "stage": stage, "terms": terms})

    def _refuse_callables(self):
        for name in ("preprocessor", "tokenizer", "analyzer", "strip_accents"):
            if callable(getattr(self, name)):
                raise ValueError(
                    f"{name} is a callable, which would run for every document; use sklearn.feature_extraction.text."
                    f"{type(self).__name__} for that, or a recipe of TextVectorizer that does the same "
                    "('words(stem=english, stop=english) | tfidf')"
                )

    def _begin(self):
        self._validate_params()
        self._validate_ngram_range()
        self._warn_for_unused_params()
        self._validate_vocabulary()

    def _run(self):
        return _native.Run(_native.DEFAULT_SEED, 0)

    def _given(self, raw_documents):
        """The texts when the core can read them."""
        if isinstance(raw_documents, str):
            raise ValueError("Iterable over raw text documents expected, string object received.")
        try:
            return as_texts(raw_documents)
        except (TypeError, ValueError, UnicodeError):
            return None

    def _fit_natively(self, raw_documents):
        """The matrix, or None where scikit-learn's own code has to do it; then what is left of the documents."""
        self._terms = self._known = None
        settings = self._settings()
        if settings is None:
            return None, raw_documents
        if not hasattr(raw_documents, "__len__") and not isinstance(raw_documents, str):
            raw_documents = list(raw_documents)
        texts = self._given(raw_documents)
        if texts is None or not len(texts):
            return None, raw_documents
        self._begin()
        try:
            terms, parts = _native.Terms.fit(settings, texts, self._run())
        except ValueError:
            return None, raw_documents
        if not parts[0][3]:
            return None, raw_documents
        self._terms = terms
        return self._typed(parts), None

    def _typed(self, parts):
        X = matrix_out(parts)
        return X if X.dtype == self._dtype() else X.astype(self._dtype())

    @property
    def vocabulary_(self):
        """Terms and their columns."""
        if getattr(self, "_known", None) is None:
            if getattr(self, "_terms", None) is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute 'vocabulary_'")
            self._known = {term: column for column, term in enumerate(self._terms.feature_names)}
        return self._known

    @vocabulary_.setter
    def vocabulary_(self, vocabulary):
        self._known, self._terms = vocabulary, None

    def get_feature_names_out(self, input_features=None):
        """Terms by column."""
        if getattr(self, "_terms", None) is None:
            return super().get_feature_names_out(input_features)
        return np.asarray(self._terms.feature_names, dtype=object)

    def partial_fit(self, raw_documents, y=None):
        """Adds documents: afterwards it is fitted as on all documents so far at once.

        The counts of every term are kept; a frequency bound can only be applied to all of them.
        """
        settings = self._settings()
        if settings is None:
            raise ValueError("partial_fit counts words of the default pattern only; these settings need all documents at once")
        self._begin()
        if not hasattr(raw_documents, "__len__"):
            raw_documents = list(raw_documents)
        before = getattr(self, "_terms", None)
        before = before if before is not None and before.is_partial else None
        self._terms = _native.Terms.partial_fit(settings, as_texts(raw_documents), self._run(), before)
        self._known = None
        self._after_fit()
        return self

    def _after_fit(self):
        pass

    def _transform_natively(self, raw_documents):
        if getattr(self, "_terms", None) is None:
            return None, raw_documents
        if not hasattr(raw_documents, "__len__") and not isinstance(raw_documents, str):
            raw_documents = list(raw_documents)
        texts = self._given(raw_documents)
        if texts is None or not len(texts):
            return None, raw_documents
        return self._typed(self._terms.transform(texts, self._run())), None


def _bound(value):
    """A number of documents, or with a point a share of them."""
    return int(value) if isinstance(value, Integral) else repr(float(value))


class CountVectorizer(_Counting, _sklearn.CountVectorizer):
    """scikit-learn's ``CountVectorizer``, counted by the core.

    Parameters, attributes and results are scikit-learn's; callables are refused, and there is :meth:`partial_fit`.

    Examples
    --------
    >>> from corpuscle import CountVectorizer
    >>> CountVectorizer(ngram_range=(1, 2)).fit(["red apple", "green apple"]).get_feature_names_out().tolist()
    ['apple', 'green', 'green apple', 'red', 'red apple']
    """

    def _weighed(self, terms):
        return ("binary" if self.binary else "counts"), terms

    def _dtype(self):
        return np.dtype(self.dtype)

    def fit(self, raw_documents, y=None):
        """Learns the vocabulary."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents, y=None):
        """Learns the vocabulary and gives counts."""
        self._validate_params()
        X, rest = self._fit_natively(raw_documents)
        return super().fit_transform(rest) if X is None else X

    def transform(self, raw_documents):
        """Counts of documents."""
        X, rest = self._transform_natively(raw_documents)
        return super().transform(rest) if X is None else X


class TfidfVectorizer(_Counting, _sklearn.TfidfVectorizer):
    """scikit-learn's ``TfidfVectorizer``, counted and weighed by the core.

    Parameters, attributes and results are scikit-learn's, to the precision of 32-bit floats; callables are refused, and there is
    :meth:`partial_fit`.

    Examples
    --------
    >>> from corpuscle import TfidfVectorizer
    >>> TfidfVectorizer().fit_transform(["red apple", "green apple"]).shape
    (2, 3)
    """

    def _weighed(self, terms):
        norm = "none" if self.norm is None else self.norm
        weights = {"sublinear": self.sublinear_tf, "binary": self.binary, "idf": self.use_idf, "smooth_idf": self.smooth_idf}
        return "tfidf", terms | {name: bool(value) for name, value in weights.items()} | {"norm": norm}

    def _dtype(self):
        return np.dtype(self.dtype) if self.dtype in (np.float64, np.float32, np.float16) else np.dtype(np.float64)

    def _after_fit(self):
        self._tfidf = _sklearn.TfidfTransformer(
            norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
        )
        if self.use_idf:
            self._tfidf.idf_ = self._terms.idf.astype(self._dtype())

    @property
    def idf_(self):
        """Inverse document frequencies."""
        return _sklearn.TfidfVectorizer.idf_.fget(self)

    @idf_.setter
    def idf_(self, value):
        # From here on scikit-learn's code weighs.
        known = getattr(self, "_terms", None)
        if known is not None:
            self.vocabulary_ = self.vocabulary_
        _sklearn.TfidfVectorizer.idf_.fset(self, value)

    def fit(self, raw_documents, y=None):
        """Learns vocabulary and inverse document frequencies."""
        self.fit_transform(raw_documents)
        return self

    def fit_transform(self, raw_documents, y=None):
        """Learns vocabulary and inverse document frequencies and gives tf-idf."""
        self._validate_params()
        X, rest = self._fit_natively(raw_documents)
        if X is None:
            # scikit-learn's own methods call each other by name.
            self._check_params()
            self._tfidf = _sklearn.TfidfTransformer(
                norm=self.norm, use_idf=self.use_idf, smooth_idf=self.smooth_idf, sublinear_tf=self.sublinear_tf
            )
            X = _sklearn.CountVectorizer.fit_transform(self, rest)
            self._tfidf.fit(X)
            return self._tfidf.transform(X, copy=False)
        self._check_params()
        self._after_fit()
        return X

    def transform(self, raw_documents):
        """tf-idf of documents."""
        check_is_fitted(self, msg="The TF-IDF vectorizer is not fitted")
        X, rest = self._transform_natively(raw_documents)
        if X is None:
            return self._tfidf.transform(_sklearn.CountVectorizer.transform(self, rest), copy=False)
        return X
