"""Labels that the data hold and nobody declared: those that enough units have, with the number of units of each.

Guarantee
    (epsilon, delta)-DP as a whole. A text is listed if its number of units plus truncated Laplace noise is above the
    limit of the noise: the sight of such noise on every text that there could be, of which only the largest are shown.
    A text that nobody has is never listed; one that a single unit has is listed with the probability delta of one move.
    The numbers of listed texts, and of all other texts together, then get noise of their own.
Requires
    A bound on the texts in which a unit counts, kept by the engine; texts told apart letter by letter.
Noise
    Truncated discrete Laplace for the list, two-sided geometric for the numbers. Given the list the numbers are
    unbiased and their law is public. Which texts are not listed is not known: a text is surely listed from twice the
    limit and one on.
Evidence
    Proved; every neighbour of tiny data enumerated, and a limit that is one too short is found,
    tests/measurements/test_label_selection.py.
References
    Korolova, Kenthapadi, Mishra & Ntoulas (2009); Desfontaines, Voss, Gipson & Mandayam (2022), whose optimal selection
    this is where delta is the mass of the noise at its limit.

The time and the amount of noise that is drawn depend on how many different texts there are: a hosted service must
answer on a tick. Noise for the list cannot be drawn before the data are read, since nobody knows for which texts.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.evidence import Evidence, Level
from dalenius.core.integer_law import Branches, ExactLaw, Noised
from dalenius.core.law import Additive, IntArray
from dalenius.core.neighbours import Neighbours
from dalenius.core.profile import PrivacyProfile
from dalenius.core.query import Labels, LabelsQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Block, LabelledValue, Outcome, Value
from dalenius.core.sealed import Sealed
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.exact.sampling import sample
from dalenius.measurements._example import UNLISTED, MeasurementExample, on_labels
from dalenius.measurements._steps import QueryStep
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace

MOST_LABELS = 100


@dataclass(frozen=True, kw_only=True)
class LabelSelection(QueryStep):
    """Texts whose number plus `screen` noise is above its limit, with numbers plus `noise`; others are `rest`."""

    name: str
    query: LabelsQuery
    rest: str
    screen: TruncatedLaplace
    noise: DiscreteLaplace
    neighbours: Neighbours

    def __post_init__(self) -> None:
        _check(self.query, self.neighbours)

    @classmethod
    def fitted(
        cls, *, name: str, query: LabelsQuery, rest: str, epsilon: Fraction, delta: Fraction, neighbours: Neighbours
    ) -> "LabelSelection":
        """Half of epsilon for the list, half for the numbers, and the shortest limit that delta allows."""
        _check(query, neighbours)
        moved = _units(neighbours) * query.most
        listed = Budget(definition="approximate", epsilon=epsilon / 2, delta=delta)
        screen = TruncatedLaplace.tailored(epsilon / 2 / moved, listed, _listing(moved))
        noise = DiscreteLaplace(epsilon / 2 / moved)
        return cls(name=name, query=query, rest=rest, screen=screen, noise=noise, neighbours=neighbours)

    @property
    def evidence(self) -> Evidence:
        papers = ("Korolova, Kenthapadi, Mishra & Ntoulas (2009)", "Desfontaines, Voss, Gipson & Mandayam (2022)")
        return Evidence(Level.PROVED, (*papers, "exhaustive check"))

    @property
    def threshold(self) -> int:
        """A text is listed if its number of units plus noise is above this; the noise alone never is."""
        return self.screen.limit

    @property
    def sure(self) -> int:
        """The least number of units from which a text is always listed."""
        return 2 * self.screen.limit + 1

    @property
    def law(self) -> Additive:
        return Additive(self.noise)

    def numbers_sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        """How the numbers can move, given the list: a listed text by one, the rest by a unit's unlisted texts."""
        most = self.query.most
        if not neighbours.is_replace:
            return Sensitivity.of_patterns(tuple((rest, *(1,) * (most - rest)) for rest in range(most + 1)))
        pairs = [(left, came) for left in range(most + 1) for came in range(most + 1)]
        return Sensitivity.of_patterns(
            tuple((abs(left - came), *(1,) * (2 * most - left - came)) for left, came in pairs)
        )

    def profile(self, neighbours: Neighbours) -> PrivacyProfile:
        if neighbours.max_rows != self.neighbours.max_rows or neighbours.scope.is_data_dependent:
            raise Unsupported("A selection of labels is priced for one unit at a time, at all data.")
        screen = self.screen.profile(_listing(_units(neighbours) * self.query.most), neighbours.relation)
        numbers = self.noise.profile(self.numbers_sensitivity(neighbours), neighbours.relation)
        # Both kinds of noise state a bound of their loss.
        assert screen.epsilon is not None and numbers.epsilon is not None
        (rho, failure), (further, _) = screen.stated_concentrated(), numbers.stated_concentrated()
        return PrivacyProfile(
            relation=neighbours.relation,
            epsilon=screen.epsilon + numbers.epsilon,
            delta=screen.delta,
            rho=rho + further,
            rho_delta=failure,
            evidence=self.evidence,
        )

    def draw(self, rng: RandomSource) -> None:
        """Nothing: for which texts noise is needed only the data tell."""

    def run(self, exact: tuple[Sealed[Any], ...], drawn: Any, rng: RandomSource) -> Outcome:
        """Noise for every text in the order of its code points, then for the numbers of those that are listed."""
        labels: Labels = exact[0].open_below_the_gate()
        numbers = np.array([number for _, number in labels], dtype=np.int64)
        is_listed = numbers + sample(self.screen, len(labels), rng) > self.threshold
        listed = numbers[is_listed]
        values = np.append(listed, numbers.sum() - listed.sum()) + sample(self.noise, len(listed) + 1, rng)
        names = tuple(label for (label, _), keep in zip(labels, is_listed.tolist(), strict=True) if keep)
        return LabelledValue(values, names)

    def block(self, outcome: Value) -> Block:
        assert isinstance(outcome, LabelledValue)
        space = CellSpace((Axis(variable=self.query.variable, labels=(*outcome.labels, self.rest)),))
        selection = {"mechanism": self.screen.name, "rate": str(self.screen.rate)}
        parameters = {"threshold": self.threshold, "most": self.query.most, "selection": selection}
        return Block(name=self.name, space=space, values=outcome.values, law=self.law, parameters=parameters)

    def listed_chances(self, labels: Labels) -> dict[tuple[str, ...], Fraction]:
        shares = {label: self._listed_chance(number) for label, number in labels}
        return {
            chosen: prod((p if label in chosen else 1 - p for label, p in shares.items()), start=Fraction(1))
            for size in range(len(shares) + 1)
            for chosen in combinations(sorted(shares), size)
        }

    def _listed_chance(self, number: int) -> Fraction:
        """P(number + noise > threshold), to 80 bits."""
        table = self.screen.weights(80)
        above = [w for x, w in enumerate(table.lower, start=table.first) if number + x > self.threshold]
        return Fraction(sum(above), sum(table.lower))

    def exact_law(self, content: Sequence[Any]) -> ExactLaw:
        """Every list of texts with noisy numbers. Guard: tests/measurements/test_label_selection.py."""
        labels: Labels = content[0]
        numbers = dict(labels)
        chances: dict[Hashable, float] = {}
        then: dict[Hashable, tuple[Noised, ...]] = {}
        for chosen, chance in self.listed_chances(labels).items():
            counted = [numbers[text] for text in chosen]
            counted.append(sum(numbers.values()) - sum(counted))
            chances[chosen] = float(chance)
            then[chosen] = (Noised(counted, [self.noise] * len(counted)),)

        def outcome(chosen: Any, values: IntArray) -> Outcome:
            return LabelledValue(values, tuple(chosen))

        return (Branches(chances, then, outcome),)

    @classmethod
    def examples(cls, neighbours: Neighbours) -> tuple[MeasurementExample, ...]:
        query, delta = LabelsQuery(variable=UNLISTED.name, most=neighbours.max_rows), Fraction(1, 8)
        two = Fraction(2)
        step = cls.fitted(name="labels", query=query, rest="other", epsilon=two, delta=delta, neighbours=neighbours)

        def told(outcome: Outcome) -> Sequence[int]:
            assert isinstance(outcome, LabelledValue)
            numbers = dict(zip(outcome.labels, outcome.values.tolist(), strict=False))
            listed = (number for text in "xy" for number in (text in numbers, numbers.get(text, 0)))
            return [*listed, int(outcome.values[-1])]

        return (on_labels(step, told=told),)


def _check(query: LabelsQuery, neighbours: Neighbours) -> None:
    if not 1 <= query.most <= min(MOST_LABELS, neighbours.max_rows):
        raise ParameterError(
            f"A unit counts in at least one text, and in at most as many as it has rows, up to {MOST_LABELS}; received"
            f" {query.most}.",
            name="most",
        )


def _units(neighbours: Neighbours) -> int:
    """How many units differ between neighbours: one, or the one that left and the one that came."""
    return 2 if neighbours.is_replace else 1


def _listing(moved: int) -> Sensitivity:
    """So many texts, each by one unit."""
    return Sensitivity.of_patterns(((1,) * moved,))
