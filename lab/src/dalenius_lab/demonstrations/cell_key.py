"""Bob's attack on cell keys: equal answers if he is out, so that unequal ones prove that he is in."""

from fractions import Fraction

import numpy as np

from dalenius.exact.keyed import keyed_noise
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius_lab.attacks.cell_key import CellKeyTable, Rows, breach
from dalenius_lab.attacks.result import AttackResult

__all__ = ["demonstrate"]

_PEOPLE = 60


def demonstrate() -> tuple[AttackResult, ...]:
    """Keys by participants, and a stored list of cells at epsilon 1 of which every answer is a sum."""
    noise, one = TruncatedLaplace(Fraction(1), 7), DiscreteLaplace(Fraction(1))

    def listed(trial: int, members: Rows, description: str) -> float:
        """Two cells: staff of before today, and of today (Bob alone)."""
        before = sum(member != _PEOPLE - 1 for member in members)
        today = len(members) - before
        cells = [0] if "before" in description else [0, 1]
        drawn = keyed_noise(one, np.array(cells), f"secret {trial:>20}".encode(), {"list": "staff"})
        return float(before + (today if len(cells) > 1 else 0) + drawn.sum())

    return (
        breach("keys of the participants", lambda t, m, d: CellKeyTable.of(_PEOPLE, noise, t).answer(m, d)),
        breach("a stored list, epsilon 1", listed),
    )
