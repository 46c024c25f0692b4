"""Toy data sets with everything that real ones have: odd values, persons with several rows, structural zeros."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from dalenius.core.domain import Bounds, Categories, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation


def kit_domain(variables: Mapping[str, Variable], neighbours: Neighbours, **further: Any) -> Domain:
    """A domain of a kit; persons are told apart by the column `person`."""
    person = "person" if neighbours.unit == "person" else None
    named = {"name": "kit", "population": "kit", "version": "1", "unit_id": person} | further
    return Domain(variables=dict(variables), neighbours=neighbours, **named)


def toy_domain(
    *, relation: str = "add-remove", unit_id: str | None = None, max_rows: int = 1, missing: str = "drop"
) -> Domain:
    region = Categories(labels=("north", "east", "south", "west"), missing=missing, unseen="west")
    variables = {
        "sex": Variable(name="sex", domain=Categories(labels=("female", "male"))),
        "region": Variable(
            name="region",
            domain=region,
            hierarchies=(Hierarchy.of("half", {"upper": ("north", "east"), "lower": ("south", "west")}, region),),
        ),
        "status": Variable(
            name="status", domain=Categories(labels=("single", "married", "widowed"), values=("1", "2", "3"))
        ),
        "age": Variable(name="age", domain=Bounds(lower=Fraction(0), upper=Fraction(100), outside="drop")),
        "income": Variable(
            name="income",
            domain=Bounds(lower=Fraction(-50), upper=Fraction(1000), step=Fraction(1, 2), missing="0", outside="clamp"),
        ),
    }
    unit, zeros = "row" if unit_id is None else "person", ({"sex": ("male",), "status": ("widowed",)},)
    neighbours = Neighbours(relation=Relation(relation), unit=unit, max_rows=max_rows)
    named = {"name": "toy", "population": "toys", "unit_id": unit_id}
    return kit_domain(variables, neighbours, is_public=True, structural_zeros=zeros, **named)


def toy_rows() -> list[dict[str, Any]]:
    columns = ("person", "sex", "region", "status", "age", "income")
    rows = [
        ("p1", "female", "north", "1", 34, 120.5),
        ("p1", "female", "south", "1", 34, 80.25),
        ("p1", "female", "east", "2", 35, -75.0),
        ("p2", "male", "north", "2", 51, 2000.0),
        ("p2", "male", "nowhere", "2", 51, None),
        ("p3", "male", "west", "3", 70, 12.75),
        ("p4", None, "east", "1", 18, 0.0),
        ("p5", "female", None, "2", 101, 44.0),
        ("p6", "other", "south", "9", -1, float("inf")),
        ("p7", "male", "south", "1", None, float("nan")),
        (None, "male", "east", "2", 44, 310.0),
        ("p8", "female", "west", "3", 88, 5.5),
    ]
    return [dict(zip(columns, row, strict=True)) for row in rows]
