"""Writes corpuscle/__init__.pyi: signatures of the public names, those of the matrix estimators from the library's table.

Run it after a parameter has changed, with the installed package (`python -P python/make_stubs.py`); a test says when it is due.
"""

import inspect
import pathlib

import corpuscle


HEAD = '''"""Made by make_stubs.py."""

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.feature_extraction import text as _sklearn

__version__: str
'''
TYPES = {
    "X": "Any",
    "y": "Any",
    "self": None,
    "path": "str | PathLike[str]",
    "recipe": "str | None",
    "random_state": "Any",
    "n_jobs": "int | None",
    "texts": "Any",
    "labels": "Any",
    "recipes": "Sequence[str]",
}
RETURNS = {
    "fit": "Self",
    "update": "Self",
    "partial_fit": "Self",
    "save": "None",
    "load": "Self",
    "predict_proba": "np.ndarray",
    "predict_log_proba": "np.ndarray",
    "decision_function": "np.ndarray",
    "get_feature_names_out": "np.ndarray",
    "score": "float",
    "explain": "Any",
    "transform": "Any",
    "fit_transform": "Any",
    "predict": "Any",
}


def argument(parameter):
    name = parameter.name
    kind = TYPES.get(name, "Any")
    if parameter.annotation is not inspect.Parameter.empty and isinstance(parameter.annotation, str):
        kind = parameter.annotation
    elif name not in TYPES and isinstance(parameter.default, bool | int | float | str):
        kind = type(parameter.default).__name__
    written = name if kind is None else f"{name}: {kind}"
    if parameter.kind is inspect.Parameter.VAR_KEYWORD:
        return f"**{name}: Any"
    return written if parameter.default is inspect.Parameter.empty else f"{written} = ..."


def signature(function, name):
    parameters = list(inspect.signature(function).parameters.values())
    arguments, starred = [], False
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            arguments.append("*")
            starred = True
        arguments.append(argument(parameter))
    returns = "None" if name == "__init__" else RETURNS.get(name, "Any")
    return f"def {name}({', '.join(arguments)}) -> {returns}: ..."


def class_stub(cls):
    bases = {"_Projection": "TransformerMixin, BaseEstimator", "_Classification": "ClassifierMixin, BaseEstimator"}
    home = [bases[base.__name__] for base in cls.__mro__ if base.__name__ in bases]
    known = {"TextClassifier": "ClassifierMixin, BaseEstimator", "TextVectorizer": "TransformerMixin, BaseEstimator"}
    above = home[0] if home else known.get(cls.__name__, "Exception" if issubclass(cls, Exception) else "")
    if cls.__name__ in ("CountVectorizer", "TfidfVectorizer"):
        above = f"_sklearn.{cls.__name__}"
    lines = [f"class {cls.__name__}({above}):" if above else f"class {cls.__name__}:"]
    members = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("corpuscle"):
            members |= vars(base)
    if not above.startswith("_sklearn"):
        if hasattr(cls, "classes_") or "ClassifierMixin" in above:
            lines.append("    classes_: np.ndarray")
        lines.append("    " + signature(cls.__init__, "__init__"))
    for name, member in members.items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            lines += ["    @property", f"    def {name}(self) -> Any: ..."]
        elif isinstance(member, classmethod):
            text = signature(member.__func__, name)
            lines += ["    @classmethod", f"    {text}"]
        elif callable(member) or hasattr(member, "fn"):
            lines.append("    " + signature(getattr(member, "fn", member), name))
    return "\n".join(lines) if len(lines) > 1 else lines[0] + " ..."


def stubs():
    parts = [HEAD]
    for name in corpuscle.__all__:
        value = getattr(corpuscle, name)
        parts.append(class_stub(value) if inspect.isclass(value) else signature(value, name))
    return "\n".join(parts) + "\n"


if __name__ == "__main__":

    (pathlib.Path(__file__).parent / "corpuscle" / "__init__.pyi").write_text(stubs(), encoding="utf-8")
