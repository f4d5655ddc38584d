"""Projections fitted by sums over documents; each gives what :func:`corpuscle._native.assemble` takes.

Rows may have columns that count negatively (after `varnorm`): a row (x, a) stands for x − Na, with a = Nᵀx and N orthonormal. The
iterations here go over vectors u of the space of x, and :class:`Space` writes them as weights of all columns and back, so that no
method has to know.
"""

import warnings

import numpy as np

from corpuscle import _native
from corpuscle.spark import _dcot, _solve

RIDGE_TOLERANCE = 1e-7
"""Relative residual of the ridge regression behind discriminant analysis."""


class Space:
    """Vectors u of the columns that count as they are, and their weights in all columns."""

    def __init__(self, removed=None):
        self.removed = removed
        """N: the directions that were removed, as columns; None where there are none."""

    def weights(self, vectors):
        """The weights w of all columns with w·(x, a) = u·(x − Na)."""
        return vectors if self.removed is None else np.vstack([vectors, -self.removed.T @ vectors])

    def back(self, sums):
        """What sums over all columns are in this space: the transpose of :meth:`weights`."""
        if self.removed is None:
            return sums
        columns = self.removed.shape[0]
        return sums[:columns] - self.removed @ sums[columns:]

    def inside(self, vectors):
        """The vectors without the directions that were removed."""
        return vectors if self.removed is None else vectors - self.removed @ (self.removed.T @ vectors)

    def without(self, vectors):
        """The space with more directions removed."""
        return Space(vectors if self.removed is None else np.hstack([self.removed, vectors]))


def single(vectors):
    """Vectors as the model file has them."""
    return np.ascontiguousarray(vectors, dtype=np.float32)


def signed(vectors):
    """The sign that the library gives: the largest entry is positive."""
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    return vectors * np.where(signs == 0, 1.0, signs)


def ig(held, arguments, given):
    """The terms that say most about the classes: counts of documents by term and class, the same bits as on one machine."""
    projection, _ = _native.Projection.ig(int(arguments["terms"]), held.gains(given.classes), given.run)
    return projection, Space()


def normalize(held, arguments, given):
    """Nothing is learnt but how many columns there are."""
    return _native.Projection.normalize(held.columns), held.space


def lsi(held, arguments, given):
    """The leading singular vectors: block Lanczos on XᵀX."""
    rank = int(arguments["rank"])
    values, vectors = _solve.leading(held.gram, held.inner, rank, given.seed)
    values = np.sqrt(values)
    alive = values > 1e-7 * max(values[0], 1e-300)
    values, vectors = values[alive], vectors[:, alive]
    if not len(values):
        raise ValueError("lsi: the matrix holds only zeros, so there is nothing to project on")
    if len(values) < rank:
        warnings.warn(f"lsi: the matrix has {len(values)} dimensions, so {len(values)} are kept and not {rank}", stacklevel=2)
    mean = held.space.back(held.column_moments()[1]) / held.documents
    spread = held.squares / held.documents - float((mean**2).sum())
    along = (vectors.T @ mean).ravel() ** 2
    explained = np.maximum(values**2 / held.documents - along, 0.0) / spread if spread > 0 else np.zeros(len(values))
    return _native.Projection.lsi(single(held.space.weights(signed(vectors))), values, explained), Space()


def varnorm(held, arguments, given):
    """The leading eigenvectors of S = Σ_c n_c Σ_{i∈c} (x_i − μ_c)(x_i − μ_c)ᵀ = XᵀNX − Σ_c s_c s_cᵀ.

    N is the size of each document's class and s_c the sum of class c, so a product with S is a sum over blocks and C inner products.
    """
    wanted, counts = int(arguments["components"]), held.class_counts
    if not counts.sum():
        raise ValueError(f"`varnorm` needs labels; none of the {held.documents} documents has one")
    sums, _ = held.class_sums()

    def times(vectors):
        return held.class_gram(vectors, counts) - sums @ (sums.T @ vectors)

    values, vectors = _solve.leading(times, held.inner, wanted, given.seed)
    # What rounding leaves of nothing: S is a difference of two sums of this size.
    alive = values > 1e-10 * max(values[0], counts.max() * held.squares * 1e-3)
    values, vectors = values[alive], signed(vectors[:, alive])
    if len(values) < wanted:
        found = len(values)
        warnings.warn(
            f"varnorm: documents of one topic differ in {found} directions, so {found} are removed and not {wanted}", stacklevel=2
        )
    sparse, dense = held.columns - held.dense, held.dense
    weights = single(held.space.weights(vectors))
    projection = _native.Projection.varnorm(weights, values, sparse, dense, held.negative)
    # Dense rows are projected as they are; others get columns that count negatively.
    explicit = sparse == 0 and held.negative == 0
    return projection, Space() if explicit else held.space.without(vectors)


def discriminant(held, arguments, given):
    """Directions v with S_b v = λ(S_w + ρI)v, in the span of W = (TᵀT + ρI)⁻¹TᵀG.

    T are the labelled rows about their mean μ and G the class indicators, so TᵀG = (s_c − n_c μ)/√n_c is known from the classes' sums,
    and TᵀT times vectors is a sum over blocks. W comes from block conjugate gradients on the equations divided by their diagonal;
    the C × C problem in its span needs one more product.
    """
    shrinkage, components = float(arguments["shrinkage"]), int(arguments["components"])
    present = np.flatnonzero(held.class_counts)
    if len(present) < 2:
        raise ValueError("`discriminant` needs documents of at least two classes to tell apart")
    counts, (sums, squares) = held.class_counts[present], held.class_sums()
    n, sums = counts.sum(), sums[:, present]
    mean = sums.sum(axis=1, keepdims=True) / n
    rank = max(1, min(n - len(present), held.inner - held.negative))
    within = held.labelled_squares - float((sums**2 / counts).sum())
    if not within > 1e-6 * held.squares_stored:
        raise ValueError(
            "`discriminant` needs classes whose documents differ; here those of each class are all the same; after varnorm, remove "
            "fewer directions"
        )
    ridge = shrinkage * within / rank

    def scatter(vectors):
        return held.labelled_gram(vectors) - n * mean @ (mean.T @ vectors)

    scale = 1.0 / np.sqrt(np.maximum(squares - n * mean**2, 0.0) + ridge)
    right = (sums - counts * mean) / np.sqrt(counts)
    found, _ = _solve.conjugate(lambda y: scale * (scatter(scale * y) + ridge * scale * y), scale * right, RIDGE_TOLERANCE)
    w = held.space.inside(scale * found)
    means = np.sqrt(counts)[:, None] * ((sums / counts - mean).T @ w)
    between = means.T @ means
    shrunk = w.T @ scatter(w) - between + ridge * (w.T @ w)
    useful = len(present) - 1
    if components > useful:
        warnings.warn(f"discriminant: {len(present)} classes are told apart by {useful} directions, which are kept", stacklevel=2)
    ratios, factor = _generalised(between, shrunk, min(components, useful) if components else useful)
    vectors = signed(w @ (factor * np.sqrt(n)))
    offset = -(mean.T @ vectors).ravel()
    weights = single(held.space.weights(vectors))
    return _native.Projection.discriminant(weights, offset.astype(np.float32), ratios, shrinkage), Space()


def _generalised(between, within, most):
    """The largest λ of between·f = λ·within·f, and the f as columns with fᵀ within f = 1."""
    lengths, directions = np.linalg.eigh((within + within.T) / 2)
    alive = lengths > 1e-10 * max(lengths[-1], 1e-300)
    whitening = directions[:, alive] / np.sqrt(lengths[alive])
    turned = whitening.T @ between @ whitening
    ratios, turn = np.linalg.eigh((turned + turned.T) / 2)
    order = np.argsort(ratios)[::-1][:most]
    return ratios[order], whitening @ turn[:, order]


def dcot(held, arguments, given):
    """Layers that reconstruct prototype terms: see :mod:`corpuscle.spark._dcot`."""
    return _dcot.fit(held, arguments, given), Space()


STAGES = {"ig": ig, "normalize": normalize, "lsi": lsi, "varnorm": varnorm, "discriminant": discriminant, "dcot": dcot}
"""How each projection is fitted: the model, and the space of the rows that come out."""
