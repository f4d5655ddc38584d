"""What there is: stages, presets and the embedded corpus."""

from corpuscle import _native


def stages():
    """Every stage of the recipe language: ``{name: {"kind", "about", "parameters"}}``.

    >>> stages()["lsi"]["parameters"]["rank"]["default"]
    100
    """
    from corpuscle._params import parameters

    return {
        name: {"kind": kind, "about": about, "parameters": {p.name: p.described() for p in parameters(name)}}
        for name, kind, about, _ in _native.stages()
    }


def presets():
    """Recipes with a name.

    >>> presets()["tfidf-svm"]
    'tfidf(sublinear=true) | svm'
    """
    return dict(_native.presets())


def load_demo():
    """The embedded corpus of 512 short help-desk messages: ``(texts, labels, new_texts, new_labels)``.

    >>> texts, labels, new, truth = load_demo()
    >>> len(texts) > len(new)
    True
    """
    texts, labels, test = _native.demo()
    at = test.index(True)
    return texts[:at], labels[:at], texts[at:], labels[at:]
