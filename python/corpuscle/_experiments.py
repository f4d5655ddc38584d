"""Experiments on texts: recipes against each other, few labels, values for parameters, papers' tables."""

import html
import json
import pathlib
import subprocess
import sys

import numpy as np

from corpuscle import _native
from corpuscle._input import as_texts, encode
from corpuscle._run import Bar, seed_of, threads_of


class Svg:
    """A picture: shown by notebooks, written by :meth:`save`."""

    def __init__(self, text):
        self.text = text

    def _repr_svg_(self):
        return self.text

    def save(self, path):
        """Writes the picture."""
        pathlib.Path(path).write_text(self.text, encoding="utf-8")


class Result:
    """Rows of an experiment.

    ``rows`` is a list of dicts; :meth:`to_pandas` and :meth:`to_polars` give frames, :meth:`plot` a picture.
    """

    def __init__(self, rows, title, picture=None, **more):
        self.rows = rows
        self.title = title
        self._picture = picture
        self.__dict__.update(more)

    def __len__(self):
        return len(self.rows)

    def to_pandas(self):
        """The rows as a frame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def to_polars(self):
        """The rows as a Polars frame."""
        import polars

        return polars.DataFrame(self.rows)

    def plot(self):
        """A picture of the rows."""
        if self._picture is None:
            raise ValueError(f"there is no picture of {self.title}")
        return Svg(self._picture())

    def __repr__(self):
        columns = list(self.rows[0]) if self.rows else []
        table = [columns] + [[_shown(row[name]) for name in columns] for row in self.rows]
        widths = [max(len(row[at]) for row in table) for at in range(len(columns))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]
        return "\n".join([self.title, *lines])

    def _repr_html_(self):
        columns = list(self.rows[0]) if self.rows else []
        head = "".join(f"<th>{html.escape(name)}</th>" for name in columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(_shown(row[name]))}</td>" for name in columns) + "</tr>" for row in self.rows
        )
        return f"<p>{html.escape(self.title)}</p><table><tr>{head}</tr>{body}</table>"


def _shown(value):
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _begin(texts, labels, random_state, n_jobs, verbose):
    texts = as_texts(texts)
    target, _ = encode(labels, len(texts))
    bar = Bar() if verbose else None
    return texts, target, _native.Run(seed_of(random_state), threads_of(n_jobs), bar)


def _spread(values):
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


FIGURES = ["accuracy", "micro_f1", "macro_f1", "represent_seconds", "train_seconds", "predict_seconds"]


def compare(texts, labels, recipes, *, folds=None, runs=10, train=0.5, random_state=42, n_jobs=None, verbose=False):
    """Recipes on the same splits: `folds` of them, or `runs` draws that learn from the share `train`.

    A row for each recipe: means over the splits, the deviation of the accuracy, and the p-value of a paired t-test against the best,
    corrected for all recipes.

    >>> from corpuscle import compare, load_demo
    >>> texts, labels, *_ = load_demo()
    >>> found = compare(texts, labels, ["tfidf-svm", "tfidf-knn"], runs=2)
    >>> found.best in ("tfidf-svm", "tfidf-knn")
    True
    """
    texts, target, run = _begin(texts, labels, random_state, n_jobs, verbose)
    found = json.loads(_native.compare(texts, target, list(recipes), run, folds, runs, train))
    rows = []
    for asked, outcomes, p in zip(recipes, found["recipes"], found["p"], strict=True):
        figures = {name: _spread([split[name] for split in outcomes["splits"]]) for name in FIGURES}
        row = {"recipe": asked, "accuracy": figures["accuracy"][0], "accuracy_deviation": figures["accuracy"][1]}
        rows.append(row | {name: figures[name][0] for name in FIGURES[1:]} | {"p": p})

    def picture():
        bars = [(row["recipe"], row["accuracy"], f"{100 * row['accuracy']:.2f} %") for row in rows]
        return _native.bars("Recipes compared", "accuracy", bars)

    splits = [outcomes["splits"] for outcomes in found["recipes"]]
    return Result(rows, "Recipes compared", picture, best=list(recipes)[found["best"]], splits=splits)


def recommend(texts, labels, *, budget=60.0, random_state=42, n_jobs=None, verbose=False):
    """The best of some recipes for these documents, found by cross-validation within `budget` seconds.

    >>> from corpuscle import load_demo, recommend
    >>> texts, labels, *_ = load_demo()
    >>> "|" in recommend(texts, labels, budget=2).recipe
    True
    """
    texts, target, run = _begin(texts, labels, random_state, n_jobs, verbose)
    found = json.loads(_native.recommend(texts, target, float(budget), run))
    rows = found["candidates"]

    def picture():
        measured = [row for row in rows if row["mean"] is not None]
        bars = [(row["recipe"], row["mean"], f"{100 * row['mean']:.2f} %") for row in measured]
        return _native.bars("Recipes tried", found["objective"], bars)

    return Result(rows, "Recipes tried", picture, recipe=found["recipe"], objective=found["objective"])


def tune(texts, labels, recipe, *, trials=None, budget=None, folds=5, random_state=42, n_jobs=None, verbose=False):
    """Values for the ranges of a recipe (``svm(c=0.1..10 log)``, ``tfidf(ngrams={1|2})``) by cross-validation.

    Give `trials`, a number, or `budget`, seconds, or both.

    >>> from corpuscle import load_demo, tune
    >>> texts, labels, *_ = load_demo()
    >>> tune(texts, labels, "tfidf | svm(c=0.1..10 log)", trials=3, folds=2).recipe.startswith("tfidf | svm")
    True
    """
    texts, target, run = _begin(texts, labels, random_state, n_jobs, verbose)
    if trials is None and budget is None:
        raise ValueError("say how long to search: trials, a number, or budget, seconds")
    found = json.loads(_native.tune(texts, target, recipe, run, trials, budget, folds))
    rows = []
    for number, trial in enumerate(found["trials"], 1):
        mean, deviation = _spread(trial["folds"]) if trial["folds"] else (None, None)
        row = {"trial": number, "mean": mean, "deviation": deviation, "seconds": trial["seconds"]}
        rows.append(row | dict(zip(found["names"], trial["values"], strict=True)) | {"recipe": trial["recipe"]})

    def picture():
        points = [(float(row["trial"]), row["mean"]) for row in rows if row["mean"] is not None]
        return _native.lines("Trials", "trial", found["objective"], [("mean of folds", points, [0.0] * len(points))], False)

    more = {"recipe": found["recipe"], "objective": found["objective"], "exhausted": found["exhausted"]}
    return Result(rows, "Trials", picture, **more)


def label_curve(
    texts, labels, recipes, counts, *, test=None, draws=5, train=0.5, random_state=42, n_jobs=None, verbose=False
):
    """What recipes do with few labels: `counts` of them are kept (None: all), each drawn `draws` times.

    The documents without a kept label are learnt from as unlabelled ones. `test` is a pair of texts and labels to test on; without it
    the share `train` is learnt from and the rest tested on.

    >>> from corpuscle import label_curve, load_demo
    >>> texts, labels, new, truth = load_demo()
    >>> found = label_curve(texts, labels, ["tfidf-svm"], [20, None], test=(new, truth), draws=2)
    >>> [row["labels"] for row in found.rows][0]
    20
    """
    learnt = None
    if test is not None:
        texts, labels = list(texts), list(labels)
        learnt = len(texts)
        texts, labels = texts + list(test[0]), labels + list(test[1])
    texts, target, run = _begin(texts, labels, random_state, n_jobs, verbose)
    found = json.loads(_native.label_curve(texts, target, list(recipes), list(counts), run, draws, learnt, train))
    rows = []
    for asked, curve in zip(recipes, found["recipes"], strict=True):
        for point in curve["points"]:
            mean, deviation = _spread([draw["accuracy"] for draw in point["draws"]])
            macro = _spread([draw["macro_f1"] for draw in point["draws"]])[0]
            row = {"recipe": asked, "labels": point["labels"], "accuracy": mean, "accuracy_deviation": deviation}
            rows.append(row | {"macro_f1": macro})

    def picture():
        series = []
        for recipe in recipes:
            own = [row for row in rows if row["recipe"] == recipe]
            points = [(float(row["labels"]), row["accuracy"]) for row in own]
            series.append((recipe, points, [row["accuracy_deviation"] for row in own]))
        return _native.lines("Accuracy with few labels", "labels", "accuracy", series, True)

    return Result(rows, "Accuracy with few labels", picture)


def reproduce(name, data, *, quick=False):
    """A paper's table or figure, ours beside theirs: what ``corpuscle reproduce`` says, as it says it with ``--json``.

    `name` is one of ``corpuscle reproduce --list``, or the path of a protocol; `data` the folder with the data.
    """
    call = [sys.executable, "-m", "corpuscle", "reproduce", str(name), "--data", str(data), "--json", "--quiet"]
    done = subprocess.run(call + (["--quick"] if quick else []), capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    found = json.loads(done.stdout)
    rows = found.get("systems") or found.get("points") or []
    return Result([{k: v for k, v in row.items() if not isinstance(v, dict | list)} for row in rows], str(name), found=found)


def cross_val_proba(texts, labels, recipe="tfidf-svm", *, folds=5, random_state=42, n_jobs=None):
    """Out-of-fold probabilities in one call, for tools that find label errors: ``(probabilities, classes)``.

    >>> from corpuscle import cross_val_proba, load_demo
    >>> texts, labels, *_ = load_demo()
    >>> probabilities, classes = cross_val_proba(texts, labels, folds=2)
    >>> probabilities.shape == (len(texts), len(classes))
    True
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    from corpuscle._text import TextClassifier

    classifier = TextClassifier(recipe, random_state=random_state, n_jobs=n_jobs)
    cut = StratifiedKFold(folds, shuffle=True, random_state=seed_of(random_state))
    return cross_val_predict(classifier, texts, labels, cv=cut, method="predict_proba"), np.unique(labels)
