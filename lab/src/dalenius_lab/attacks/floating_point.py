"""Floating-point supports: which doubles can come out depends on the count, so some outputs prove it.

`count + scale * log(u)` in doubles: an output near zero from a count of 1 was rounded to a multiple of 2^-53 on its
way, one from a count of 0 was not. Integer noise has one support for every count.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalenius_lab.attacks.result import AttackResult

__all__ = ["floating_point", "textbook_laplace"]

Release = Callable[[int, int], NDArray[np.float64]]
"""(count, how many) -> independent releases of the count."""


def textbook_laplace(count: int, size: int, seed: int = 5) -> NDArray[np.float64]:
    """The textbook code that is not private: double-precision Laplace noise of scale 1."""
    rng = np.random.default_rng(seed + count)
    u = rng.random(size) - 0.5
    return np.asarray(count - np.sign(u) * np.log1p(-2 * np.abs(u)), dtype=np.float64)


def floating_point(target: str, release: Release, *, size: int = 200_000) -> AttackResult:
    """Share of outputs in (-1/2, 1/2) from a count of 0 that no count of 1 can give; no such output from 1 may be
    accused.
    """

    def proves_zero(values: NDArray[np.float64]) -> tuple[int, int]:
        near = values[np.abs(values) < 0.5]
        # A sum 1 + noise that lands here is exact in multiples of 2^-53.
        scaled = np.ldexp(near, 53)
        return int((scaled != np.rint(scaled)).sum()), len(near)

    accused, near = proves_zero(release(0, size))
    wrong, _ = proves_zero(release(1, size))
    share = accused / near if near else 0.0
    return AttackResult(
        name="floating-point support",
        target=target,
        advantage=share if wrong == 0 else 0.0,
        succeeded=share > 0.01 and wrong == 0,
        details={"proved": share, "wrongly_accused": float(wrong)},
    )
