"""Totals, means and variances at and within the data: every neighbour of small data through request documents, planted faults, refusals."""

from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from dalenius.audit import sensitivity as brute
from dalenius.core.domain import Bounds, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import TableQuery, ValuesQuery
from dalenius.core.release import Value
from dalenius.errors import DaleniusError, TooLarge, Unsupported
from dalenius.plans.at_the_data import TotalAtTheData
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.mean import Mean
from dalenius.statistics.variance import Variance
from dalenius.testing.asking import plan_of
from dalenius_lab.attackers import at_the_data
from dalenius_lab.brute import everywhere

POLICY = {
    "allow": {"acknowledge": ["individual", "bootstrap"]},
    "floors": {"individual": "1/1000", "bootstrap": "1/1000"},
}
INDIVIDUAL = {"definition": "individual", "epsilon": "1.5"}
LOW, HIGH, SIZE = 0, 4, 3


def domain_of(relation: Relation = Relation.REPLACE, size: int | None = SIZE, missing: str = "0") -> Domain:
    number = Variable(name="x", domain=Bounds(lower=Fraction(LOW), upper=Fraction(HIGH), missing=missing))
    return Domain(
        name="few",
        population="few",
        version="1",
        variables={"x": number},
        neighbours=Neighbours(relation=relation),
        public_size=size,
    )


def test_totals_hold_for_every_neighbour_of_small_data() -> None:
    seen = at_the_data.fuzz(11, 160, definition="individual", method="total")
    assert seen.requests >= 15
    assert seen.pairs > 500
    assert not seen.broken


def test_half_the_sensitivity_of_a_total_is_found() -> None:
    right = MagnitudeTable.local
    with patch.object(MagnitudeTable, "local", lambda *arguments: right(*arguments) // 2):
        assert at_the_data.fuzz(11, 60, definition="individual", method="total").broken


def test_the_noise_of_a_mean_hides_every_record_of_these_data() -> None:
    """At every list of three: the sum moves by at most the scale's sensitivity, and some record moves it that far."""
    step: Any = plan_of(
        domain_of(), {"table": {"measure": "mean", "of": "x"}, "privacy": INDIVIDUAL}, POLICY
    ).measurements[0]
    for values in product(range(LOW, HIGH + 1), repeat=SIZE):
        list_ = np.array(values, dtype=np.int64)
        moves = [
            abs(int(step.statistic.value(np.array(_with(values, i, v)))) - step.statistic.value(list_))
            for i in range(SIZE)
            for v in range(LOW, HIGH + 1)
        ]
        assert step.sensitivity(list_) == max(moves)


def largest_move(measure: str, definition: str) -> Fraction:
    """The largest move between the neighbours that the definition is about, as a share of the scale's sensitivity, over all data."""
    request = {"table": {"measure": measure, "of": "x"}, "privacy": INDIVIDUAL | {"definition": definition}}
    step: Any = plan_of(domain_of(), request, POLICY).measurements[0]
    shares = []
    for values in combinations_with_replacement(range(LOW, HIGH + 1), SIZE):
        scale = max(step.floor, step.sensitivity(np.array(values)))
        made = set(values) if definition == "bootstrap" else set(range(LOW, HIGH + 1))
        starts = product(made, repeat=SIZE) if definition == "bootstrap" else [values]
        for start in starts:
            here = step.statistic.value(np.array(start))
            moved = (_with(start, i, v) for i in range(SIZE) for v in made)
            shares += [Fraction(abs(step.statistic.value(np.array(there)) - here), scale) for there in moved]
    return max(shares)


@pytest.mark.parametrize("definition", ["individual", "bootstrap"])
@pytest.mark.parametrize("measure", ["mean", "variance"])
def test_no_neighbour_of_any_small_data_moves_a_mean_or_variance_beyond_its_scale(
    measure: str, definition: str
) -> None:
    assert largest_move(measure, definition) == 1


@pytest.mark.parametrize(("measure", "statistic"), [("mean", Mean), ("variance", Variance)])
def test_half_the_sensitivity_of_a_mean_or_variance_is_found(measure: str, statistic: type[Any]) -> None:
    right = statistic.local
    with patch.object(statistic, "local", lambda self, values, neighbours: right(self, values, neighbours) / 2):
        assert largest_move(measure, "individual") > Fraction(19, 10)


def test_a_variance_is_shown_in_squared_units_and_cut_to_a_grid_that_the_declaration_fixes() -> None:
    request = {"table": {"measure": "variance", "of": "x"}, "privacy": INDIVIDUAL}
    plan = plan_of(domain_of(), request, POLICY)
    step: Any = plan.measurements[0]
    block = step.block(Value(np.array([step.statistic.value(np.array([0, 1, 4]))], dtype=np.int64)))
    assert plan.assemble((block,))[0].values[0] == pytest.approx(np.var([0, 1, 4], ddof=1))
    assert plan.limits == (0.0, 6.0)
    wide = Variable(name="x", domain=Bounds(lower=Fraction(0), upper=Fraction(2**27), missing="0"))
    far = replace(domain_of(), variables={"x": wide})
    with pytest.raises(TooLarge):
        plan_of(far, request, POLICY)


def _with(values: tuple[int, ...], place: int, value: int) -> list[int]:
    return [value if i == place else v for i, v in enumerate(values)]


def test_a_mean_is_shown_in_the_unit_of_its_variable() -> None:
    plan = plan_of(domain_of(), {"table": {"measure": "mean", "of": "x"}, "privacy": INDIVIDUAL}, POLICY)
    step: Any = plan.measurements[0]
    block = step.block(Value(np.array([6], dtype=np.int64)))
    assert plan.assemble((block,))[0].values.tolist() == [2.0]
    assert plan.limits == (0.0, 4.0)


@pytest.mark.parametrize(
    ("domain", "table"),
    [
        (domain_of(Relation.ADD_REMOVE), {"measure": "mean", "of": "x"}),
        (domain_of(size=None), {"measure": "mean", "of": "x"}),
        (domain_of(missing="drop"), {"measure": "mean", "of": "x"}),
        (domain_of(missing="drop"), {"measure": "variance", "of": "x"}),
        (domain_of(Relation.ADD_REMOVE), {"measure": "variance", "of": "x"}),
        (domain_of(), {"measure": "mean", "of": "x", "where": {"x": {"at_least": 1}}}),
        (domain_of(), {"measure": "total", "of": "x", "rows": [{"variable": "x", "cuts": [0, 2, 4]}]}),
    ],
)
def test_what_is_not_proved_is_refused_by_name(domain: Domain, table: dict[str, Any]) -> None:
    with pytest.raises(Unsupported):
        plan_of(domain, {"table": table, "privacy": INDIVIDUAL}, POLICY)


def test_ratios_and_tables_of_counts_are_refused_by_name() -> None:
    for table, definition in (
        ({"measure": "ratio", "of": "x", "other": "x"}, "individual"),
        ({"measure": "ratio", "of": "x", "other": "x"}, "bootstrap"),
        ({"rows": [{"variable": "x", "cuts": [0, 2, 4]}]}, "individual"),
        ({"rows": [{"variable": "x", "cuts": [0, 2, 4]}]}, "bootstrap"),
    ):
        with pytest.raises(DaleniusError):
            plan_of(domain_of(), {"table": table, "privacy": INDIVIDUAL | {"definition": definition}}, POLICY)


def test_nothing_is_served_that_the_policy_does_not_acknowledge() -> None:
    with pytest.raises(DaleniusError, match="acknowledge"):
        plan_of(domain_of(), {"table": {"measure": "total", "of": "x"}, "privacy": INDIVIDUAL})


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("is_complete", [True, False])
@pytest.mark.parametrize(("low", "high"), [(0, 3), (-2, 1), (1, 3), (-3, -1)])
def test_a_total_at_the_data_covers_rows_that_drop_out(relation, is_complete, low, high) -> None:
    """A row that drops out is a row of value zero: exact where there is one, and never too small."""
    neighbours = Neighbours(relation=relation)
    table = MagnitudeTable(query=TableQuery(space=CellSpace(())), low=low, high=high, is_complete=is_complete)
    total = TotalAtTheData(query=ValuesQuery(value="x"), total=table)
    universe = tuple(range(low, high + 1)) if is_complete else tuple({*range(low, high + 1), 0})
    for n in range(4):
        for data in brute.multisets(universe, n):
            values, is_exact = np.array(data, dtype=np.int64), is_complete or 0 in data
            moves = brute.local(sum, data, universe, relation), everywhere(sum, set(data), n, relation)
            stated = total.local(values, neighbours), total.bootstrap(values, neighbours)
            assert all(claim >= move for claim, move in zip(stated, moves, strict=True))
            assert not is_exact or stated == moves
