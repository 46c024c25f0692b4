"""Differencing: the count of a group minus the count of the group without Bob.

Exact or lightly perturbed answers give Bob away. Under differential privacy both answers are charged, and no decision
rule can be right more often than e^epsilon / (1 + e^epsilon) at even odds, epsilon being their sum.
"""

from collections.abc import Callable

from dalenius_lab.attacks.result import AttackResult

__all__ = ["differencing"]

Pair = Callable[[int, bool], tuple[float, float]]
"""(trial, whether Bob is in) -> answers for the group with and without Bob."""


def differencing(target: str, ask: Pair, *, trials: int = 2000, epsilon: float | None = None) -> AttackResult:
    """Decide from the difference by the nearest of 0 and 1; compare with a coin, and with the bound of the stated
    epsilon.

    The advantage is the rate of right decisions above one half, doubled.
    """
    right = 0
    for trial in range(trials):
        is_in = bool(trial % 2)
        whole, rest = ask(trial, is_in)
        right += (whole - rest > 0.5) == is_in
    return AttackResult.of_guesses("differencing", target, right / trials, trials, epsilon)
