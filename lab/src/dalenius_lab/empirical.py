"""Statistical audits: lower bounds on epsilon from outputs alone, so that a broken mechanism shows itself.

An audit cannot prove privacy; it can refute a claim, at a stated error rate. `two_sample` looks for an event that tells
two neighbouring inputs apart; `one_run` counts how often the presence of many independent canaries was guessed in one
run.

References: Ding, Wang, Wang, Zhang & Kifer (2018); Bichsel, Steffen, Bogunovic & Vechev (2021); Steinke, Nasr &
Jagielski (2023), Theorem 5.2.
"""

from dataclasses import dataclass
from math import exp, log

import numpy as np

from dalenius.core.law import IntArray
from dalenius.core.search import narrow
from dalenius.errors import ParameterError
from dalenius.testing.measurement_kit import clopper_pearson


@dataclass(frozen=True)
class Audit:
    """A lower bound on epsilon that holds with the stated confidence, and the event that showed it."""

    epsilon: float
    confidence: float
    event: str

    def refutes(self, claimed: float) -> bool:
        """Whether the claimed epsilon is contradicted."""
        return self.epsilon > claimed


def two_sample(first: IntArray, second: IntArray, *, delta: float = 0.0, confidence: float = 0.99) -> Audit:
    """Lower bound on epsilon from outputs on two neighbouring inputs.

    One half of each sample chooses an event (a tail, or a single value); the other half bounds its two probabilities by
    Clopper-Pearson, half of the error for each.
    """
    if min(len(first), len(second)) < 100:
        raise ParameterError("An audit needs at least 100 outputs on each side.")
    a, b = len(first) // 2, len(second) // 2
    event, swapped = _best_event(first[:a], second[:b], delta)
    held = (second[b:], first[a:]) if swapped else (first[a:], second[b:])
    error = (1 - confidence) / 2
    p = clopper_pearson(int(_inside(held[0], event).sum()), len(held[0]), error)[0]
    q = clopper_pearson(int(_inside(held[1], event).sum()), len(held[1]), error)[1]
    bound = log((p - delta) / q) if p > delta else 0.0
    return Audit(max(bound, 0.0), confidence, f"{event[0]} {event[1]}{' (sides exchanged)' if swapped else ''}")


def _inside(values: IntArray, event: tuple[str, int]) -> np.ndarray:
    kind, at = event
    return {"<=": np.less_equal, ">=": np.greater_equal, "==": np.equal}[kind](values, at)


def _best_event(first: IntArray, second: IntArray, delta: float) -> tuple[tuple[str, int], bool]:
    """The tail or value with the largest estimated ratio, discounted for its sampling error."""
    values = np.unique(np.concatenate([first, second]))
    if len(values) > 2000:
        values = np.unique(np.quantile(values, np.linspace(0, 1, 2000), method="nearest"))
    best: tuple[float, tuple[str, int], bool] = (-np.inf, ("<=", int(values[0])), False)
    sides = [np.sort(first), np.sort(second)]
    below = [np.searchsorted(s, values, side="right") for s in sides]
    under = [np.searchsorted(s, values, side="left") for s in sides]
    sizes = [len(s) for s in sides]
    counts = {
        "<=": below,
        ">=": [n - u for n, u in zip(sizes, under, strict=True)],
        "==": [x - u for x, u in zip(below, under, strict=True)],
    }
    for kind, (x, y) in counts.items():
        for swapped in (False, True):
            hit, miss = (y, x) if swapped else (x, y)
            n, m = (sizes[1], sizes[0]) if swapped else (sizes[0], sizes[1])
            low = (hit - 3 * np.sqrt(hit + 1.0)) / n - delta
            high = (miss + 3 * np.sqrt(miss + 1.0) + 5) / m
            score = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)
            i = int(np.argmax(score))
            if score[i] > best[0]:
                best = (float(score[i]), (kind, int(values[i])), swapped)
    return best[1], best[2]


def one_run_p_value(canaries: int, guesses: int, correct: int, epsilon: float, delta: float = 0.0) -> float:
    """Probability bound, under (epsilon, delta)-DP, of so many correct guesses about canaries included by
    fair coins.
    """
    from scipy.stats import binom

    if not 0 <= correct <= guesses <= canaries:
        raise ParameterError("An audit needs 0 <= correct <= guesses <= canaries.")
    chance = 1 / (1 + exp(-epsilon))
    reached = float(binom.sf(correct - 1, guesses, chance))
    if delta <= 0 or correct == 0:
        return min(reached, 1.0)
    i = np.arange(1, correct + 1)
    between = binom.sf(correct - i - 1, guesses, chance) - binom.sf(correct - 1, guesses, chance)
    return min(reached + 2 * canaries * delta * float(np.max(between / i)), 1.0)


def one_run(canaries: int, guesses: int, correct: int, *, delta: float = 0.0, confidence: float = 0.95) -> Audit:
    """Lower bound on epsilon from one run with many canaries.

    >>> round(one_run(100, 100, 100).epsilon, 6)
    3.492965
    """
    low, high = 0.0, 1.0
    error = 1 - confidence
    if one_run_p_value(canaries, guesses, correct, 0.0, delta) > error:
        return Audit(0.0, confidence, f"{correct} of {guesses} guesses correct")
    while one_run_p_value(canaries, guesses, correct, high, delta) <= error:
        high *= 2
    low = narrow(
        lambda epsilon: one_run_p_value(canaries, guesses, correct, epsilon, delta) <= error, low, high, halvings=60
    ).inside
    return Audit(low, confidence, f"{correct} of {guesses} guesses correct")
