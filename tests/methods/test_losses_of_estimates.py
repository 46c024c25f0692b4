"""What estimates lose, exactly, over all neighbours of tiny data, through request documents; half a sensitivity is found."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from dalenius.audit.sensitivity import DataSet, columns_of, units
from dalenius.core.domain import Domain
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.gate import fetched
from dalenius.engines.memory import MemorySource
from dalenius.measurements.noisy import CombinedStatistic, Noisy
from dalenius.spec.dataset import DatasetDocument
from dalenius.statistics import Parabola, Separate, Simplex
from dalenius.statistics.count import Count
from dalenius.statistics.squared_influence import SquaredInfluence
from dalenius.testing.asking import plan_of

KINDS = (("a", 0, 0, 2), ("a", 3, 2, 2), ("b", 3, 0, 2), ("b", 1, 2, 0))
SIZE = 3
TABLES: dict[str, dict[str, Any]] = {
    "mean": {"measure": "mean", "of": "x", "error": "sampling"},
    "mean, noise alone": {"measure": "mean", "of": "x", "error": "noise"},
    "means by group": {"rows": ["g"], "measure": "mean", "of": "x", "error": "sampling"},
    "proportion": {"measure": "proportion", "of": "g", "among": ["a"]},
    "proportion of numbers": {"measure": "proportion", "of": "x", "among": {"at_least": 1, "at_most": 2}},
    "ratio": {"rows": ["g"], "measure": "ratio", "of": "x", "other": "y"},
    "variance": {"rows": ["g"], "measure": "variance", "of": "x"},
    "variance, noise alone": {"rows": ["g"], "measure": "variance", "of": "x", "error": "noise"},
    "standard deviation": {"measure": "standard_deviation", "of": "x"},
    "covariance": {"measure": "covariance", "of": "x", "other": "y"},
    "correlation": {"rows": ["g"], "measure": "correlation", "of": "x", "other": "y"},
    "normal law": {"rows": ["g"], "measure": "exponential_family", "of": "x", "model": "gaussian"},
    "poisson law": {"measure": "exponential_family", "of": "x", "model": "poisson"},
    "weighted mean": {"rows": ["g"], "measure": "mean", "of": "x", "weight": "w"},
    "weighted mean, noise alone": {"measure": "mean", "of": "x", "weight": "w", "error": "noise"},
    "weighted total": {"rows": ["g"], "measure": "total", "of": "x", "weight": "w"},
    "distribution": {"rows": ["g"], "measure": "distribution", "of": "x", "bins": [0, 1]},
    "weighted distribution": {"rows": ["g"], "measure": "distribution", "of": "x", "bins": [0, 1], "weight": "w"},
    "weighted ratio": {"measure": "ratio", "of": "x", "other": "y", "weight": "w"},
}
POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}
PRIVACY: dict[str, dict[str, Any]] = {
    "pure": {"definition": "pure", "epsilon": 2},
    "zero_concentrated": {"definition": "zero_concentrated", "rho": 2, "mechanism": "discrete_gaussian"},
}


def domain_of(relation: Relation, *, has_size: bool, rows: int = 1) -> Domain:
    unit: dict[str, Any] = {"relation": str(relation)}
    if rows > 1:
        unit |= {"id": "person", "name": "person", "max_rows": rows}
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p"} | ({"size": SIZE} if has_size else {}),
            "unit": unit,
            "design": {"draws": "independent"},
            "variables": {
                "g": {"categories": ["a", "b"], "missing": "a", "unseen": "a"},
                "x": {"bounds": [0, 3], "step": 1, "missing": "0"},
                "y": {"bounds": [0, 2], "step": 1, "missing": "0"},
                "w": {"weight": True, "bounds": [0, 2], "step": 1, "missing": "0"},
            },
        }
    ).domain()


def furthest(statistic: Any) -> Any:
    """Influences after the first answer that lets rows at the corners add the most: products of x - 1.5 and y - 1."""
    if not isinstance(statistic, SquaredInfluence):
        return statistic
    products = (float(term == (1, 1)) for term in statistic.rows.exponents)
    points = ((1.5, 1.0, *products, 1.5),) * statistic.space.size
    return replace(statistic, rows=replace(statistic.rows, points=points))


def exact(plan: TablePlan, domain: Domain, data: DataSet) -> list[list[int]]:
    source = MemorySource(domain, columns_of(data, list(domain.variables), domain.unit_id), b"secret")
    answers = []
    for step in plan.measurements:
        assert isinstance(step, Noisy)
        content = [fetched(source, need).open_below_the_gate() for need in step.needs]
        statistic = furthest(step.statistic)
        combined = statistic.combine(content) if isinstance(statistic, CombinedStatistic) else content[0]
        answers.append([int(value) for value in combined])
    return answers


def pairs(neighbours: Neighbours, size: int | None) -> Iterator[tuple[DataSet, DataSet]]:
    """Neighbours beside nobody, one row, or as many as a public number needs; sums over rows move alike beside any others."""
    everyone = units(KINDS, neighbours.max_rows)
    others: list[DataSet] = [(), (everyone[0],)] if size is None else [(everyone[0],) * (size - 1)]
    for beside in others:
        if neighbours.is_replace:
            yield from (((*beside, a), (*beside, b)) for a, b in combinations(everyone, 2))
        else:
            yield from ((beside, (*beside, unit)) for unit in everyone)


def losses(plan: TablePlan, domain: Domain, size: int | None) -> Iterator[Fraction]:
    """Epsilon (Laplace noise) or rho (Gaussian noise) between two neighbours, for all of them: independent parts add up."""
    cache: dict[DataSet, list[list[int]]] = {}
    for pair in pairs(domain.neighbours, size):
        for data in pair:
            if data not in cache:
                cache[data] = exact(plan, domain, data)
        total = Fraction(0)
        for step, here, there in zip(plan.measurements, cache[pair[0]], cache[pair[1]], strict=True):
            shifts = [abs(a - b) for a, b in zip(here, there, strict=True)]
            noise = step.mechanism.parameters  # type: ignore[attr-defined]
            if "rate" in noise:
                total += Fraction(noise["rate"]) * sum(shifts)
            else:
                total += Fraction(sum(s * s for s in shifts)) / (2 * Fraction(noise["sigma_squared"]))
        yield total


CASES = [
    (name, definition, relation, has_size)
    for name in TABLES
    for definition in PRIVACY
    for relation in Relation
    for has_size in (False, True)
    if not has_size or relation is Relation.REPLACE
]


@pytest.mark.parametrize(("name", "definition", "relation", "has_size"), CASES)
def test_no_neighbours_lose_more_than_the_budget(
    name: str, definition: str, relation: Relation, has_size: bool
) -> None:
    domain = domain_of(relation, has_size=has_size)
    plan = plan_of(domain, {"table": TABLES[name], "privacy": PRIVACY[definition]}, POLICY)
    worst = max(losses(plan, domain, SIZE if has_size else None))
    assert Fraction(2) / 5 < worst <= 2


@pytest.mark.parametrize("name", ["means by group", "correlation", "weighted mean", "weighted ratio"])
@pytest.mark.parametrize("relation", list(Relation))
def test_persons_with_two_rows_lose_no_more(name: str, relation: Relation) -> None:
    domain = domain_of(relation, has_size=False, rows=2)
    plan = plan_of(domain, {"table": TABLES[name], "privacy": PRIVACY["pure"]}, POLICY)
    assert max(losses(plan, domain, None)) <= 2


PLANTS = {
    "mean": (Simplex, "mean, noise alone"),
    "squares of a mean": (Simplex, "mean"),
    "proportion": (Count, "proportion"),
    "ratio": (Simplex, "ratio"),
    "error of the design of a ratio": (Separate, "weighted ratio"),
    "pair of a variance": (Simplex, "variance, noise alone"),
    "powers of a variance": (Simplex, "variance"),
    "covariance": (Simplex, "covariance"),
    "error of sampling of a covariance": (SquaredInfluence, "covariance"),
    "weighted mean": (Simplex, "weighted mean, noise alone"),
    "error of the design": (Simplex, "weighted mean"),
    "weighted total": (Separate, "weighted total"),
}


def halved(monkeypatch: pytest.MonkeyPatch, statistic: Any) -> None:
    """Half of the sensitivity of a statistic or of a basis."""
    whole = statistic.sensitivity

    def half(*arguments: Any) -> Sensitivity:
        full = whole(*arguments)
        return Sensitivity.norms(l0=full.l0, l1=full.l1 / 2, l2_squared=full.l2_squared / 4, linf=full.linf / 2)

    monkeypatch.setattr(statistic, "sensitivity", half)


@pytest.mark.parametrize("plant", PLANTS)
def test_half_a_sensitivity_is_found(plant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    statistic, name = PLANTS[plant]
    domain = domain_of(Relation.ADD_REMOVE, has_size=False)
    halved(monkeypatch, statistic)
    plan = plan_of(domain, {"table": TABLES[name], "privacy": PRIVACY["pure"]}, POLICY)
    assert max(losses(plan, domain, None)) > 2


def test_half_a_sensitivity_of_total_and_squares_of_a_public_number_of_rows_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    domain = domain_of(Relation.REPLACE, has_size=True)
    halved(monkeypatch, Parabola)
    plan = plan_of(domain, {"table": TABLES["mean"], "privacy": PRIVACY["pure"]}, POLICY)
    assert max(losses(plan, domain, SIZE)) > 2
