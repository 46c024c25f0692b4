"""The clamp attack: answers cut to f(D) plus or minus one give f(D) away.

Under (epsilon, D)-individual privacy a range query may be cut to {f - 1, f, f + 1}. Asked again, it soon has shown
both ends: the exact count is then their middle. With a = exp(-epsilon) each end has probability a / (1 + a), which
*rises* as epsilon falls: the less the noise was meant to give away, the sooner the truth is known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp

__all__ = ["ClampAttack", "expected_queries"]


def expected_queries(epsilon: float) -> float:
    """Expected number of answers until both ends were seen: 3 / (2 p) with p = a / (1 + a) each.

    >>> round(expected_queries(0.1), 3), round(expected_queries(1.0), 3)
    (3.158, 5.577)
    """
    a = exp(-epsilon)
    end = a / (1 + a)
    return 1 / (2 * end) + 1 / end


def known_after(epsilon: float, queries: int) -> float:
    """Probability that so many answers have shown both ends."""
    end = exp(-epsilon) / (1 + exp(-epsilon))
    return 1 - 2 * (1 - end) ** queries + (1 - 2 * end) ** queries


@dataclass(frozen=True)
class ClampAttack:
    """Ask until the answers span three values; the middle is the secret."""

    most_queries: int = 10_000

    def run(self, ask: Callable[[], int]) -> tuple[int | None, int]:
        """(recovered count or None, number of queries used)."""
        low = high = ask()
        used = 1
        while high - low < 2 and used < self.most_queries:
            answer = ask()
            used += 1
            low, high = min(low, answer), max(high, answer)
        return (low + 1 if high - low == 2 else None), used
