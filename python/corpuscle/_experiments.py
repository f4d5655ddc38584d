"""Experiments on texts: recipes against each other, few labels, values for parameters, papers' tables."""

import json
import subprocess
import sys

import numpy as np

from corpuscle import _native
from corpuscle._input import as_texts, encode, listed, strata_of, texts_of
from corpuscle._result import Result, shown
from corpuscle._run import running, seed_of


def _documents(texts, labels):
    texts = as_texts(texts)
    return texts, encode(labels, len(texts))[0]


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
    texts, target = _documents(texts, labels)
    with running(random_state, n_jobs, verbose) as run:
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
    texts, target = _documents(texts, labels)
    with running(random_state, n_jobs, verbose) as run:
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
    if trials is None and budget is None:
        raise ValueError("say how long to search: trials, a number, or budget, seconds")
    texts, target = _documents(texts, labels)
    with running(random_state, n_jobs, verbose) as run:
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
        texts, labels = texts_of(texts), list(listed(labels))
        learnt = len(texts)
        texts, labels = texts + texts_of(test[0]), labels + list(listed(test[1]))
    texts, target = _documents(texts, labels)
    with running(random_state, n_jobs, verbose) as run:
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


def reproduce(name, data, *, quick=False, runs=None, random_state=42):
    """A paper's table or figure, ours beside theirs: what ``corpuscle reproduce`` finds.

    `name` is one of ``corpuscle reproduce --list``, or the path of a protocol; `data` the folder with the data. A row for each system and
    figure, at each point of what is varied; ``found`` is all that the command says, claims of the paper among it. `quick` makes few
    draws, `runs` so many.
    """
    call = [sys.executable, "-m", "corpuscle", "reproduce", str(name), "--data", str(data), "--json", "--quiet"]
    call += ["--seed", str(seed_of(random_state))] + (["--quick"] if quick else []) + (["--runs", str(runs)] if runs else [])
    done = subprocess.run(call, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip())
    found = json.loads(done.stdout)
    rows = list(_searched(found) if "collections" in found else _measured(found))
    title = found["protocol"]

    def picture():
        first = rows[0]["figure"]
        own = [row for row in rows if row["figure"] == first and row["mean"] is not None]
        if found.get("along") is None:
            bars = [(row["system"], row["mean"], "" if row["paper"] is None else f"paper: {shown(row['paper'])}") for row in own]
            return _native.bars(title, first, bars)
        series = []
        for system in dict.fromkeys(row["system"] for row in own):
            points = [row for row in own if row["system"] == system]
            line = [(float(row["at"] if isinstance(row["at"], int | float) else at), row["mean"]) for at, row in enumerate(points)]
            series.append((system, line, [row["deviation"] or 0.0 for row in points]))
        return _native.lines(title, found["along"], first, series, False)

    return Result(rows, title, picture if rows else None, found=found)


def _measured(found):
    for point in found["points"]:
        for system in point["systems"]:
            for figure, said in system["figures"].items():
                place = {} if found["along"] is None else {"at": point["at"]}
                figures = {name: said[name] for name in ("mean", "deviation", "paper")}
                yield {"system": system["name"], **place, "figure": figure, **figures, "recipe": system["recipe"]}


def _searched(found):
    for collection in found["collections"]:
        for system in collection["systems"]:
            paper = system["paper"] if isinstance(system["paper"], int | float) else None
            yield {"system": system["name"], "at": collection["name"], "figure": "map", "mean": system["map"], "paper": paper}


def cross_val_proba(texts, labels, recipe="tfidf-svm", *, folds=5, random_state=42, n_jobs=None, verbose=False):
    """Out-of-fold probabilities in one call, for tools that find label errors: ``(probabilities, classes)``.

    Every document is left out once, and the model of the others says how probable each class is. A missing label is None, NaN or -1: such
    documents are learnt from as unlabelled ones, and have probabilities too. Several labels a document are an indicator matrix or lists.

    >>> from corpuscle import cross_val_proba, load_demo
    >>> texts, labels, *_ = load_demo()
    >>> probabilities, classes = cross_val_proba(texts, labels, folds=2)
    >>> probabilities.shape == (len(texts), len(classes))
    True
    """
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.utils import _safe_indexing

    from corpuscle._text import TextClassifier

    texts, labels = texts_of(texts), listed(labels)
    _, classes = encode(labels, len(texts))
    strata = strata_of(labels) if classes.kind == "single" else None
    cut = (KFold if strata is None else StratifiedKFold)(folds, shuffle=True, random_state=seed_of(random_state))
    place = {name: at for at, name in enumerate(classes.texts())}
    probabilities = np.zeros((len(texts), len(place)), dtype=np.float32)
    for learnt, held in cut.split(texts, strata):
        model = TextClassifier(recipe, random_state=random_state, n_jobs=n_jobs, verbose=verbose)
        model.fit([texts[row] for row in learnt], _safe_indexing(labels, learnt))
        found = model.predict_proba([texts[row] for row in held])
        columns = [place[name] for name in model._classes.texts()]
        probabilities[held[:, None], columns] = found
    return probabilities, classes.values
