"""Statistics of a block of documents that add up over blocks.

A block has rows, the numbers of their classes and what each row counts; which documents are in it depends on their keys alone. A
statistic is made in 64-bit floats and rounded to a whole multiple of a step that the driver gives: whole numbers add up to the same
sum in whatever groups and order, so the result does not depend on the partitions.

Rows are sparse columns beside dense ones, as in the library. A block of 4 096 short documents meets a few thousand of all terms, so
what has a row for each column is made for the columns that the block meets (:class:`Rows`) and added up there.
"""

import numpy as np
from scipy import sparse

CHUNK = 512
"""Rows whose dense outputs are in memory at once."""


def whole(values, step):
    """Multiples of `step`, as whole numbers."""
    return np.rint(np.asarray(values, dtype=np.float64) / step).astype(np.int64)


def step_for(bound):
    """A power of two of which the largest sum is less than 2⁶¹ multiples."""
    return 2.0 ** (np.ceil(np.log2(max(bound, 1e-300))) - 61)


class Rows:
    """A part of an array: its rows `at`, all others being 0."""

    def __init__(self, at, values):
        self.at = at
        self.values = values


def add(total, part, shape, step):
    """Adds a statistic to a sum in whole multiples of the step; makes the sum where there is none."""
    if total is None:
        total = np.zeros(shape, dtype=np.int64)
    if isinstance(part, Rows):
        # No row is named twice.
        total[part.at] += whole(part.values, step)
    else:
        total += whole(part, step)
    return total


class Block:
    """Rows, classes and counts of some documents; rows without a label are last."""

    def __init__(self, columns, terms, rows, dense, negative, codes, counts):
        self.columns = columns
        """How many columns there are, sparse and dense."""
        self.terms = terms
        """The sparse columns that some row has, ascending."""
        self.rows = rows
        """Those columns, as CSR in 64-bit floats."""
        self.dense = dense
        """The dense columns; None where there are none."""
        self.negative = negative
        """How many of them, the last, count negatively in inner products."""
        self.codes = codes
        """The class of each of the first rows."""
        self.counts = counts
        """What each of them counts."""

    @property
    def labelled(self):
        """The rows that have a class."""
        known = len(self.codes)
        if known == self.rows.shape[0]:
            return self
        dense = None if self.dense is None else self.dense[:known]
        return Block(self.columns, self.terms, self.rows[:known], dense, self.negative, self.codes, self.counts)

    @property
    def at(self):
        """The columns that :meth:`back` has rows for."""
        if self.dense is None:
            return self.terms
        return np.concatenate([self.terms, np.arange(self.columns - self.dense.shape[1], self.columns)])

    def times(self, vectors):
        """X times vectors."""
        found = self.rows @ vectors[self.terms]
        if self.dense is not None:
            found += self.dense @ vectors[self.columns - self.dense.shape[1] :]
        return found

    def _transposed(self, rows, dense, parts):
        found = rows.T @ parts
        return found if dense is None else np.vstack([found, dense.T @ parts])

    def back(self, parts):
        """Xᵀ times what each document adds."""
        return Rows(self.at, self._transposed(self.rows, self.dense, parts))

    def squares_back(self, parts):
        """The same with the squares of X."""
        squares = self.rows.copy()
        squares.data = squares.data**2
        return Rows(self.at, self._transposed(squares, None if self.dense is None else self.dense**2, parts))

    def signs(self, classes):
        """1 for a document's class and −1 for the others."""
        signs = np.full((len(self.codes), classes), -1.0)
        signs[np.arange(len(self.codes)), self.codes] = 1.0
        return signs


def sizes(block, classes):
    """What the driver has to know of a block: see :class:`corpuscle.spark._distributed.Documents`."""
    n, known = block.rows.shape[0], len(block.codes)
    lengths = np.asarray(block.rows.multiply(block.rows).sum(axis=1)).ravel()
    signed, largest = lengths.copy(), np.abs(block.rows.data).max() if block.rows.nnz else 0.0
    if block.dense is not None and block.dense.size:
        squares = block.dense**2
        lengths = lengths + squares.sum(axis=1)
        positive = block.dense.shape[1] - block.negative
        signed += squares[:, :positive].sum(axis=1) - squares[:, positive:].sum(axis=1)
        largest = max(largest, np.abs(block.dense).max())
    most = np.sqrt(lengths.max()) if n else 0.0
    sums = [n, known, block.counts.sum(), lengths.sum(), signed.sum(), signed[:known].sum()]
    return np.array([most, largest, *sums, *np.bincount(block.codes, minlength=classes)], dtype=np.float64)


def column_moments(block):
    """For each column: in how many rows it stands, its sum, the sum of its squares."""
    ones = np.ones((block.rows.shape[0], 1))
    present = np.diff(block.rows.tocsc().indptr).astype(np.float64)[:, None]
    if block.dense is not None:
        present = np.vstack([present, np.full((block.dense.shape[1], 1), float(len(ones)))])
    return [Rows(block.at, present), block.back(ones), block.squares_back(ones)]


def class_sums(block, classes):
    """Of the labelled rows: the sum of each class (columns × classes), and the squares of each column."""
    known = block.labelled
    member = np.maximum(known.signs(classes), 0.0)
    return [known.back(member), known.squares_back(np.ones((len(known.codes), 1)))]


def gram_times(block, vectors):
    """XᵀX times vectors."""
    return [block.back(block.times(vectors))]


def class_gram_times(block, vectors, weights):
    """XᵀNX times vectors over the labelled rows, N the weight of each row's class."""
    known = block.labelled
    return [known.back(weights[known.codes][:, None] * known.times(vectors))]


def layer_moments(block, layers):
    """Sum and Gram matrix of the last layer's outputs; `layers` are weights as factors, and biases."""
    width = len(layers[-1][1])
    sums, gram = np.zeros(width), np.zeros((width, width))
    for z in _outputs(block, layers):
        sums += z.sum(axis=0)
        gram += z.T @ z
    return [sums, gram]


def layer_sums(block, layers):
    """The sum of the last layer's outputs."""
    return [sum((z.sum(axis=0) for z in _outputs(block, layers)), np.zeros(len(layers[-1][1])))]


def _outputs(block, layers):
    """The last layer's outputs, some rows at a time: tanh(W x + b), then the same of the layer before."""
    layers = [([factor.astype(np.float64) for factor in factors], bias) for factors, bias in layers]
    # Of the first factor, which has a row for each term, the block needs those of its own terms.
    layers[0][0][0] = layers[0][0][0][block.terms]
    for first in range(0, block.rows.shape[0], CHUNK):
        z = block.rows[first : first + CHUNK]
        for factors, bias in layers:
            for factor in factors:
                z = z @ factor
            z = np.tanh(z + bias)
        yield z


def _scores(block, weights):
    return block.times(weights[:-1]) + weights[-1]


def _with_bias(part, columns, bias):
    """Rows of columns and, last, of the constant."""
    return Rows(np.append(part.at, columns), np.vstack([part.values, bias]))


def _back(block, parts, factor):
    return _with_bias(block.back(parts), block.columns, factor * parts.sum(axis=0))


def _squares_back(block, parts, factor):
    return _with_bias(block.squares_back(parts), block.columns, factor * parts.sum(axis=0))


def hinge_loss(block, weights, price, constant):
    """Squared hinge of one problem per class: loss and sum of the dual's variables, gradient, diagonal of the Hessian."""
    block, weights = block.labelled, _with_constant(weights, constant)
    signs = block.signs(weights.shape[1])
    short = np.maximum(0.0, 1.0 - signs * _scores(block, weights))
    priced = price * block.counts[:, None]
    gradient = _back(block, -2.0 * priced * signs * short, constant)
    diagonal = _squares_back(block, 2.0 * priced * (short > 0), constant**2)
    losses = np.array([(priced * short**2).sum(), (2.0 * priced * short).sum()])
    return [losses, gradient, diagonal]


def hinge_curve(block, weights, direction, price, constant):
    """The Hessian of :func:`hinge_loss` times a direction."""
    block = block.labelled
    weights, direction = _with_constant(weights, constant), _with_constant(direction, constant)
    inside = block.signs(weights.shape[1]) * _scores(block, weights) < 1.0
    along = 2.0 * price * block.counts[:, None] * inside * _scores(block, direction)
    return [_back(block, along, constant)]


def _with_constant(weights, constant):
    """Weights of the columns, and the bias that the weight of a constant feature makes."""
    return np.vstack([weights[:-1], weights[-1] * constant])


def _shares(scores):
    top = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(axis=1, keepdims=True)
    return powers / total, (top + np.log(total)).ravel()


def softmax_loss(block, weights, price, constant):
    """Multinomial logistic loss: loss, gradient, diagonal of the Hessian."""
    block = block.labelled
    if not len(block.codes):
        return [np.zeros(1), np.zeros_like(weights), np.zeros_like(weights)]
    scores = _scores(block, weights)
    shares, logs = _shares(scores)
    rows = np.arange(len(block.codes))
    priced = price * block.counts
    loss = (priced * (logs - scores[rows, block.codes])).sum()
    off = shares.copy()
    off[rows, block.codes] -= 1.0
    diagonal = _squares_back(block, priced[:, None] * shares * (1.0 - shares), constant)
    return [np.array([loss]), _back(block, priced[:, None] * off, constant), diagonal]


def softmax_curve(block, weights, direction, price, constant):
    """The Hessian of :func:`softmax_loss` times a direction."""
    block = block.labelled
    if not len(block.codes):
        return [np.zeros_like(weights)]
    shares, _ = _shares(_scores(block, weights))
    along = _scores(block, direction)
    along = shares * (along - (shares * along).sum(axis=1, keepdims=True))
    return [_back(block, price * block.counts[:, None] * along, constant)]


def rows_of(indptr, indices, values, columns):
    """A CSR matrix over arrays."""
    return sparse.csr_matrix((values.astype(np.float64), indices, indptr), shape=(len(indptr) - 1, columns))
