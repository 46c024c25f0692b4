"""What the custodian sees: deniability, options, checklist, true losses, dominance."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import Aggregate, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.measurements.inspection.actual_data import (
    QUESTIONS,
    checklist,
    compare_options,
    dominance,
    plausible_deniability,
    sensitivities,
    true_delta,
)
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership
from dalenius.statistics.persons import Persons
from dalenius.statistics.quantile import Quantile

CELLS, VALUES = [0, 0, 1, 1, 2], [10, 12, 500, 900, 30]
ACTUAL_DATA = Neighbours(relation=Relation.REPLACE, scope=Scope.ACTUAL_DATA)


def test_plausible_deniability():
    rich = plausible_deniability(CELLS, VALUES, 3)
    assert (rich["smallest claim"], rich["largest claim"], rich["largest in the file"]) == (10, 900, True)
    assert rich["nearest other claim"] == 500
    own_cell = plausible_deniability(CELLS, VALUES, 3, Membership.PUBLIC)
    assert (own_cell["smallest claim"], own_cell["values that can be claimed"]) == (500, 2)
    alone = plausible_deniability(CELLS, VALUES, 4, Membership.PUBLIC)
    assert alone["stands alone"]
    assert alone["nearest other claim"] is None
    helped = plausible_deniability(CELLS, VALUES, 4, Membership.PUBLIC, declared=(0, 100))
    assert helped["values that can be claimed"] == 3


def test_expected_losses_of_the_options():
    space = CellSpace((Axis(variable="g", labels=("a", "b", "c"), codes=(0, 1, 2)),))
    query = TableQuery(space=space, function=RowFunction.of(Power("x")))
    table = MagnitudeTable(query=query, low=0, high=10_000, is_complete=True)
    found = compare_options(table, [10, 500, 30], [12, 900, 30], Fraction(1))
    assert found["(iii) scale per cell, membership public"] == min(found.values())
    assert found["(i) one scale, membership private"] == pytest.approx(3 * 930, rel=0.01)
    assert found["(ii) scale per cell, membership private"] == pytest.approx(2 * (12 + 900 + 30), rel=0.01)
    assert found["differential privacy, declared bounds"] == max(found.values())


def test_checklist():
    report = checklist([1, 2, 3, 1000], 0, 10_000, floor=5, answers={QUESTIONS[0]: True})
    assert len(report["unanswered"]) == len(QUESTIONS) - 1
    assert report["the largest value stands alone"]
    assert not report["the floor decides"]
    assert report["accuracy gained over declared bounds"] == pytest.approx(10_000 / 999)
    assert checklist([], 0, 10, floor=1)["the floor decides"]
    assert checklist([4, 4], 0, 10, floor=1)["accuracy gained over declared bounds"] is None


def test_true_delta_against_an_informed_intruder():
    """Where a neighbour has another scale the true delta is large; where nothing changes it is zero."""
    median = Quantile(query=ValuesQuery(value="x"), low=0, high=1000)
    jumpy = true_delta(median, [0, 0, 0, 1000, 1000], Fraction(1), 1, ACTUAL_DATA)
    assert jumpy["delta at least"] > 0.2
    # The records that join or leave do no less than those that change.
    joined = true_delta(median, [0, 0, 0, 1000, 1000], Fraction(1), 1, replace(ACTUAL_DATA, relation="add-remove"))
    assert joined["delta at least"] > 0.2 and joined["alternatives"] == 9
    flat = true_delta(median, [5] * 41, Fraction(1), 1, ACTUAL_DATA)
    assert flat["delta at least"] == pytest.approx(0, abs=1e-9)


def test_dominance_by_both_rules():
    found = dominance(CELLS, VALUES)
    assert found[2] == {"p%": True, "(n, k)": True}
    many = dominance([0] * 6, [10, 9, 8, 8, 9, 10])
    assert many[0] == {"p%": False, "(n, k)": False}
    assert np.all([set(v) == {"p%", "(n, k)"} for v in found.values()])


def test_sensitivities_are_told_where_they_are_proved_and_refused_in_words_elsewhere():
    median = Quantile(query=ValuesQuery(value="x"), low=0, high=1000)
    rows = (np.array([0, 0, 5, 900, 1000]),)
    everywhere = Neighbours(relation=Relation.REPLACE)
    told = sensitivities(median, rows, everywhere)
    assert set(told) == {"on any data", "at these data", "between data sets made of these records"}
    assert told["on any data"] == 1000 > told["at these data"] == 895
    smooth = sensitivities(median, rows, everywhere, beta=Fraction(1, 2))
    assert told["at these data"] <= smooth["smooth, beta = 0.5"] <= 1000
    persons = sensitivities(median, rows, replace(everywhere, unit="person", max_rows=2))
    assert "one row to a unit" in persons["between data sets made of these records"]
    assert set(
        sensitivities(Persons(TableQuery(space=CellSpace(()), aggregate=Aggregate.PERSONS)), rows, everywhere)
    ) == {"on any data"}
