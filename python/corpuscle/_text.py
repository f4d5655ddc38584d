"""Estimators over texts: a recipe as a scikit-learn classifier or transformer."""

import html
import json
import os
import re
import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from corpuscle import _native
from corpuscle._input import Classes, as_texts, encode, matrix_out, text_of
from corpuscle._run import run_of


@dataclass
class Explanation:
    """The terms behind a decision.

    Attributes
    ----------
    label : the class explained.
    score, probability : of that class; the probability is None for a model without.
    terms : list of (term, amount), strongest first.
    amounts : what the amounts are, in a line: "adds to the score" and the like.
    """

    label: object
    score: float
    probability: float | None
    terms: list = field(repr=False)
    amounts: str = ""
    weighing: str = ""

    def __str__(self):
        sure = "" if self.probability is None else f" ({100 * self.probability:.2f} %)"
        width = max([len(term) for term, _ in self.terms] + [4])
        lines = [f"{self.label}{sure}, score {self.score:.4f}", f"{'term':<{width}}  {self.amounts}"]
        return "\n".join(lines + [f"{term:<{width}}  {amount:+.4f}" for term, amount in self.terms])

    def to_pandas(self):
        """The terms as a frame."""
        import pandas

        return pandas.DataFrame(self.terms, columns=["term", "amount"])

    def to_polars(self):
        """The terms as a Polars frame."""
        import polars

        return polars.DataFrame(self.terms, schema=["term", "amount"], orient="row")

    def _repr_html_(self):
        sure = "" if self.probability is None else f" ({100 * self.probability:.2f} %)"
        rows = "".join(f"<tr><td>{html.escape(term)}</td><td>{amount:+.4f}</td></tr>" for term, amount in self.terms)
        head = f"<b>{html.escape(str(self.label))}</b>{sure}"
        return f"<p>{head}</p><table><tr><th>term</th><th>{html.escape(self.amounts)}</th></tr>{rows}</table>"


class _Recipe(BaseEstimator):
    """What both text estimators have in common."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = False
        tags.no_validation = True
        return tags

    def __sklearn_is_fitted__(self):
        return getattr(self, "_model", None) is not None

    def _work(self, work):
        with run_of(self) as run:
            return work(run)

    def _fitted(self):
        check_is_fitted(self)
        return self._model

    def save(self, path):
        """Writes the model's file, whole or not at all: the same file that the command ``corpuscle train`` writes.

        The file has the text of each class; :meth:`load` gives classes as text.
        """
        self._fitted().save(os.fspath(path))

    @property
    def recipe_(self):
        """The recipe that was fitted."""
        return self._fitted().recipe

    @property
    def notes_(self):
        """What was found and reached in fitting."""
        return dict(self._fitted().notes)

    def transform(self, X):
        """The documents as the recipe represents them: CSR where columns are sparse, else an array; 32-bit floats.

        A stage such as ``varnorm`` adds columns that count negatively in inner products; they are the last ones, and a warning
        says how many.
        """
        model = self._fitted()
        return self._matrix(self._work(lambda run: model.represent(as_texts(X), run)))

    @staticmethod
    def _matrix(parts):
        if parts[2]:
            warnings.warn(
                f"the last {parts[2]} columns count negatively: the inner product of two documents is that of the columns before "
                "them less that of these",
                stacklevel=3,
            )
        return matrix_out(parts)

    def get_feature_names_out(self, input_features=None):
        """Names of the columns of :meth:`transform`: terms, then the stage's name with a number."""
        model = self._fitted()
        some, rest, _ = self._work(lambda run: model.represent(as_texts([""]), run))
        names = model.feature_names[: some[3]] if some is not None else []
        stage = model.widths[-1][0]
        return np.asarray(names + [f"{stage}{number}" for number in range(0 if rest is None else rest.shape[1])], dtype=object)


def _has_probabilities(self):
    if self.__sklearn_is_fitted__():
        known = self._model.has_probabilities
    else:
        # A recipe that says it is not calibrated may turn out to have probabilities of its own; that is known when it is fitted.
        known = not isinstance(self.recipe, str) or not re.search(r"\bcalibrate=0\b", self.recipe)
    if not known:
        raise AttributeError(
            "this model has no probabilities: its classifier was not calibrated (`calibrate=0`, or too few documents of a class)"
        )
    return True


class TextClassifier(ClassifierMixin, _Recipe):
    """A recipe from texts to labels.

    Parameters
    ----------
    recipe : str or None, default=None
        A recipe ("words(stem=english) | tfidf | svm"), the name of a preset ("dcot"), or None to compare some on the documents
        within `budget` and fit the best.
    budget : float, default=20.0
        Seconds to look for a recipe when none is given.
    updatable : bool, default=False
        Whether the model keeps term counts and labels of its documents (no text), so that :meth:`update` can add more.
    precision : {"compact", "full"}, default="compact"
        How wide dense weights are kept.
    random_state : int or None, default=42
        Seed; same seed, same bits, at any number of threads. None is the default seed.
    n_jobs : int or None, default=None
        Threads of a call; None: one per core.
    verbose : bool, default=False
        Shows progress.

    Attributes
    ----------
    classes_ : array of the classes, of the type they were given in.
    recipe_ : the recipe that was fitted.
    seconds_ : seconds of each stage of the fit.

    Examples
    --------
    >>> from corpuscle import TextClassifier
    >>> texts = ["paper jam in the printer", "printer out of paper", "cannot log in", "forgot my password", "printer again"]
    >>> model = TextClassifier("tfidf | svm(calibrate=0)").fit(texts, ["hardware", "hardware", "login", "login", None])
    >>> model.predict(["my password is wrong"]).tolist()
    ['login']
    """

    def __init__(
        self,
        recipe=None,
        *,
        budget=20.0,
        updatable=False,
        precision="compact",
        random_state=_native.DEFAULT_SEED,
        n_jobs=None,
        verbose=False,
    ):
        self.recipe = recipe
        self.budget = budget
        self.updatable = updatable
        self.precision = precision
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.target_tags.required = True
        return tags

    def fit(self, X, y, sample_weight=None, *, sources=()):
        """Learns from texts and their labels.

        Parameters
        ----------
        X : texts: list, tuple, NumPy array, pandas, Polars or Arrow column, or a frame of one column.
        y : labels. None, NaN or -1 where a label is missing: such documents are learnt from as unlabelled ones. For several labels
            a document: an indicator matrix, or a list of labels for each.
        sample_weight : what each document counts.
        sources : names of the data files, to be kept in the model as the command does.
        """
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        texts = as_texts(X)
        target, classes = encode(y, len(texts), sample_weight)
        recipe = self.recipe
        if recipe is None:
            found = json.loads(self._work(lambda run: _native.recommend(texts, target, float(self.budget), run)))
            recipe, self.candidates_ = found["recipe"], found["candidates"]
        elif not isinstance(recipe, str):
            raise ValueError(f"recipe = {recipe!r} must be a recipe, the name of a preset, or None")
        if _native.check_recipe(recipe)[2] is None:
            raise ValueError(f"`{recipe}` is a representation only; end it with a classifier, such as `{recipe} | svm`")
        model, seconds = self._work(
            lambda run: _native.fit(recipe, texts, target, run, self.updatable, self.precision, list(sources))
        )
        self._take(model, classes)
        self.seconds_ = dict(seconds)
        return self

    def _take(self, model, classes):
        self._model, self._classes = model, classes
        self.classes_ = classes.values

    def predict(self, X):
        """The label of each text; for several labels in the form that was fitted, lists best first."""
        model = self._fitted()
        texts = as_texts(X)
        given = self._work(lambda run: model.labels(texts, run))
        return self._classes.decided(*given)

    def _scores(self, X):
        model = self._fitted()
        texts = as_texts(X)
        return self._work(lambda run: model.predict(texts, run))

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """The probability of each class, calibrated on held-out folds; with several labels, of each label by itself."""
        found = self._scores(X)[2]
        if found is None:
            raise AttributeError("this model has no probabilities: its classifier was not calibrated")
        return self._classes.columns(found)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X):
        """Logarithms of :meth:`predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X).astype(np.float64))

    def decision_function(self, X):
        """The score of each class, log-odds where held-out documents told what scores mean; with two classes half the second's lead."""
        found = self._scores(X)[1]
        scores = self._classes.columns(found)
        if self._classes.kind == "single" and scores.shape[1] == 2:
            return (scores[:, 1] - scores[:, 0]) / 2
        return scores

    def score(self, X, y, sample_weight=None):
        """The share of documents whose label, or whole list of labels, is right."""
        if getattr(self, "_classes", None) is not None and self._classes.kind == "lists":
            right = [set(found) == set(truth) for found, truth in zip(self.predict(X), y, strict=True)]
            return float(np.average(right, weights=sample_weight))
        return super().score(X, y, sample_weight)

    def explain(self, X, label=None, top=10):
        """The terms that speak most for or against a label: of the one predicted, or of `label`.

        One text gives an :class:`Explanation`, several a list of them. `top` limits the terms; None gives all.
        """
        model = self._fitted()
        number = None
        if label is not None:
            text = text_of(label)
            if text not in self._classes.names:
                raise ValueError(f"{label!r} is no class of this model")
            number = self._classes.names.index(text)
        texts = as_texts([X] if isinstance(X, str) else X)
        values = self._classes.values[self._classes.to_values]
        found = [
            Explanation(values[number], score, probability, terms[:top], line, word)
            for number, score, probability, word, line, terms in self._work(lambda run: model.explain(texts, run, number))
        ]
        return found[0] if isinstance(X, str) else found

    def update(self, X, y, sample_weight=None):
        """Adds documents: the model that fitting on old and new documents at once gives, with the vocabulary of the old ones.

        New classes are learnt. Needs ``updatable=True`` at the first fit.
        """
        model = self._fitted()
        texts = as_texts(X)
        target, new = encode(y, len(texts), sample_weight)
        if (new.kind == "single") != (self._classes.kind == "single"):
            raise ValueError("the first documents and the new ones must both have one label each, or both any number")
        model = self._work(lambda run: model.update(texts, target, run))
        known = {text_of(value): value for values in (new.values, self._classes.values) for value in values.tolist()}
        values = np.asarray([known[name] for name in model.classes])
        values = np.unique(values) if self._classes.kind in ("single", "lists") else np.sort(values)
        classes = Classes.of(values.astype(self._classes.values.dtype) if values.dtype.kind == "O" else values, self._classes.kind)
        place = {text_of(value): at for at, value in enumerate(classes.values)}
        classes.names = model.classes
        classes.to_values = np.array([place[name] for name in model.classes], dtype=np.intp)
        self._take(model, classes)
        return self

    @classmethod
    def load(cls, path, **parameters):
        """A model from its file; the file is checked whole and runs no code. Classes are text."""
        model = _native.Model.load(os.fspath(path))
        if model.classifier is None:
            raise ValueError(f"{path} is a representation only; TextVectorizer.load reads it")
        return cls._of(model, parameters)

    @classmethod
    def _of(cls, model, parameters):
        parameters = {"recipe": model.recipe, "updatable": model.is_updatable, "random_state": model.seed} | parameters
        loaded = cls(**parameters)
        classes = Classes.of(np.asarray(model.classes), "lists" if model.is_multi_label else "single")
        # A file's classes may stand in any order.
        classes.names = model.classes
        classes.to_values = np.arange(len(model.classes))
        loaded._take(model, classes)
        return loaded


class TextVectorizer(TransformerMixin, _Recipe):
    """A recipe from texts to a matrix.

    Parameters
    ----------
    recipe : str, default="tfidf"
        A recipe without a classifier at its end; one that has a classifier is cut before it.
    random_state, n_jobs, verbose
        As in :class:`TextClassifier`.

    Examples
    --------
    >>> from corpuscle import TextVectorizer
    >>> vectorizer = TextVectorizer("words(stem=english) | tfidf")
    >>> vectorizer.fit_transform(["printers print", "paper jams"]).shape
    (2, 4)
    >>> vectorizer.get_feature_names_out().tolist()
    ['jam', 'paper', 'print', 'printer']
    """

    def __init__(self, recipe="tfidf", *, random_state=_native.DEFAULT_SEED, n_jobs=None, verbose=False):
        self.recipe = recipe
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Learns from texts, and from labels where a stage needs some."""
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight):
        if not isinstance(self.recipe, str):
            raise ValueError(f"recipe = {self.recipe!r} must be a recipe or the name of a preset")
        texts = as_texts(X)
        target = _native.Target.none(len(texts)) if y is None else encode(y, len(texts), sample_weight)[0]
        self._model, seconds, rows = self._work(lambda run: _native.fit_representation(self.recipe, texts, target, run))
        self.seconds_ = dict(seconds)
        return rows

    def fit_transform(self, X, y=None, sample_weight=None):
        """Learns from texts and gives their matrix."""
        return self._matrix(self._fit(X, y, sample_weight))

    @classmethod
    def load(cls, path, **parameters):
        """A representation from a model's file, of a whole classifier too."""
        model = _native.Model.load(os.fspath(path))
        loaded = cls(**({"recipe": model.recipe, "random_state": model.seed} | parameters))
        loaded._model = model
        return loaded
