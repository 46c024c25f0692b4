"""Stored sentences for readers of German: every guarantee that holds everywhere, every kind of neighbours, every universe."""

from fractions import Fraction
from itertools import product

import pytest

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.spec.guarantees import told
from dalenius.spec.universe import Universe

AMOUNTS = {"epsilon": Fraction(1, 2), "delta": Fraction(1, 10**6), "rho": Fraction(1, 8)}
PLAIN = [name for name, one in registry.every("definitions").items() if one.scope is Scope.ALL_DATA]


@pytest.mark.parametrize("definition", PLAIN)
def test_every_guarantee_that_holds_everywhere_is_told_in_german(definition: str) -> None:
    made = registry.get("definitions", definition)()
    lists = [made.amounts, *([("rho", "delta")] if "rho" in made.amounts else [])]
    for names in lists:
        budget = Budget(definition=definition, **{name: AMOUNTS[name] for name in names})
        said = told(made.sentence(budget), "de")
        assert "Differential Privacy" in said and "unit" not in said and "at most" not in said, said
        assert told(made.sentence(budget), "en") == made.sentence(budget)


def test_every_kind_of_neighbours_is_told_in_german_and_what_is_not_known_stays() -> None:
    for relation, neighbours in product(Relation, ({}, {"unit": "person", "max_rows": 3})):
        said = told(f"{Neighbours(relation=relation, **neighbours).sentence()} And more.", "de")
        assert said.startswith("Zwei Datensätze sind Nachbarn") and said.endswith(" And more.")
        assert "neighbours" not in said and ("3 Zeile" in said) is bool(neighbours)


@pytest.mark.parametrize(
    "universe",
    [
        Universe(),
        Universe(has_conditions=True),
        Universe(needs=("age",)),
        Universe(needs=("age", "sex"), unshown=("sex",)),
        Universe(widened=("age", "sex")),
        Universe(widened=("age",), has_conditions=True),
        Universe(needs=("age",), widened=("sex",)),
        Universe(needs=("job",), is_undeclared=True),
    ],
    ids=repr,
)
def test_every_universe_is_told_as_it_is_said(universe: Universe) -> None:
    assert told(universe.sentence(), "de") == universe.sentence(language="de")
