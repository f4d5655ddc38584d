"""Statistics of a block of documents that add up over blocks.

A block has rows (CSR), the numbers of their classes and what each row counts; which documents are in it depends on their keys
alone. A statistic is made in 64-bit floats and rounded to a whole multiple of a step that the driver gives: whole numbers add up to
the same sum in whatever groups and order, so the result does not depend on the partitions.
"""

import numpy as np
from scipy import sparse


def whole(values, step):
    """Multiples of `step`, as whole numbers."""
    return np.rint(np.asarray(values, dtype=np.float64) / step).astype(np.int64)


def step_for(bound):
    """A power of two of which the largest sum is less than 2⁶¹ multiples."""
    return 2.0 ** (np.ceil(np.log2(max(bound, 1e-300))) - 61)


class Block:
    """Rows, classes and counts of some documents; rows without a label are last."""

    def __init__(self, rows, codes, counts):
        self.rows = rows
        """CSR in 64-bit floats."""
        self.codes = codes
        """The class of each of the first rows."""
        self.counts = counts
        """What each of them counts."""

    @property
    def labelled(self):
        return self.rows[: len(self.codes)]


def sizes(block):
    """Documents, labelled ones, what these count, squared length of all rows, the longest row, the largest entry."""
    lengths = np.asarray(block.rows.multiply(block.rows).sum(axis=1)).ravel()
    largest = np.abs(block.rows.data).max() if block.rows.nnz else 0.0
    most = np.sqrt(lengths.max()) if len(lengths) else 0.0
    return np.array([block.rows.shape[0], len(block.codes), block.counts.sum(), lengths.sum(), most, largest])


def column_sums(block):
    """The sum of all rows."""
    return [np.asarray(block.rows.sum(axis=0)).ravel()]


def gram_times(block, vectors):
    """XᵀX times vectors."""
    return [block.rows.T @ (block.rows @ vectors)]


def _scores(block, weights):
    return block.labelled @ weights[:-1] + weights[-1]


def _signs(block, classes):
    signs = np.full((len(block.codes), classes), -1.0)
    signs[np.arange(len(block.codes)), block.codes] = 1.0
    return signs


def _back(block, parts):
    """Rows of columns and, last, of the constant, from what each document adds."""
    return np.vstack([block.labelled.T @ parts, parts.sum(axis=0)])


def _squares_back(block, parts):
    squares = block.labelled.copy()
    squares.data = squares.data**2
    return np.vstack([squares.T @ parts, parts.sum(axis=0)])


def hinge_loss(block, weights, price, constant):
    """Squared hinge of one problem per class: loss and sum of the dual's variables, gradient, diagonal of the Hessian."""
    weights = _with_constant(weights, constant)
    signs = _signs(block, weights.shape[1])
    short = np.maximum(0.0, 1.0 - signs * _scores(block, weights))
    priced = price * block.counts[:, None]
    gradient = _back(block, -2.0 * priced * signs * short)
    diagonal = _squares_back(block, 2.0 * priced * (short > 0))
    losses = np.array([(priced * short**2).sum(), (2.0 * priced * short).sum()])
    return [losses, _scaled(gradient, constant), _scaled(diagonal, constant**2)]


def hinge_curve(block, weights, direction, price, constant):
    """The Hessian of :func:`hinge_loss` times a direction."""
    weights, direction = _with_constant(weights, constant), _with_constant(direction, constant)
    inside = _signs(block, weights.shape[1]) * _scores(block, weights) < 1.0
    along = 2.0 * price * block.counts[:, None] * inside * _scores(block, direction)
    return [_scaled(_back(block, along), constant)]


def _with_constant(weights, constant):
    """Weights of the columns, and the bias that the weight of a constant feature makes."""
    return np.vstack([weights[:-1], weights[-1] * constant])


def _scaled(rows, factor):
    rows[-1] *= factor
    return rows


def _shares(scores):
    top = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(axis=1, keepdims=True)
    return powers / total, (top + np.log(total)).ravel()


def softmax_loss(block, weights, price, constant):
    """Multinomial logistic loss: loss, gradient, diagonal of the Hessian."""
    if not len(block.codes):
        return [np.zeros(1), np.zeros_like(weights), np.zeros_like(weights)]
    scores = _scores(block, weights)
    shares, logs = _shares(scores)
    rows = np.arange(len(block.codes))
    priced = price * block.counts
    loss = (priced * (logs - scores[rows, block.codes])).sum()
    off = shares.copy()
    off[rows, block.codes] -= 1.0
    diagonal = _squares_back(block, priced[:, None] * shares * (1.0 - shares))
    return [np.array([loss]), _scaled(_back(block, priced[:, None] * off), constant), _scaled(diagonal, constant)]


def softmax_curve(block, weights, direction, price, constant):
    """The Hessian of :func:`softmax_loss` times a direction."""
    if not len(block.codes):
        return [np.zeros_like(weights)]
    shares, _ = _shares(_scores(block, weights))
    along = _scores(block, direction)
    along = shares * (along - (shares * along).sum(axis=1, keepdims=True))
    return [_scaled(_back(block, price * block.counts[:, None] * along), constant)]


def rows_of(indptr, indices, values, columns):
    """A CSR matrix over arrays."""
    return sparse.csr_matrix((values.astype(np.float64), indices, indptr), shape=(len(indptr) - 1, columns))
