"""One group in many wordings: description keys average away, a ledger knows that the wordings are one question."""

from fractions import Fraction
from itertools import permutations, product

import numpy as np

from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius_lab.attacks.averaging import averaging
from dalenius_lab.attacks.cell_key import CellKeyTable
from dalenius_lab.attacks.result import AttackResult
from dalenius_lab.demonstrations._office import SEXES, TOWNS, office

__all__ = ["demonstrate"]


def demonstrate() -> tuple[AttackResult, ...]:
    """A cell-key server whose noise follows the description, and the same question put to a curator in every order of
    words.
    """
    group, noise = list(range(20)), TruncatedLaplace(Fraction(1), 7)

    def described(trial: int, wording: int) -> float:
        server = CellKeyTable.of(60, noise, trial, by_description=True)
        return server.answer(group, f"wording {wording}")

    broken = averaging("a server whose noise follows the description", described, 20)
    answers = np.array([_worded(f"averaging {trial}") for trial in range(4)])
    # Women of the north and of the west, in every order of labels and conditions: 20 of 60 people.
    ours = averaging(
        "a curator with a ledger, every wording of one question",
        lambda trial, wording: float(answers[trial, wording]),
        20,
        wordings=answers.shape[1],
        trials=len(answers),
    )
    return broken, ours


def _worded(seed: str) -> list[float]:
    """The number of women in the north and the west, by every wording of a request that a ledger of its own answers."""
    towns = ([TOWNS[0], TOWNS[2]], [TOWNS[2], TOWNS[0]])
    with office(seed) as curator:
        answers = []
        for chosen, order in product(towns, permutations(("sex", "town"))):
            conditions = {"sex": [SEXES[0]], "town": chosen}
            table = {"rows": [], "where": {name: conditions[name] for name in order}}
            release = curator.release({"table": table, "privacy": {"definition": "pure", "epsilon": "1/2"}})
            answers.append(float(release.values.ravel()[0]))
        return answers
