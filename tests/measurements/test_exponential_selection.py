"""The exponential mechanism over cells: exact output probabilities on all small tables."""

from fractions import Fraction
from itertools import product
from math import log

import pytest
from tests.measurements.derived_laws import stated
from tests.measurements.test_permute_and_flip import SPACE, neighbours_of

from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery
from dalenius.errors import ParameterError, TooLarge
from dalenius.measurements.exponential_selection import ExponentialSelection
from dalenius.measurements.selections import cells


def selection(relation: Relation) -> ExponentialSelection:
    return ExponentialSelection("mode", TableQuery(space=SPACE), Fraction(1), Neighbours(relation=relation))


@pytest.mark.parametrize("relation", list(Relation))
def test_losses_are_within_epsilon_and_of_bounded_range(relation: Relation) -> None:
    select = selection(relation)
    worst = widest = 0.0
    for counts in product(range(5), repeat=3):
        here = stated(select, counts).values()
        for other in neighbours_of(counts, relation):
            losses = [log(p / q) for p, q in zip(here, stated(select, other).values(), strict=True)]
            worst = max(worst, *(abs(loss) for loss in losses))
            widest = max(widest, max(losses) - min(losses))
    assert worst <= 1 + 1e-12
    assert 0.95 <= widest <= 1 + 1e-12


def test_a_selection_costs_an_eighth_of_its_square() -> None:
    assert selection(Relation.REPLACE).profile(Neighbours(relation=Relation.REPLACE)).rho == Fraction(1, 8)


def test_what_could_not_be_chosen_from_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ParameterError):
        ExponentialSelection("mode", TableQuery(space=SPACE), Fraction(101), Neighbours())
    monkeypatch.setattr(cells, "MOST_CANDIDATES", 2)
    with pytest.raises(TooLarge):
        selection(Relation.REPLACE)
