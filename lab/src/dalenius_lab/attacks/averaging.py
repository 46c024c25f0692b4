"""Averaging: ask for one group in many wordings and take the mean.

Fresh or description-keyed noise averages away. A stored list answers every wording with sums of the same cells, so the
mean is the first answer again; a ledger that charges each answer stops the attack by refusing.
"""

from collections.abc import Callable

import numpy as np

from dalenius_lab.attacks.result import AttackResult

__all__ = ["averaging"]

Wording = Callable[[int, int], float]
"""(trial, wording) -> answer for a group whose true count is known to the test."""


def averaging(target: str, answer: Wording, truth: float, *, wordings: int = 100, trials: int = 60) -> AttackResult:
    """Compare the error of the mean over all wordings with the error of the first answer alone.

    The advantage is one minus the ratio of root mean square errors: 0 if the mean is no better, 0.9 for 100 independent
    answers.
    """
    answers = np.array([[answer(t, w) for w in range(wordings)] for t in range(trials)], dtype=np.float64)
    first = float(np.sqrt(np.mean((answers[:, 0] - truth) ** 2)))
    mean = float(np.sqrt(np.mean((answers.mean(axis=1) - truth) ** 2)))
    exact = float(np.mean(np.rint(answers.mean(axis=1)) == truth))
    advantage = 1 - mean / first if first else 1.0
    return AttackResult(
        name="averaging",
        target=target,
        advantage=advantage,
        succeeded=advantage > 0.5,
        details={"error_of_one": first, "error_of_mean": mean, "truth_found": exact},
    )
