"""Guarantees in sentences: every figure recomputed from the law and never understated, and every sentence in German."""

import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from dalenius.audit.losses import Together
from dalenius.audit.planned import source_of
from dalenius.audit.steps import fetched, pair_of, parts_between
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.plan import TablePlan, TwoStepPlan
from dalenius.core.profile import PrivacyProfile
from dalenius.core.rationals import exp_lower
from dalenius.curator.planner import Planner
from dalenius.errors import DaleniusError
from dalenius.spec import guarantees
from dalenius.spec.guarantees import SCALE, factor_of, guarantee_of, in_plain_words, rating, right_of_100, told
from dalenius.spec.load import load_asked
from dalenius.spec.universe import Universe
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.exhaustive import RELATION_NAMES, RELATIONS, neighbouring_pairs, tiny_domain
from dalenius_lab.attackers.grammar import POLICY

F = Fraction
EPSILON, BOTH, RHO, FAILING = (
    {"epsilon": "1/2"},
    {"epsilon": 1, "delta": "1/50"},
    {"rho": "1/8"},
    {"rho": "1/8", "delta": "1/50"},
)
# What each definition is paid in. A definition that is not listed here fails.
AMOUNTS: dict[str, tuple[dict[str, Any], ...]] = {
    "pure": (EPSILON,),
    "approximate": (BOTH,),
    "probabilistic": (BOTH,),
    "zero_concentrated": (RHO, FAILING),
    "public_attributes": (EPSILON, BOTH),
    "individual": (EPSILON, BOTH, RHO),
    "bootstrap": (EPSILON, BOTH, RHO),
}
CASES = [(name, amounts) for name in registry.names("definitions") for amounts in AMOUNTS[name]]
ROWS = (("a", 2), ("b", -1), ("c", 2))
ORDERS = (1.001, 1.05, 1.2, 1.5, 2.0, 4.0, 16.0, 64.0)


def budget_of(name: str, amounts: dict[str, Any]) -> Budget:
    return Budget.of(name, **amounts)


def figures(plain: str) -> tuple[list[float], int | None]:
    """The factors of odds and the right guesses of 100 that a sentence states."""
    factors = [float(text.replace(",", "")) for text in re.findall(r"(?:factor of|more than) ([\d.,]+\d)", plain)]
    right = re.search(r"right in at most (\d+)", plain)
    return factors, None if right is None else int(right[1])


# Laws of two outcomes, judged by the definitions themselves.
def loss(p: Any, q: Any) -> Any:
    return np.maximum(np.abs(np.log(p / q)), np.abs(np.log((1 - p) / (1 - q))))


def hockey(p: Any, q: Any, epsilon: float) -> Any:
    pairs = ((p, q), (q, p), (1 - p, 1 - q), (1 - q, 1 - p))
    return np.max([a - exp(epsilon) * b for a, b in pairs], axis=0)


def concentrated(p: Any, q: Any) -> Any:
    def divergence(p: Any, q: Any, order: float) -> Any:
        return np.log(p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)) / (order - 1) / order

    return np.max([divergence(*pair, order) for order in ORDERS for pair in ((p, q), (q, p))], axis=0)


@pytest.mark.parametrize(("name", "amounts"), CASES, ids=str)
def test_no_law_that_keeps_a_definition_is_told_apart_more_often_than_is_said(
    name: str, amounts: dict[str, Any]
) -> None:
    budget = budget_of(name, amounts)
    claim = registry.get("definitions", name)().claim(budget, Relation.ADD_REMOVE)
    p, q = np.meshgrid(*[np.linspace(0.0005, 0.9995, 1000)] * 2)
    failure = float(budget.delta or 0)
    if budget.rho is not None:
        kept = concentrated(p, q) <= float(budget.rho)
    elif budget.delta is None:
        kept = loss(p, q) <= float(budget.epsilon or 0)
    else:
        # Pairs without failure beside an outcome of one side alone reach what (epsilon, delta) allows.
        kept = loss(p, q) <= float(budget.epsilon or 0)
        assert np.max((p - q)[hockey(p, q, float(budget.epsilon or 0)) <= failure]) <= float(claim.distance())
    # What fails with the whole delta is recognised then.
    worst = failure + (1 - failure) * np.max((p - q)[kept])
    assert 0.98 * float(claim.distance()) <= worst <= float(claim.distance())
    assert claim.is_pure == (set(amounts) == {"epsilon"})


# Plans on tiny data, against the exact laws of their answers.
def domain_of(name: str, neighbours: Neighbours) -> Domain:
    domain = tiny_domain(neighbours)
    if name != "public_attributes":
        return domain
    return replace(
        domain, variables=dict(domain.variables) | {"x": replace(domain.variable("x"), public_source="roll")}
    )


def sides_of(domain: Domain, data: Any) -> Any:
    return source_of(
        domain, tuple(tuple(dict(zip(domain.variables, row, strict=True)) for row in unit) for unit in data)
    )


def pairs(domain: Domain, neighbours: Neighbours, most: int = 2) -> Iterator[tuple[Any, Any]]:
    for left, right in neighbouring_pairs(ROWS, most, neighbours):
        # Who keeps what is public differs in the rest alone.
        if not neighbours.public or {row[1] for row in left[-1]} == {row[1] for row in right[-1]}:
            yield sides_of(domain, left), sides_of(domain, right)


def worst_of(plan: TablePlan, found: Iterator[tuple[Any, Any]]) -> tuple[float, float]:
    """The largest total variation and the largest log-ratio."""
    one_way = [pair_of(plan, *sides) for sides in found]
    both: list[Any] = [*one_way, *(pair.reversed() for pair in one_way)]
    return max(pair.delta(0.0) for pair in both), max(pair.largest() for pair in both)


PLAIN = [case for case in CASES if not registry.get("definitions", case[0]).scope.is_data_dependent]


@pytest.mark.parametrize("neighbours", RELATIONS, ids=RELATION_NAMES)
@pytest.mark.parametrize(("name", "amounts"), PLAIN, ids=str)
def test_the_figure_of_a_table_is_that_of_its_noise(name: str, amounts: dict[str, Any], neighbours: Neighbours) -> None:
    domain = domain_of(name, neighbours)
    plan = plan_of(domain, {"table": {"rows": ["g"]}, "privacy": {"definition": name, **amounts}}, POLICY)
    rows = (("a", 2), ("b", 2), ("c", 2))
    found = (tuple(sides_of(domain, side) for side in pair) for pair in neighbouring_pairs(rows, 2, plan.neighbours))
    distance, ratio = worst_of(plan, found)
    factors, right = figures(guarantee_of(plan).plain)
    if factors:
        assert right is None and exp(ratio) <= factors[0] * (1 + 1e-9) <= 1.02 * exp(ratio)
        if len(factors) > 1:
            assert not plan.neighbours.is_replace and exp(2 * ratio) <= factors[1] <= 1.02 * exp(2 * ratio)
    else:
        assert right is not None and 50 * (1 + distance) <= right <= 50 * (1 + distance) + 1.2


TABLES: dict[str, dict[str, Any]] = {
    "margins": {"rows": ["g"], "margins": "all", "universe": "complete"},
    "total": {"rows": ["g"], "measure": "total", "of": "x"},
    "mean": {"measure": "mean", "of": "x"},
    "median": {"measure": "median", "of": "x"},
    "mode": {"rows": ["g"], "measure": "mode"},
    "best": {"rows": ["g"], "measure": "best", "of": "x", "method": "permute_and_flip"},
    "refined": {"rows": ["g"], "refine": {"half": 2}},
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize(("name", "amounts"), PLAIN, ids=str)
def test_no_plan_is_told_apart_more_often_than_it_says(name: str, amounts: dict[str, Any], table: str) -> None:
    for neighbours in RELATIONS[:2]:
        domain = domain_of(name, neighbours)
        try:
            plan = plan_of(domain, {"table": TABLES[table], "privacy": {"definition": name, **amounts}}, POLICY)
        except DaleniusError:
            continue
        distance, ratio = worst_of(plan, pairs(domain, plan.neighbours))
        factors, right = figures(guarantee_of(plan).plain)
        assert exp(ratio) <= factors[0] * (1 + 1e-9) if factors else 50 * (1 + distance) <= (right or 0)


def test_a_plan_that_follows_its_answers_is_judged_by_its_charge() -> None:
    request = {"table": TABLES["refined"], "privacy": {"definition": "zero_concentrated", **RHO}}
    plan = plan_of(tiny_domain(Neighbours()), request, POLICY)
    charge = PrivacyProfile(relation=Relation.ADD_REMOVE, rho=plan.reservation.rho, rho_delta=plan.reservation.delta)
    assert isinstance(plan, TwoStepPlan)
    assert figures(guarantee_of(plan).plain)[1] == right_of_100(charge.distance())


def test_odds_between_two_values_change_by_the_square_of_the_factor() -> None:
    """Whoever is known to be in the data is told apart by one removal and one addition: the second factor is needed."""
    domain = tiny_domain(Neighbours())
    plan = plan_of(domain, {"table": {"rows": ["g"]}, "privacy": {"definition": "pure", **EPSILON}}, POLICY)
    ratio = pair_of(plan, sides_of(domain, [[("a", 0)]]), sides_of(domain, [[("b", 0)]])).largest()
    (first, second), _ = figures(guarantee_of(plan).plain)
    assert first < exp(ratio) <= second * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "amounts"), [("individual", EPSILON), ("bootstrap", EPSILON), ("bootstrap", RHO)], ids=str
)
def test_data_dependent_figures_hold_between_the_compared_data_sets(name: str, amounts: dict[str, Any]) -> None:
    domain = tiny_domain(Neighbours())
    request = {"table": {"measure": "total", "of": "x"}, "privacy": {"definition": name, **amounts}}
    plan = plan_of(domain, request, POLICY)
    plain = guarantee_of(plan).plain
    assert plain.startswith("This is not differential privacy: no figure can be stated") and "scale" not in plain
    factors, right = figures(plain)
    actual = [(("a", 2),), (("b", -1),)]
    if name == "individual":
        compared = [(actual, actual[:1]), (actual, [*actual, (("c", 2),)])]
    else:
        compared = [(actual[:1], actual), (actual[1:], actual), (actual[:1], actual[:1] * 2)]
    step = plan.measurements[0]
    at = fetched(step, sides_of(domain, actual))
    for left, right_side in compared:
        here, there = (fetched(step, sides_of(domain, side)) for side in (left, right_side))
        for parts in (parts_between(step, here, there, at), parts_between(step, there, here, at)):
            pair = Together(tuple(parts))
            if factors:
                assert exp(pair.largest()) <= factors[0] * (1 + 1e-9)
            else:
                assert 50 * (1 + pair.delta(0.0)) <= (right or 0)


def test_a_group_and_a_batch_are_named() -> None:
    domain = tiny_domain(Neighbours(unit="person", max_rows=2))
    privacy = {"definition": "zero_concentrated", **RHO}
    alone = plan_of(domain, {"table": {"rows": ["g"]}, "privacy": privacy}, POLICY)
    group = plan_of(domain, {"table": {"rows": ["g"]}, "privacy": privacy | {"group": 2}}, POLICY)
    words = guarantee_of(group)
    assert "whether one group of 2 units (person) is in the data" in words.plain
    assert "for any 2 of them together" in words.formal
    assert figures(words.plain) == figures(guarantee_of(alone).plain)
    batch = {"dataset": "tiny", "privacy": privacy, "table": [{"rows": ["g"]}, {"measure": "total", "of": "x"}]}
    planned = Planner(domain=domain, policy=POLICY).plan(load_asked(batch))
    together = guarantee_of(planned).plain
    _, right = figures(together)
    assert together.endswith(guarantees.TOGETHER)
    assert 50 * (1 + worst_of(planned, pairs(domain, domain.neighbours))[0]) <= (right or 0) <= 63


@pytest.mark.parametrize("size", [49, 50, 51])
def test_delta_stands_beside_one_over_the_public_size(size: int) -> None:
    domain = replace(tiny_domain(Neighbours()), public_size=size)
    request = {"table": {"rows": ["g"]}, "privacy": {"definition": "approximate", **BOTH}}
    warnings = " ".join(plan_of(domain, request, POLICY).warnings)
    assert f"delta = 0.02 is {'above' if size > 50 else 'at most'} 1/{size}, one over the public size" in warnings
    assert ("every record whole" in warnings) == (size > 50)


def test_figures_are_rounded_up() -> None:
    for numerator in range(1, 1500, 7):
        epsilon = F(numerator, 100)
        written, exact = factor_of(epsilon), exp_lower(epsilon)
        stated = F(10) ** int(written[3:]) if "^" in written else F(Decimal(written.replace(",", "")))
        assert exact <= stated and ("^" in written or stated - 1 <= (exact - 1) * F(111, 100))
    for distance in (F(0), F(1, 10**9), F(8, 100), F(8001, 100000), F(1)):
        assert 50 * (1 + distance) <= right_of_100(distance) < 50 * (1 + distance) + 1


def test_the_scale_is_that_of_odds_of_three_and_nine() -> None:
    assert [rating(right) for right in (50, 55, 56, 75, 76, 90, 91, 100)] == [
        *("very strong", "very strong", "strong", "strong", "moderate", "moderate", "weak", "weak")
    ]
    assert [most for _, most in SCALE[1:3]] == [100 * odds // (1 + odds) for odds in (3, 9)]


# Languages.
def every_sentence() -> Iterator[str]:
    for (name, amounts), relation in product(CASES, Relation):
        definition: Any = registry.get("definitions", name)()
        public = ("town", "age") if definition.scope is Scope.GIVEN_THE_PUBLIC else ()
        for unit, rows in (("row", 1), ("person", 3)):
            neighbours = Neighbours(
                relation=Relation.REPLACE if public else relation,
                unit=unit,
                max_rows=rows,
                scope=definition.scope,
                public=public,
            )
            budget = budget_of(name, amounts)
            yield in_plain_words(definition.claim(budget, relation), neighbours)
            yield f"{definition.sentence(budget)} {neighbours.sentence()} {guarantees.GROUP.format(size=2)}"


def test_every_guarantee_is_told_in_german() -> None:
    english = re.compile(r"\b(the|of|is|at most|and|unit|record|person|strong|weak|public)\b")
    for sentence in every_sentence():
        said = told(sentence, "de")
        assert not english.search(said), said
        assert told(sentence, "en") == sentence


def test_numbers_of_a_guarantee_have_the_marks_of_the_language_and_what_is_not_known_stays() -> None:
    claim = PrivacyProfile(relation=Relation.ADD_REMOVE, epsilon=F(8))
    said = told(f"{in_plain_words(claim, Neighbours(unit='farm', max_rows=2))} And more.", "de")
    assert "Faktor 2.990. " in said and "(farm)" in said and said.endswith(" And more.")
    assert "Faktor 1,65" in told(in_plain_words(replace(claim, epsilon=F(1, 2)), Neighbours()), "de")


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
