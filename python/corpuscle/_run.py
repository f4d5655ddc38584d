"""Seed, threads and progress of a call."""

import contextlib
import numbers
import sys

from corpuscle import _native


def seed_of(random_state):
    """A seed: a number as it is, None for the library's, a generator asked for one."""
    if random_state is None:
        return _native.DEFAULT_SEED
    if isinstance(random_state, numbers.Integral):
        if random_state < 0:
            raise ValueError(f"random_state = {random_state} must be 0 or more")
        return int(random_state)
    draw = getattr(random_state, "integers", None) or getattr(random_state, "randint", None)
    if draw is None:
        raise ValueError(f"random_state = {random_state!r} must be a number, a generator or None")
    return int(draw(2**31 - 1))


def threads_of(n_jobs):
    """How many threads; 0 is one per core."""
    if n_jobs is None or n_jobs == -1:
        return 0
    if n_jobs < -1:
        import os

        return max(1, (os.cpu_count() or 1) + 1 + int(n_jobs))
    if n_jobs == 0:
        raise ValueError("n_jobs = 0 must be a number of threads, or None for one per core")
    return int(n_jobs)


@contextlib.contextmanager
def running(random_state=None, n_jobs=None, verbose=False):
    """The run of a call, whose bar goes away with it."""
    bar = Bar() if verbose else None
    try:
        yield _native.Run(seed_of(random_state), threads_of(n_jobs), bar)
    finally:
        if bar is not None:
            bar.close()


def run_of(estimator):
    """The run of a call on an estimator."""
    return running(estimator.random_state, estimator.n_jobs, getattr(estimator, "verbose", False))


class Bar:
    """Shows progress: a line that is rewritten in a terminal, one that is updated in a notebook, a line per stage in a log."""

    def __init__(self, out=None):
        self.out = out or sys.stderr
        self.stage = None
        self.handle = None
        try:
            shell = sys.modules["IPython"].get_ipython()
            self.notebook = type(shell).__name__ == "ZMQInteractiveShell"
        except (AttributeError, KeyError):
            self.notebook = False
        self.live = not self.notebook and hasattr(self.out, "isatty") and self.out.isatty()

    def __call__(self, stage, done, total):
        new, self.stage = stage != self.stage, stage
        text = stage if not done else f"{stage} {done}" + (f"/{total}" if total else "")
        if total and done:
            full = min(20, 20 * done // total)
            text += f" [{'=' * full}{' ' * (20 - full)}]"
        if self.notebook:
            from IPython.display import display

            shown = {"text/plain": text}
            if self.handle is None:
                self.handle = display(shown, raw=True, display_id=True)
            else:
                self.handle.update(shown, raw=True)
        elif self.live:
            self.out.write(f"\r\x1b[K{text}")
            self.out.flush()
        elif new:
            self.out.write(f"{stage}\n")

    def close(self):
        if self.live and self.stage is not None:
            self.out.write("\r\x1b[K")
            self.out.flush()
