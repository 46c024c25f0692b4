"""Trackers: count(C) = count(C or T) + count(C or not T) - count(everybody), though C itself is too small to be asked
for.

A rule that refuses small groups (and answers the others exactly) falls to it. Under differential privacy there is no
rule to get around: the three answers are noisy, and all three are charged.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dalenius_lab.attacks.result import AttackResult

__all__ = ["MinimumSize", "tracker"]

Mask = NDArray[np.bool_]
Ask = Callable[[Mask], float | None]


class MinimumSize:
    """An unprotected server: exact counts, none for groups (or complements) smaller than `least`."""

    def __init__(self, people: int, least: int) -> None:
        self.people, self.least = people, least

    def answer(self, group: Mask) -> float | None:
        """The exact count, or None."""
        size = int(group.sum())
        return float(size) if self.least <= size <= self.people - self.least else None


def tracker(
    target: str, ask: Callable[[int], Ask], *, people: int = 200, trials: int = 200, seed: int = 3
) -> AttackResult:
    """Recover the size of a small group; the advantage is the share of trials in which it is found exactly, above
    chance.
    """
    rng = np.random.default_rng(seed)
    hits = direct = 0
    for trial in range(trials):
        server = ask(trial)
        small = np.zeros(people, dtype=bool)
        size = int(rng.integers(0, 5))
        small[rng.choice(people, size, replace=False)] = True
        half = rng.random(people) < 0.5
        direct += server(small) is not None
        one, two = server(small | half), server(small | ~half)
        three, four = server(half), server(~half)
        if None not in (one, two, three, four):
            assert one is not None and two is not None and three is not None and four is not None
            hits += round(one + two - three - four) == size
    rate = hits / trials
    chance = 1 / 5
    return AttackResult(
        name="tracker",
        target=target,
        advantage=max(0.0, (rate - chance) / (1 - chance)),
        succeeded=rate > 0.95,
        details={"found": rate, "answered_directly": direct / trials},
    )
