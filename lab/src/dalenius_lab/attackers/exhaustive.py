"""Every neighbour on tiny data, through a request document: the exact loss of its answers against what was guaranteed
and charged.

Nothing of the product's own claim is used: the request is planned on the public path, the reference engine answers for
both neighbours, and the laws of the two answers are listed and divided.
"""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from dalenius.audit.charges import ratio_of
from dalenius.audit.planned import source_of
from dalenius.audit.sensitivity import DataSet, units
from dalenius.audit.steps import pair_of
from dalenius.core.domain import Bounds, Categories, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.spec.policy import PolicyDocument
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers.grammar import POLICY

RELATIONS = (
    Neighbours(),
    Neighbours(relation=Relation.REPLACE),
    Neighbours(unit="person", max_rows=2),
    Neighbours(relation=Relation.REPLACE, unit="person", max_rows=2),
)
RELATION_NAMES = ("add-remove", "replace", "persons", "replaced persons")
# A declared pair, and a row that a rule drops.
ROWS = (("a", 2), ("b", -1), ("c", 0), (None, 1))


def tiny_domain(neighbours: Neighbours) -> Domain:
    """Three categories in two groups, and a number from -1 to 2."""
    labels = Categories(labels=("a", "b", "c"))
    group = Variable(
        name="g", domain=labels, hierarchies=(Hierarchy.of("half", {"first": ("a", "b"), "rest": ("c",)}, labels),)
    )
    number = Variable(name="x", domain=Bounds(lower=Fraction(-1), upper=Fraction(2), missing="0", outside="clamp"))
    return Domain(
        name="tiny",
        population="tiny",
        version="1",
        variables={"g": group, "x": number},
        neighbours=neighbours,
        unit_id="person" if neighbours.unit == "person" else None,
    )


def neighbouring_pairs(
    rows: Sequence[tuple[Any, ...]], most: int, neighbours: Neighbours, given_rows: int | None = None
) -> Iterator[tuple[DataSet, DataSet]]:
    """Every pair of neighbours whose larger side has at most `most` units.

    `given_rows` lets units bring more rows than `max_rows`, which an engine then has to bound.
    """
    everyone = units(rows, neighbours.max_rows if given_rows is None else given_rows)
    for size in range(most):
        for others in combinations_with_replacement(everyone, size):
            if not neighbours.is_replace:
                for unit in everyone:
                    yield others, (*others, unit)
                continue
            for first, second in combinations_with_replacement(everyone, 2):
                if first != second:
                    yield (*others, first), (*others, second)


def worst_ratio(
    request: Mapping[str, Any],
    neighbours: Neighbours,
    *,
    most: int = 3,
    rows: Sequence[tuple[Any, ...]] = ROWS,
    policy: PolicyDocument = POLICY,
) -> float:
    """The largest loss over all neighbours of at most `most` units, relative to the guarantee and to the charge."""
    domain = tiny_domain(neighbours)
    plan = plan_of(domain, request, policy)
    return max(_ratios(plan, domain, rows, most), default=0.0)


def _ratios(plan: TablePlan, domain: Domain, rows: Sequence[tuple[Any, ...]], most: int) -> Iterator[float]:
    names = list(domain.variables)
    for pair in neighbouring_pairs(rows, most, domain.neighbours):
        # The unit that changes comes last on both sides, so that the others keep their names.
        sides = [
            source_of(domain, tuple(tuple(dict(zip(names, row, strict=True)) for row in unit) for unit in side))
            for side in pair
        ]
        yield ratio_of(plan, pair_of(plan, *sides))
