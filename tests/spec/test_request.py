"""Request documents: axes, conditions, structural zeros, margins, and refusals."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from dalenius.core.conditions import Filter
from dalenius.core.domain import Bounds, Variable
from dalenius.errors import DaleniusError, DocumentError, ParameterError, TooLarge, UnknownName
from dalenius.spec.load import load_dataset, load_request
from dalenius.spec.request import RequestDocument
from dalenius.testing.toy import toy_domain

DOMAIN = toy_domain()


def ask(privacy: dict[str, Any] | None = None, **table: Any) -> RequestDocument:
    return load_request({"table": table, "privacy": privacy or {"definition": "pure", "epsilon": 1}})


def test_the_shape_of_the_issue() -> None:
    request = load_request(
        'dataset = "dataset.toml"\n[table]\nrows = ["region"]\ncolumns = ["status"]\n'
        'where = { sex = ["female"] }\nmeasure = "count"\n'
        '[privacy]\ndefinition = "approximate"\nepsilon = 0.1\ndelta = 1e-6\nmechanism = "discrete_laplace"\n'
    )
    space = request.space(DOMAIN)
    assert space.shape == (4, 3)
    assert request.filters(DOMAIN) == (Filter(variable="sex", codes=(0,)),)
    budget = request.privacy.budget()
    assert (budget.epsilon, budget.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert request.privacy.mechanism == "discrete_laplace"
    assert request.margins(DOMAIN) is None
    assert request.layout(DOMAIN) == {"rows": ["region"], "columns": ["status"], "layers": []}


def test_axes() -> None:
    request = ask(
        rows=[{"variable": "region", "level": "half"}],
        columns=[{"variable": "status", "groups": {"ever": ["married", "3"], "never": ["1"]}}],
        layers=[{"variable": "age", "cuts": [0, 18, 65, 100]}, {"variable": "sex", "categories": ["male"]}],
    )
    half, status, age, sex = request.axes(DOMAIN)
    assert (half.name, half.labels, half.codes) == ("region.half", ("upper", "lower"), (0, 0, 1, 1))
    assert (status.labels, status.codes) == (("ever", "never"), (1, 0, 0))
    assert age.labels == ("[0, 18)", "[18, 65)", "[65, 100]")
    assert age.cuts == (0, 18, 65, 101)
    assert (sex.labels, sex.codes) == (("male",), (-1, 0))


@pytest.mark.parametrize(
    ("part", "labels"),
    [
        ({"cuts": [18, 65]}, ("[0, 18)", "[18, 65)", "[65, 100]")),
        ({"cuts": [0, 18, 65]}, ("[0, 18)", "[18, 65)", "[65, 100]")),
        ({"cuts": [18]}, ("[0, 18)", "[18, 100]")),
        ({"cuts": [18, 100]}, ("[0, 18)", "[18, 100]")),
        ({"cuts": [0]}, ("[0, 100]",)),
        ({"cuts": [18, 65], "closed": False}, ("[0, 18)", "[18, 65)", "[65, 100]")),
        ({"cuts": [18, 65], "closed": True}, ("[18, 65)",)),
        ({"cuts": [18, 100], "closed": True}, ("[18, 100]",)),
    ],
)
def test_classes_are_open_unless_closed(part: dict[str, Any], labels: tuple[str, ...]) -> None:
    (axis,) = ask(rows=[{"variable": "age", **part}]).axes(DOMAIN)
    assert axis.labels == labels
    assert DOMAIN.variable("age").shows_every_value(axis) is not part.get("closed", False)


@pytest.mark.parametrize(("lower", "labels"), [("-2", ("[-2, 0.25)", "[0.25, 3]")), ("3", ("[3, 3]",))])
def test_open_classes_of_a_fine_step_and_of_one_value(lower: str, labels: tuple[str, ...]) -> None:
    bounds = Bounds(lower=Fraction(lower), upper=Fraction(3), step=Fraction(1, 4))
    variable = Variable(name="x", domain=bounds)
    domain = replace(DOMAIN, variables={"x": variable})
    cut = "0.25" if lower == "-2" else "3"
    (axis,) = ask(rows=[{"variable": "x", "cuts": [cut]}]).axes(domain)
    assert axis.labels == labels and variable.shows_every_value(axis)
    assert axis.cuts == ((-8, 1, 13) if lower == "-2" else (12, 13))
    (wide,) = ask(rows=[{"variable": "x", "width": 10}]).axes(domain)
    assert variable.shows_every_value(wide) and len(wide) == 1


@pytest.mark.parametrize(
    ("condition", "labels"),
    [
        ({"at_least": 18}, ("[18, 65)", "[65, 100]")),
        ({"at_least": "17.5"}, ("[18, 65)", "[65, 100]")),
        ({"at_least": 17}, ("[0, 18)", "[18, 65)", "[65, 100]")),
        ({"at_most": 65}, ("[0, 18)", "[18, 65)", "[65, 100]")),
        ({"at_most": "64.5"}, ("[0, 18)", "[18, 65)")),
        ({"at_least": 18, "at_most": 64}, ("[18, 65)",)),
        ({"at_least": 70}, ("[18, 65)", "[65, 100]")),
    ],
)
def test_classes_are_not_opened_to_values_that_a_condition_excludes(
    condition: dict[str, Any], labels: tuple[str, ...]
) -> None:
    request = ask(rows=[{"variable": "age", "cuts": [18, 65]}], where={"age": condition})
    assert request.axes(DOMAIN)[0].labels == labels


def test_conditions() -> None:
    where = {
        "age": {"at_least": "17.5", "at_most": 64},
        "region": {"level": "half", "groups": ["lower"]},
        "sex": "male",
    }
    assert ask(where=where).filters(DOMAIN) == (
        Filter(variable="sex", codes=(1,)),
        Filter(variable="region", codes=(2, 3)),
        Filter(variable="age", low=18, high=64),
    )


def test_structural_zeros_follow_axes_levels_and_conditions() -> None:
    assert ask(rows=["sex"], columns=["status"]).space(DOMAIN).structural_zeros == {(1, 2)}
    assert ask(rows=["sex"]).space(DOMAIN).structural_zeros == frozenset()
    assert ask(rows=["sex"], where={"status": ["widowed"]}).space(DOMAIN).structural_zeros == {(1,)}
    assert ask(rows=["status"], where={"sex": "male"}).space(DOMAIN).structural_zeros == {(2,)}
    grouped = {"variable": "status", "groups": {"alone": ["single", "widowed"], "w": ["married"]}}
    assert ask(rows=["sex"], columns=[grouped]).space(DOMAIN).structural_zeros == frozenset()


def test_margins() -> None:
    both = ask(rows=["sex"], columns=["region"], margins="all")
    assert both.margins(DOMAIN) == (("sex", "region"), ("sex",), ("region",), ())
    some = ask(
        rows=["sex"], columns=["region"], margins=[["region"], ["region.half", "sex"], []], weights=[1, "0.5", 2]
    )
    assert some.margins(DOMAIN) == (("region",), ("sex", "region.half"), ())


REFUSED: list[tuple[dict[str, Any], type[DaleniusError], str]] = [
    ({"rows": ["regio"]}, UnknownName, "Did you mean 'region'"),
    ({"rows": ["age"]}, ParameterError, "cuts"),
    ({"rows": ["sex", "sex"]}, ParameterError, "one axis"),
    ({"rows": [{"variable": "region", "level": "quarter"}]}, UnknownName, "quarter"),
    ({"rows": [{"variable": "region", "categories": ["up"]}]}, UnknownName, "'up'"),
    ({"rows": [{"variable": "region", "categories": ["north", "north"]}]}, DocumentError, "twice"),
    ({"rows": [{"variable": "region", "categories": []}]}, DocumentError, "rows"),
    ({"rows": [{"variable": "region", "groups": {"g": []}}]}, DocumentError, "no members"),
    ({"rows": [{"variable": "region", "level": "half", "cuts": [0, 1]}]}, DocumentError, "one of"),
    ({"rows": [{"variable": "age", "cuts": [10, 5]}]}, ParameterError, "rise"),
    ({"rows": [{"variable": "age", "cuts": [20, 10, 30]}]}, ParameterError, r"\['20', '10', '30'\]"),
    ({"rows": [{"variable": "age", "cuts": []}]}, DocumentError, "must not be empty"),
    ({"rows": [{"variable": "age", "cuts": [18], "closed": True}]}, DocumentError, "two `cuts`"),
    ({"rows": [{"variable": "age", "width": 5, "closed": True}]}, DocumentError, "with `width`"),
    ({"rows": [{"variable": "sex", "closed": True}]}, DocumentError, "alone"),
    ({"rows": [{"variable": "age", "cuts": [18, 65], "closed": "yes"}]}, DocumentError, "closed"),
    ({"rows": [{"variable": "age", "cuts": [0, 500]}]}, ParameterError, "bounds"),
    ({"rows": [{"variable": "age", "cuts": [0, 0.5, 100]}]}, ParameterError, "multiples"),
    ({"rows": [{"variable": "age", "cuts": [0, float("nan")]}]}, DocumentError, "finite"),
    ({"where": {"sex": []}}, DocumentError, "no category"),
    ({"where": {"sex": {"at_least": 3}}}, ParameterError, "categories"),
    ({"where": {"age": {"at_least": 5, "at_most": 4}}}, ParameterError, "no value"),
    ({"where": {"age": {}}}, DocumentError, "at_least"),
    ({"where": {"age": [5]}}, ParameterError, "numeric"),
    ({"where": {"nobody": ["x"]}}, UnknownName, "nobody"),
    ({"measure": "total"}, DocumentError, "of ="),
    ({"measure": "count", "of": "age"}, DocumentError, "takes no 'of'"),
    ({"measure": "modal"}, UnknownName, "Did you mean .mode"),
    ({"row": ["sex"]}, DocumentError, "Did you mean 'rows'"),
    ({"rows": ["sex"], "margins": [["region"]]}, UnknownName, "region"),
    ({"rows": ["sex"], "margins": "some"}, DocumentError, "margins"),
    ({"rows": ["sex"], "margins": [["sex"]], "weights": [1, 2]}, DocumentError, "as many"),
    ({"rows": ["sex"], "margins": [["sex"]], "weights": [0]}, DocumentError, "positive"),
    ({"rows": ["sex"], "margins": [["sex", "sex"]]}, DocumentError, "twice"),
]


@pytest.mark.parametrize(("table", "error", "words"), REFUSED, ids=[w + str(i) for i, (_, _, w) in enumerate(REFUSED)])
def test_refused_tables(table: dict[str, Any], error: type[DaleniusError], words: str) -> None:
    with pytest.raises(error, match=words):
        request = ask(**table)
        request.space(DOMAIN)
        request.margins(DOMAIN)


@pytest.mark.parametrize(
    "privacy",
    [
        {"definition": "pure"},
        {"definition": "pure", "epsilon": 0},
        {"definition": "pure", "epsilon": -1},
        {"definition": "pure", "epsilon": 10**6},
        {"definition": "pure", "epsilon": float("nan")},
        {"definition": "pure", "epsilon": float("inf")},
        {"definition": "pure", "epsilon": True},
        {"definition": "pure", "epsilon": "much"},
        {"definition": "pure", "epsilon": "1e99999999"},
        {"definition": "pure", "epsilon": [1]},
        {"definition": "approximate", "epsilon": 1, "delta": 0},
        {"definition": "approximate", "epsilon": 1, "delta": 1},
        {"definition": "approximate", "epsilon": 1, "delta": -0.1},
        {"definition": "zero_concentrated", "rho": "1/0"},
        {"definition": 3, "epsilon": 1},
        {"epsilon": 1, "rho": 1},
        {"definition": "pure", "epsilon": 1, "epsilonn": 1},
    ],
)
def test_refused_budgets(privacy: dict[str, Any]) -> None:
    with pytest.raises((DocumentError, ParameterError)):
        ask(privacy, rows=["sex"])


def test_a_thousand_million_cells() -> None:
    variables = {f"v{i}": {"categories": list(range(1000))} for i in range(3)}
    domain = load_dataset({"dataset": {"name": "d", "population": "p"}, "variables": variables}).domain()
    with pytest.raises(TooLarge, match="1,000,000,000 cells"):
        ask(rows=["v0"], columns=["v1"], layers=["v2"]).space(domain)
