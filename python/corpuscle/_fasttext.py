"""A call in the shape of fastText's."""

from corpuscle._text import TextClassifier


class _Supervised:
    """What ``train_supervised`` gives: fastText's `predict`, `test`, `get_labels` and `save_model` over a :class:`TextClassifier`."""

    def __init__(self, classifier, prefix):
        self.classifier = classifier
        self.prefix = prefix

    @property
    def labels(self):
        return self.get_labels()

    def get_labels(self):
        """Every label with its prefix."""
        return [f"{self.prefix}{label}" for label in self.classifier.classes_]

    def predict(self, text, k=1, threshold=0.0):
        """The `k` likeliest labels and their probabilities, for one text or a list of them."""
        import numpy as np

        one = isinstance(text, str)
        found = self.classifier.predict_proba([text] if one else text)
        order = np.argsort(-found, axis=1, kind="stable")[:, : k if k > 0 else None]
        names = np.asarray(self.get_labels(), dtype=object)
        labels, shares = [], []
        for row, best in zip(found, order, strict=True):
            best = best[row[best] >= threshold]
            labels.append(tuple(names[best]))
            shares.append(row[best].astype(np.float64))
        return (labels[0], shares[0]) if one else (labels, shares)

    def test(self, path, k=1):
        """Number of documents, precision and recall at `k` on a file of `__label__` lines."""
        texts, labels = read_labelled(path, self.prefix)
        found, _ = self.predict(texts, k=k)
        right = sum(len({f"{self.prefix}{l}" for l in truth} & set(given)) for truth, given in zip(labels, found, strict=True))
        given, true = sum(map(len, found)), sum(map(len, labels))
        return len(texts), right / max(given, 1), right / max(true, 1)

    def save_model(self, path):
        """Writes the model's file."""
        self.classifier.save(path)


def read_labelled(path, prefix="__label__"):
    """Texts and lists of labels of a file with a document a line, labels marked by `prefix`."""
    texts, labels = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if not words:
                continue
            labels.append([word[len(prefix) :] for word in words if word.startswith(prefix)])
            texts.append(" ".join(word for word in words if not word.startswith(prefix)))
    return texts, labels


def train_supervised(input, recipe="bigram-svm", *, label="__label__", wordNgrams=None, seed=None, thread=None, **others):
    """Trains on a file of `__label__` lines, in the shape of fastText's call.

    Parameters
    ----------
    input : path of a file with a document a line, labels marked by `label`.
    recipe : what is trained, default "bigram-svm".
    wordNgrams : if given, the longest runs of words, in "tfidf(ngrams=…, sublinear=true) | svm".
    seed, thread : as in fastText.
    others : fastText's settings of its network (`lr`, `dim`, `epoch`, …) have no counterpart and are refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from corpuscle import train_supervised
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "train.txt"
    >>> _ = file.write_text("__label__a red apple\\n__label__b blue sky\\n" * 8)
    >>> train_supervised(str(file)).predict("an apple")[0]
    ('__label__a',)
    """
    if others:
        raise TypeError(f"{', '.join(sorted(others))}: settings of fastText's network; a recipe says what is trained here")
    texts, labels = read_labelled(input, label)
    if wordNgrams is not None:
        recipe = f"tfidf(ngrams={int(wordNgrams)}, sublinear=true) | svm"
    single = all(len(own) == 1 for own in labels)
    classifier = TextClassifier(recipe, random_state=seed, n_jobs=thread)
    return _Supervised(classifier.fit(texts, [own[0] for own in labels] if single else labels), label)
