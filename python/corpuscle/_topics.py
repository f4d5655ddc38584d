"""What texts are about: the topics of a model, or of texts alone."""

import json

import numpy as np

from corpuscle import _native
from corpuscle._input import as_texts, encode, listed
from corpuscle._result import Result, Svg
from corpuscle._run import running

# Fits with other seeds by which it is told which topics come back.
OTHER_FITS = 4
# Words in names of topics.
FEW = 3


class Topics(Result):
    """Topics, heaviest first.

    ``rows`` has a row for each; ``shares`` how much of each topic, by its number, is in each document; ``documents`` the closest documents
    of each topic as ``(row, share)``; ``labels`` and ``over`` mean shares in the documents of a label or of a value; ``vectorizer`` the
    model, for other texts and for :meth:`TextVectorizer.save`.
    """

    def plot(self, kind="map"):
        """A picture: "map" of the topics, or their shares by "labels" or "over" the values that were given."""
        if kind == "map":
            discs = [
                (str(row["topic"]), self._name(row), tuple(place), row["weight"], f"Topic {row['topic']}: {row['words']}")
                for row, place in zip(self.rows, self.places, strict=True)
            ]
            return Svg(_native.bubbles(self.title, discs))
        groups = {"labels": self.labels, "over": self.over}.get(kind)
        if groups is None:
            raise ValueError(f"there is no picture {kind!r} of these topics: 'map', and 'labels' and 'over' where some were given")
        numbers = [row["topic"] for row in self.rows]
        columns = [
            (str(group["value"]), f"{group['documents']} documents", [group["shares"][number] for number in numbers]) for group in groups
        ]
        return Svg(_native.stacks(self.title, columns, [(str(row["topic"]), self._name(row)) for row in self.rows]))

    @staticmethod
    def _name(row):
        return ", ".join(row["words"].split()[:FEW])


def topics(
    texts,
    count=None,
    *,
    recipe=None,
    model=None,
    labels=None,
    over=None,
    words=10,
    documents=3,
    stable=False,
    random_state=_native.DEFAULT_SEED,
    n_jobs=None,
    verbose=False,
):
    """What texts are about: `count` topics by latent Dirichlet allocation, or those of a recipe or a fitted model that has some.

    A row for each topic: its number, its weight in all words, its most probable words, and how well these go together (NPMI from -1 to
    1, and UMass, nearer 0 is better). With `labels` a row also has the label whose documents have most of the topic; with `over`, a value
    of each text such as its date, shares are told along it; with `stable` it is told which topics come back in fits with other seeds.

    >>> from corpuscle import load_demo, topics
    >>> texts, labels, *_ = load_demo()
    >>> found = topics(texts, 5, labels=labels)
    >>> len(found), found.shares.shape == (len(texts), 5)
    (5, True)
    """
    if (count is not None) + (recipe is not None) + (model is not None) > 1:
        raise ValueError("give a count of topics, a recipe that has some, or a fitted model, not several of them")
    texts = as_texts(texts)
    target = _native.Target.none(len(texts)) if labels is None else encode(labels, len(texts))[0]
    known = None if model is None else model._fitted()
    recipe = recipe or (known.recipe if known else _native.topics_recipe(count))
    values = None if over is None else ["" if value is None else str(value) for value in listed(over)]
    if values is not None and len(values) != len(texts):
        raise ValueError(f"{len(texts)} texts have {len(values)} values to go along")
    fits = OTHER_FITS if stable else 0
    with running(random_state, n_jobs, verbose) as run:
        fitted, found, shares = _native.topics(texts, target, recipe, run, known, words, documents, fits, values)
    found = json.loads(found)
    rows = [_row(topic, found["labels"]) for topic in found["topics"]]
    return Topics(
        rows,
        f"{len(rows)} topics",
        shares=shares,
        documents={topic["topic"]: [tuple(pair) for pair in topic["documents"]] for topic in found["topics"]},
        labels=found["labels"],
        over=found["over"],
        places=[topic["place"] for topic in found["topics"]],
        vectorizer=_vectorizer(fitted) if model is None else model,
        recipe=found["recipe"],
    )


def _row(topic, labels):
    row = {"topic": topic["topic"], "weight": topic["weight"], "words": " ".join(topic["words"])}
    row |= {"npmi": topic["npmi"], "umass": topic["umass"]}
    if topic["comes_back"] is not None:
        row["comes_back"] = topic["comes_back"]
    if labels:
        at = int(np.argmax([group["shares"][topic["topic"]] for group in labels]))
        row |= {"label": labels[at]["value"], "label_share": labels[at]["shares"][topic["topic"]]}
    return row


def _vectorizer(fitted):
    from corpuscle._text import TextVectorizer

    vectorizer = TextVectorizer(fitted.recipe, random_state=fitted.seed)
    vectorizer._model = fitted
    return vectorizer
