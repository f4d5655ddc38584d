"""Word vectors learnt from texts."""

import numpy as np
from sklearn.base import TransformerMixin

from corpuscle import _native
from corpuscle._input import as_texts
from corpuscle._params import from_table, values_of, written
from corpuscle._text import _Recipe


@from_table
class WordVectors(TransformerMixin, _Recipe):
    """Word vectors by skip-gram or CBOW; a text becomes the mean of those of its words.

    ``model["word"]`` is a vector, :meth:`most_similar` gives neighbours, ``words_`` and ``vectors_`` are all of them.

    Examples
    --------
    >>> from corpuscle import WordVectors, load_demo
    >>> model = WordVectors(dim=20, min_count=2, epochs=2).fit(load_demo()[0])
    >>> model["password"].shape
    (20,)
    >>> len(model.most_similar("password", 3))
    3
    """

    _stage = "average"
    verbose = False

    def fit(self, X, y=None):
        """Learns from texts."""
        recipe = written(self._stage, values_of(self))
        texts = as_texts(X)
        nothing = _native.Target.none(len(texts))
        self._model, _, _ = self._work(lambda run: _native.fit_representation(recipe, texts, nothing, run))
        words, self.vectors_ = self._model.word_vectors()
        self.words_ = np.asarray(words, dtype=object)
        return self

    def _place(self, word):
        self._fitted()
        found = np.flatnonzero(self.words_ == word)
        if not len(found):
            raise KeyError(word)
        return found[0]

    def __getitem__(self, word):
        return self.vectors_[self._place(word)]

    def most_similar(self, word, count=10):
        """The words nearest to one by cosine: ``[(word, cosine)]``."""
        at = self._place(word)
        lengths = np.linalg.norm(self.vectors_, axis=1)
        cosines = self.vectors_ @ self.vectors_[at] / np.maximum(lengths * lengths[at], 1e-12)
        nearest = [place for place in np.argsort(-cosines, kind="stable") if place != at][:count]
        return [(self.words_[place], float(cosines[place])) for place in nearest]
