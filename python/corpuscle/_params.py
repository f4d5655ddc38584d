"""Constructors and docstrings made from the one table of parameters, which is the library's."""

import functools
import inspect
import keyword
from dataclasses import dataclass

from corpuscle import _native

# What every estimator has beside the parameters of its method: name -> (default, about, type).
COMMON = {
    "random_state": (_native.DEFAULT_SEED, "seed; same seed, same bits, at any number of threads", "int | None"),
    "n_jobs": (None, "threads of a call; None: one per core", "int | None"),
}


@dataclass(frozen=True)
class Parameter:
    name: str
    about: str
    kind: str
    words: tuple
    default: object

    def described(self):
        return {"default": self.default, "about": self.about, "kind": self.kind, "words": list(self.words)}

    @property
    def attribute(self):
        """Its name in Python, where a word such as ``lambda`` is taken."""
        return f"{self.name}_" if keyword.iskeyword(self.name) else self.name

    @property
    def type(self):
        kinds = {"whole": "int", "real": "float", "flag": "bool", "word": "str", "text": "str"}
        own = kinds[self.kind]
        return f"{own} | str" if self.words and own != "str" else own

    @property
    def choices(self):
        return " or ".join(([] if self.kind == "word" else [self.type.split(" | ")[0]]) + [repr(w) for w in self.words])


def _value(kind, text):
    for read in {"whole": (int,), "real": (int, float), "flag": ({"true": True, "false": False}.__getitem__,)}.get(kind, ()):
        try:
            value = read(text)
        except (KeyError, ValueError):
            continue
        return float(value) if kind == "real" and "." not in text and not text.isdigit() else value
    return text


@functools.cache
def _table():
    return {name: (kind, about, rows) for name, kind, about, rows in _native.stages() + _native.methods()}


@functools.cache
def parameters(stage):
    """The parameters of a stage; other ways to say the same are left out."""
    return tuple(
        Parameter(name, about, kind, tuple(words), _value(kind, default))
        for name, about, kind, words, default in _table()[stage][2]
        if default != ""
    )


def values_of(estimator):
    """The values of the parameters of an estimator's stage, by their names in the table."""
    return {p.name: getattr(estimator, p.attribute) for p in parameters(estimator._stage)}


def about(stage):
    """What a method does, in a line, and whether recipes have it as a stage."""
    kind, text, _ = _table()[stage]
    return f"The method ``{stage}``: {text}." if kind == "cluster" else f"The stage ``{stage}`` of recipes: {text}."


def arguments(stage, values):
    """The values of parameters as text."""

    def text(name, value):
        if hasattr(value, "item"):
            value = value.item()
        if isinstance(value, bool):
            value = "true" if value else "false"
        if not isinstance(value, str | int | float) or '"' in str(value):
            raise ValueError(f"{stage}: {name} = {value!r} must be a number, true, false or a word")
        return str(value)

    return {name: text(name, value) for name, value in values.items()}


def written(stage, values):
    """A stage with its arguments as recipes write them."""
    said = [f'{name}="{text}"' for name, text in arguments(stage, values).items()]
    return f"{stage}({', '.join(said)})"


def from_table(cls):
    """Gives an estimator the constructor and the docstring that the table of its stage says."""
    known = parameters(cls._stage)
    defaults = {p.attribute: p.default for p in known} | {name: default for name, (default, _, _) in COMMON.items()}

    def __init__(self, **given):
        unknown = set(given) - set(defaults)
        if unknown:
            raise TypeError(f"{cls.__name__}() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        for name, default in defaults.items():
            setattr(self, name, given.get(name, default))

    kinds = {p.attribute: p.type for p in known} | {name: kind for name, (_, _, kind) in COMMON.items()}
    only = inspect.Parameter.KEYWORD_ONLY
    signature = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    signature += [inspect.Parameter(name, only, default=default, annotation=kinds[name]) for name, default in defaults.items()]
    __init__.__signature__ = inspect.Signature(signature)
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    cls.__init__ = __init__
    lines = [f"    {p.attribute} : {p.choices}, default={p.default!r}\n        {p.about}" for p in known]
    lines += [f"    {name} : {kind}, default={default!r}\n        {text}" for name, (default, text, kind) in COMMON.items()]
    head = inspect.cleandoc(cls.__doc__ or "")
    first, _, rest = head.partition("\n")
    doc = [first, "", about(cls._stage), "", "Parameters", "----------"]
    doc += ["\n".join(line.removeprefix("    ") for line in entry.split("\n")) for entry in lines]
    cls.__doc__ = "\n".join(doc) + "\n" + (f"\n{rest.strip()}\n" if rest.strip() else "")
    return cls
