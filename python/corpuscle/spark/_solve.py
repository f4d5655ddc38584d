"""The driver's half of distributed fits: iterations that ask for products with the documents and never see one.

Products and sums over all blocks of documents, of statistics of :mod:`corpuscle.spark._blocks`, come from functions handed in.
"""

import warnings

import numpy as np

TOLERANCE = 1e-5
"""How far a product with a singular vector may be off, relative to the largest."""


def leading(times, columns, rank, seed, most=40):
    """The `rank` largest eigenvalues of a symmetric A without negative ones, and their vectors, by block Lanczos.

    `times(vectors)` gives A times a block of vectors, a sum over the documents: `columns` × block numbers go out and come back,
    whatever the number of documents. The space searched is kept orthogonal, and grows until each wanted vector u has
    ‖Au − θu‖ ≤ TOLERANCE · θ₁, which holds its value to the square of that.
    """
    rank = min(rank, columns)
    block = min(columns, max(16, min(64, rank)))
    draw = np.random.default_rng(seed).standard_normal((columns, block))
    basis = np.linalg.qr(draw)[0]
    products = np.zeros((columns, 0))
    for _ in range(most):
        new = basis[:, products.shape[1] :]
        products = np.hstack([products, times(new)])
        small = basis.T @ products
        values, rotation = np.linalg.eigh((small + small.T) / 2)
        order = np.argsort(values)[::-1][:rank]
        values, rotation = np.maximum(values[order], 0.0), rotation[:, order]
        vectors = basis @ rotation
        residual = products @ rotation - vectors * values
        off = np.linalg.norm(residual, axis=0)
        if len(values) == rank and (off <= TOLERANCE * max(values[0], 1e-300)).all():
            break
        # The next block: what the last products have beyond the space searched so far.
        more = products[:, -new.shape[1] :].copy()
        for _ in range(2):
            more -= basis @ (basis.T @ more)
        more, kept = np.linalg.qr(more)
        alive = np.abs(np.diag(kept)) > 1e-10 * max(values[0], 1e-300)
        if not alive.any() or basis.shape[1] >= columns:
            break
        basis = np.hstack([basis, more[:, alive]])
    return values, vectors


def conjugate(times, right, tolerance, most=300):
    """Solves A Y = B for all columns of B as one block, A symmetric and positive: Y, and the residual B − AY.

    Conjugate gradients whose residual is kept as an orthonormal block times a small matrix, so that columns which depend on each
    other, or are solved before others, do no harm. The columns share one Krylov space, so it takes fewer products with A, each a
    pass over the documents, than column by column. Stops when each column's residual is within `tolerance` of its right-hand side.

    Reference: Dubrulle (2001), "Retooling the method of block conjugate gradients", the variant with QR factorisations.
    """
    lengths = np.linalg.norm(right, axis=0)
    lengths[lengths == 0] = 1.0
    block, rest = np.linalg.qr(right / lengths)
    found = np.zeros_like(right)
    search = block
    for _ in range(most):
        if np.linalg.norm(rest, axis=0).max(initial=0.0) <= tolerance:
            break
        image = times(search)
        curved = search.T @ image
        inverse = np.linalg.inv((curved + curved.T) / 2)
        found += search @ (inverse @ rest)
        block, turn = np.linalg.qr(block - image @ inverse)
        rest = turn @ rest
        search = block + search @ turn.T
    else:
        worst = np.linalg.norm(rest, axis=0).max()
        warnings.warn(f"the equations were solved to a relative residual of {worst:.1e} only", stacklevel=2)
    return found * lengths, (block @ rest) * lengths


def newton(ask, shape, penalty, gap, tolerance=5e-4, most=100):
    """Minimises ½ Σ penalty·w² + loss(w) by trust-region Newton with preconditioned conjugate gradients.

    Reference: Lin, Weng and Keerthi (2008), "Trust region Newton method for large-scale logistic regression". All classes are one
    problem, so that each step of the conjugate gradients is one pass over the documents whatever their number. We differ in
    preconditioning by the Hessian's diagonal, which a frequent word or the constant of the bias needs.

    `ask("loss", weights=w)` gives losses (the loss first), gradient and the diagonal of the loss's Hessian;
    `ask("curve", weights=w, direction=d)` its Hessian times d. `gap(w, objective, losses, gradient)` says how far the objective may be
    above its minimum, relatively; it stops at `tolerance`. Gives the weights, how many passes were made, the objective and the gap.
    """
    w = np.zeros(shape)
    value, losses, gradient, diagonal = _at(ask, w, penalty)
    radius, passes = None, 1
    for _ in range(most):
        if gap(w, value, losses, gradient) <= tolerance:
            break
        scale = np.maximum(penalty + diagonal, 1e-12)
        if radius is None:
            radius = np.sqrt(np.sum(gradient**2 / scale))
        step, curved, asked = _conjugate(ask, w, penalty, gradient, scale, radius)
        passes += asked + 1
        expected = -(np.sum(gradient * step) + 0.5 * np.sum(step * curved))
        new, new_losses, new_gradient, new_diagonal = _at(ask, w + step, penalty)
        gained = value - new
        length = np.sqrt(np.sum(step**2 * scale))
        slope = np.sum(gradient * step)
        bend = new - value - slope
        suggestion = 4.0 if bend <= 0 else max(0.25, -0.5 * slope / bend)
        if gained < 1e-4 * expected:
            radius = min(max(suggestion, 0.25) * length, 0.5 * radius)
        elif gained < 0.25 * expected:
            radius = max(0.25 * radius, min(suggestion * length, 0.5 * radius))
        elif gained < 0.75 * expected:
            radius = max(0.25 * radius, min(suggestion * length, 4 * radius))
        else:
            radius = max(radius, min(suggestion * length, 4 * radius))
        if gained > 1e-4 * expected:
            w, value, losses, gradient, diagonal = w + step, new, new_losses, new_gradient, new_diagonal
        if expected <= 1e-12 * max(abs(value), 1e-300) or abs(gained) <= 1e-12 * abs(value):
            break
    return w, passes, value, gap(w, value, losses, gradient)


def hinge_gap(w, value, losses, gradient):
    """How far the squared hinge is above its minimum, by the dual: its variables 2Cξ are feasible, and make the weights −∇loss."""
    made = gradient - w
    dual = losses[1] - losses[0] - 0.5 * np.sum(made**2)
    return (value - dual) / value if value > 0 else 0.0


def softmax_gap(w, value, losses, gradient):
    """How far multinomial loss is above its minimum: ½‖∇‖² at most for weights whose penalty is ½‖w‖², an estimate for the bias."""
    return 0.5 * np.sum(gradient**2) / value if value > 0 else 0.0


def _at(ask, w, penalty):
    losses, gradient, diagonal = ask("loss", weights=w)
    return losses[0] + 0.5 * np.sum(penalty * w**2), losses, penalty * w + gradient, diagonal


def _conjugate(ask, w, penalty, gradient, scale, radius, most=40):
    """A step inside the trust region, the Hessian times it, and how often the documents were asked."""
    step = np.zeros_like(w)
    curved = np.zeros_like(w)
    rest = -gradient
    pre = rest / scale
    direction = pre.copy()
    rho = np.sum(rest * pre)
    goal = 0.1 * np.sqrt(rho)
    for asked in range(1, most + 1):
        along = penalty * direction + ask("curve", weights=w, direction=direction)
        bend = np.sum(direction * along)
        alpha = rho / bend if bend > 0 else np.inf
        if bend > 0:
            longer = step + alpha * direction
        if bend <= 0 or np.sum(longer**2 * scale) > radius**2:
            # To the edge of the region and no further.
            inner, own = np.sum(step * direction * scale), np.sum(direction**2 * scale)
            left = radius**2 - np.sum(step**2 * scale)
            alpha = left / (inner + np.sqrt(inner**2 + own * max(left, 0.0)))
            return step + alpha * direction, curved + alpha * along, asked
        step, curved = longer, curved + alpha * along
        rest = rest - alpha * along
        pre = rest / scale
        new = np.sum(rest * pre)
        if np.sqrt(new) <= goal:
            break
        direction, rho = pre + (new / rho) * direction, new
    return step, curved, asked
