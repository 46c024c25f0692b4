"""Cell keys, for comparison and migration: **not differentially private**, with the breach beside them.

Every person has a random record key; a cell's key is the sum of its members' keys, and seeds the perturbation. Two
rules are in use. "Same participants, same perturbation" keys by the members alone: two queries that differ by Bob alone
are perturbed independently if and only if Bob is in the difference, so unequal answers prove that he is. "Same
participants and description" keys by members and wording: then many wordings of one group are independent answers, and
their mean is the truth. Neither satisfies differential privacy for any epsilon (Rinott et al. 2018, sections 2.2 and
4.1).
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.law import Additive, IntegerLaw
from dalenius_lab.attacks.result import AttackResult

Rows = Sequence[int]


@dataclass(frozen=True)
class CellKeyTable:
    """A table server with record keys. `by_description` adds the wording to the key. `is_private` is False."""

    keys: tuple[int, ...]
    noise: IntegerLaw
    by_description: bool = False
    is_private: bool = False

    @classmethod
    def of(cls, people: int, noise: IntegerLaw, seed: int, *, by_description: bool = False) -> "CellKeyTable":
        """Random record keys for a number of people."""
        rng = np.random.default_rng(seed)
        return cls(tuple(int(k) for k in rng.integers(0, 1 << 32, people)), noise, by_description)

    def answer(self, members: Rows, description: str = "") -> int:
        """The perturbed count of a group."""
        key = sum(self.keys[i] for i in members) % (1 << 32)
        text = f"{key}/{description}" if self.by_description else str(key)
        digest = hashlib.sha256(text.encode()).digest()
        uniform = int.from_bytes(digest[:8], "big") / 2**64
        return len(members) + Additive(self.noise).quantile(uniform)


Answer = Callable[[int, Rows, str], float]
"""(trial, members, description) -> answer; a fresh server for each trial."""


def breach(target: str, answer: Answer, *, people: int = 60, trials: int = 300, seed: int = 1) -> AttackResult:
    """Bob's attack: ask for the high earners, and for those of them who were here before today; compare.

    The intruder says "Bob earns much" if the two answers differ. The advantage is the true minus the false positive
    rate.
    """
    rng = np.random.default_rng(seed)
    hits = {True: 0, False: 0}
    for trial in range(trials):
        others = [int(i) for i in np.flatnonzero(rng.random(people - 1) < 0.4)]
        for is_rich in (True, False):
            first = [*others, people - 1] if is_rich else others
            one = answer(2 * trial + is_rich, first, "salary above s")
            two = answer(2 * trial + is_rich, others, "salary above s, employed before today")
            hits[is_rich] += one != two
    advantage = (hits[True] - hits[False]) / trials
    return AttackResult(
        name="cell-key breach",
        target=target,
        advantage=advantage,
        succeeded=hits[False] == 0 and hits[True] > 0,
        details={"differs_if_bob_is_in": hits[True] / trials, "differs_if_bob_is_out": hits[False] / trials},
    )
