"""dCoT fitted by sums over documents: layer one by block conjugate gradients, later layers by the Gram matrix of outputs.

With m the column means, C = XᵀX − n·mmᵀ, D = diag(XᵀX) and p = 1 − noise, the first layer solves (pC + (1−p)D)Wᵀ = C_P for the prototype
columns P. Divided by the root of D that is I + α·(…), α = p/(1−p): at high noise almost the identity, so that a few products with C,
each a pass over the documents, are enough. Wide layers are kept as W ≈ P·(PᵀW) without writing W out, as the library does: P spans the
leading left singular vectors of M = WX_cᵀ, from power steps on MMᵀ = C_P Q⁻¹ C Q⁻¹ C_Pᵀ (Q the matrix above), two solves each. C times a
solution Y is known from its equation and residual, so it takes no pass.

With r prototypes and w directions: a step of a solve sends 8·d·w bytes and returns them from every partition; moments of a layer's outputs
send 4·d·w and return 8·r².

Reference and all choices: `crates/corpuscle/src/project/dcot`, whose constants these are.
"""

import numpy as np

from corpuscle import _native
from corpuscle.spark import _solve

MANY, FEWER, LARGE = 2000, 1000, 100_000
FEW_LABELS, DIRECTIONS_FOR_A_CLASS, FEWEST_KEPT, MOST_KEPT = 300, 15.0, 100, 300
SPARE_DIRECTIONS, FEWEST_DIRECTIONS = 24, 128
SAMPLE, MOST_ERROR = 64, 0.15
TOLERANCE, ROUGH, CODED = 2e-6, 1e-2, 1e-4
PANEL = 128
"""Right-hand sides that are solved for at once."""


def fit(held, arguments, given):
    """The projection, from rows of terms."""
    counts = held.class_counts
    layers, rank = _extent(arguments, counts)
    present, sums, squares = (moment.ravel() for moment in held.column_moments())
    if held.documents < 2 or not squares.any():
        raise ValueError("dcot: there must be at least two documents, with terms in them, to learn from")
    prototypes = _prototypes(held, arguments, given, present)
    equations = _Equations(held, prototypes, sums, squares, float(arguments["noise"]), float(arguments["ridge"]))
    found, moments = _first(equations, rank, given)
    stack, kept = [found], []
    for number in range(layers):
        if number:
            stack.append(_later(equations, moments, None if rank is None or given.exact else stack[0][0][-1].shape[1]))
        if rank is not None or number + 1 < layers:
            moments = equations.moments(stack) if number else moments or equations.moments(stack)
        kept.append(_beside(equations, stack, moments if rank is not None else None, arguments, rank))
    weight = arguments["weight"]
    length = None if weight == "none" else float(np.sqrt(float(weight) * held.squares / held.documents))
    arrays = [
        (factors[0], factors[1] if len(factors) > 1 else None, bias.astype(np.float32), centre, directions)
        for (factors, bias), (centre, directions) in zip(stack, kept, strict=True)
    ]
    return _native.Projection.dcot(arrays, prototypes.astype(np.uint32), float(arguments["noise"]), length, given.exact)


def _extent(arguments, counts):
    """How many layers, and how many directions are kept of each; None for all."""
    labelled = counts.sum()
    if labelled <= FEW_LABELS:
        layers, kept = 2, FEWEST_KEPT
    else:
        shares = counts[counts > 0] / labelled
        classes = np.exp(-(shares * np.log(shares)).sum())
        layers, kept = 1, int(np.clip(np.floor(DIRECTIONS_FOR_A_CLASS * classes + 0.5), FEWEST_KEPT, MOST_KEPT))
    if arguments["layers"] != "auto":
        layers = int(arguments["layers"])
    rank = arguments["rank"]
    if rank == "auto":
        return layers, None if arguments["weight"] == "none" else kept
    return layers, None if rank == "full" else int(rank)


def _prototypes(held, arguments, given, present):
    """The columns to reconstruct, ascending."""
    count = arguments["prototypes"]
    count = int(count) if count != "auto" else FEWER if held.documents > LARGE else MANY
    if arguments["terms"] != "none":
        return _named(arguments["terms"], given.names)
    if arguments["select"] == "information_gain":
        return np.array(_native.Projection.ig(count, held.gains(given.classes), given.run)[1])
    # Of most documents first, of equals the first column.
    order = np.lexsort((np.arange(len(present)), -present))[:count]
    return np.sort(order[present[order] > 0])


def _named(told, names):
    if told.startswith("@"):
        with open(told[1:], encoding="utf-8") as file:
            terms = {line.strip() for line in file if line.strip()}
    else:
        terms = {term.strip() for term in told.split(",") if term.strip()}
    columns = np.array([column for column, name in enumerate(names) if name in terms], dtype=np.int64)
    if not len(columns):
        raise ValueError(f"dcot: none of the terms {', '.join(sorted(terms)[:5])} is among those of the documents")
    return columns


class _Equations:
    """The first layer's equations, and what is asked of the documents."""

    def __init__(self, held, prototypes, sums, squares, noise, ridge):
        self.held, self.prototypes, self.noise, self.ridge = held, prototypes, noise, ridge
        self.n, self.columns = held.documents, held.columns
        self.means = sums / self.n
        self.diagonal = (squares + ridge * squares.sum() / self.columns)[:, None]
        self.scale = 1.0 / np.sqrt(self.diagonal)

    def scatter(self, vectors):
        """C times vectors."""
        return self.held.gram(vectors) - self.n * np.outer(self.means, self.means @ vectors)

    def solve(self, right, tolerance):
        """Y with (pC + (1−p)D)Y = right, and CY, some columns at a time."""
        keep = 1.0 - self.noise
        alpha = keep / self.noise
        found, images = [], []
        for first in range(0, right.shape[1], PANEL):
            panel = right[:, first : first + PANEL]
            y, rest = _solve.conjugate(lambda u: u + alpha * self.scale * self.scatter(self.scale * u), self.scale * panel, tolerance)
            y = self.scale * y / self.noise
            found.append(y)
            images.append((panel - rest / self.scale - self.noise * self.diagonal * y) / keep)
        return np.hstack(found), np.hstack(images)

    def of_prototypes(self, combinations):
        """C_Pᵀ times combinations of prototypes."""
        spread = np.zeros((self.columns, combinations.shape[1]))
        spread[self.prototypes] = combinations
        return self.scatter(spread)

    def bias(self, factors, means, targets):
        """b = m̄ − p·Wm."""
        product = means
        for place, factor in enumerate(factors):
            product = product @ (factor if place == 0 else factor.T).astype(np.float64)
        return targets - (1.0 - self.noise) * product

    def layer(self, factors):
        """The first layer of these factors."""
        return factors, self.bias(factors, self.means, self.means[self.prototypes])

    def moments(self, stack):
        """Means of the last layer's outputs, and their scatter about them."""
        width = len(self.prototypes)
        sums, gram = self.held.ask("layer_moments", [(width,), (width, width)], [self.n, self.n], layers=_sent(stack))
        means = sums / self.n
        return means, gram - self.n * np.outer(means, means)

    def output_means(self, stack):
        """Means of the last layer's outputs."""
        return self.held.ask("layer_sums", [(len(self.prototypes),)], [self.n], layers=_sent(stack))[0] / self.n


def _sent(stack):
    """Layers as executors multiply by them: the second factor is turned."""
    return [([factors[0], *(factor.T for factor in factors[1:])], bias) for factors, bias in stack]


def _first(equations, rank, given):
    """The first layer, and the moments of its outputs where they were needed."""
    width = len(equations.prototypes)
    whole = rank is None or given.exact
    directions = width if whole else min(-(-max(rank + SPARE_DIRECTIONS, FEWEST_DIRECTIONS) // 16) * 16, width)
    if whole or 2 * directions > width:
        weights, _ = equations.solve(equations.of_prototypes(np.eye(width)), TOLERANCE)
        layer = equations.layer([_single(weights)])
        if whole:
            return layer, None
        up = _leading(equations.moments([layer])[1], directions)
        layer = equations.layer(_kept(weights @ up, up, True))
        return layer, equations.moments([layer])
    sampled = equations.held.sample(SAMPLE)
    exact = equations.solve(sampled, TOLERANCE)[1][equations.prototypes].T
    while True:
        layer = equations.layer(_compact(equations, directions, given.seed))
        moments = equations.moments([layer])
        kept = _leading(moments[1], rank)
        if _error(layer, sampled, exact, moments[0], kept) <= MOST_ERROR or 2 * directions > width:
            return layer, moments
        directions = min(2 * directions, width)


def _compact(equations, directions, seed):
    """The two factors of the first layer in so many directions."""
    up = np.random.default_rng(seed).standard_normal((len(equations.prototypes), directions))
    for _ in range(2):
        # MMᵀ once: C_P Q⁻¹ · C Q⁻¹ C_Pᵀ.
        _, image = equations.solve(equations.of_prototypes(np.linalg.qr(up)[0]), ROUGH)
        up = equations.solve(image, ROUGH)[1][equations.prototypes]
    up = np.linalg.qr(up)[0]
    down, _ = equations.solve(equations.of_prototypes(up), CODED)
    return _kept(down, up, True)


def _error(layer, sampled, exact, means, kept):
    """The error of a compact layer on sample documents along the directions kept, relative to the length of what is exact."""
    (down, up), bias = layer
    whole = np.tanh(exact + bias)
    compact = np.tanh((sampled.T @ down) @ up.T + bias)
    length = np.linalg.norm((whole - means) @ kept)
    return np.linalg.norm((compact - whole) @ kept) / length if length > 0 else 0.0


def _later(equations, moments, directions):
    """A further layer from the moments of the one before; in so many directions, or written out."""
    means, scatter = moments
    squares = np.maximum(np.diag(scatter), 0.0) + equations.n * means**2
    floor = equations.ridge * squares.mean()
    system = (1.0 - equations.noise) * scatter + np.diag(equations.noise * np.maximum(squares + floor, np.finfo(float).tiny))
    weights = np.linalg.solve(system, scatter)
    factors = [_single(weights)]
    if directions is not None:
        up = _leading(weights.T @ scatter @ weights, directions)
        factors = _kept(weights @ up, up, False)
    return factors, equations.bias(factors, means, means)


def _beside(equations, stack, moments, arguments, rank):
    """What is taken from the last layer's outputs before they are put beside documents, and the directions kept of them."""
    if rank is not None:
        means, directions = moments[0], _single(_leading(moments[1], rank))
    else:
        means, directions = None, None
    if arguments["weight"] == "none":
        return np.zeros(len(equations.prototypes), dtype=np.float32), directions
    means = equations.output_means(stack) if means is None else means
    return means.astype(np.float32), directions


def _leading(matrix, count):
    """The leading eigenvectors of a symmetric matrix without negative eigenvalues; fewer where it has fewer."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    values, vectors = values[::-1][:count], vectors[:, ::-1][:, :count]
    return vectors[:, : max(1, int((values > 1e-10 * max(values[0], 0.0)).sum()))]


def _kept(down, up, first):
    return list(_native.kept_factors(_single(down), _single(up), first))


def _single(values):
    return np.ascontiguousarray(values, dtype=np.float32)
