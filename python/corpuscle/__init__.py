"""Learn document representations and classify text on a CPU.

>>> from corpuscle import TextClassifier, load_demo
>>> texts, labels, new, truth = load_demo()
>>> model = TextClassifier("tfidf-svm").fit(texts, labels)
>>> model.score(new, truth) > 0.75
True

Estimators follow scikit-learn's rules; model files are those of the command ``corpuscle``. Importing this package is quick: what a
name needs is imported when it is first asked for.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

_HOMES = {
    "_text": ["Explanation", "TextClassifier", "TextVectorizer"],
    "_matrix": [
        *["LSI", "Sprinkle", "VarNorm", "Discriminant", "DCoT", "InformationGain", "GaussianMixture", "Dirichlet"],
        *["LinearSVM", "Logistic", "KNN", "Bayes"],
    ],
    "_words": ["WordVectors"],
    "_vectorizers": ["CountVectorizer", "TfidfVectorizer"],
    "_fasttext": ["train_supervised"],
    "_experiments": ["compare", "cross_val_proba", "label_curve", "recommend", "reproduce", "tune"],
    "_topics": ["topics"],
    "_search": ["SearchIndex", "search"],
    "_about": ["load_demo", "presets", "stages"],
    "_client": ["Client", "ClientError"],
    "_native": ["__version__"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(name for name in _HOME if not name.startswith("_"))


def __getattr__(name):
    try:
        home = _HOME[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(_import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted([*globals(), *_HOME])
