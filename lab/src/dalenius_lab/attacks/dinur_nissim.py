"""Reconstruction: many random subset counts determine nearly every bit, unless the noise grows with the square root of
n.

Least squares on 4 n random subset counts, rounded to bits. Under a total epsilon no bit can be right more often than
e^epsilon / (1 + e^epsilon), whatever is asked.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalenius_lab.attacks.result import AttackResult

__all__ = ["dinur_nissim"]

Noise = Callable[[int], NDArray[np.int64]]
"""So many independent noise values for one database."""


def dinur_nissim(
    target: str, noise: Noise, *, people: int = 100, databases: int = 20, epsilon: float | None = None, seed: int = 4
) -> AttackResult:
    """Reconstruct secret bits; the advantage is the share of right bits above one half, doubled."""
    rng = np.random.default_rng(seed)
    queries = 4 * people
    right = 0
    for _ in range(databases):
        secret = rng.integers(0, 2, people)
        subsets = rng.integers(0, 2, (queries, people))
        answers = subsets @ secret + noise(queries)
        design = subsets.astype(np.float64)
        guess = np.linalg.solve(design.T @ design, design.T @ answers.astype(np.float64))
        right += int(((guess > 0.5) == secret).sum())
    bits = people * databases
    return AttackResult.of_guesses("reconstruction", target, right / bits, bits, epsilon, certain=0.95)
