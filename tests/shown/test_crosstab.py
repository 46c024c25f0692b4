"""Layout of released tables: values where they belong, margins of error, percentages, marks."""

from dataclasses import replace
from fractions import Fraction
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from dalenius import Curator, table
from dalenius.algebra.joint import reach
from dalenius.algebra.tabulation import reliability
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.estimate import TestResult
from dalenius.core.law import Additive
from dalenius.core.plan import largest_error
from dalenius.core.release import Block, Provenance, Release, Table
from dalenius.errors import InternalError
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.shown.crosstab import SHOWS, Cell, Uncertainty, lay_out, marks_of

SEX = Axis(variable="sex", labels=("f", "m"), codes=(0, 1))
AREA = Axis(variable="area", labels=("a", "b", "c"), codes=(0, 1, 2))
YEAR = Axis(variable="year", labels=("1", "2"), codes=(0, 1))
LAW = Additive(DiscreteLaplace(Fraction(1, 2)))


def release_of(space: CellSpace, values: list[int]) -> Release:
    """A release of one measured block."""
    array = np.array(values, dtype=np.int64)
    variance = np.full(len(array), LAW.variance)
    variance[list(space.structural_indices)] = 0.0
    return Release(
        blocks=(Block(name="t", space=space, values=array, law=LAW),),
        tables=(Table(name="t", space=space, values=array.astype(float), variance=variance),),
        law=LAW,
        provenance=Provenance(
            dataset="d",
            population="p",
            version="1",
            definition="pure",
            budget={"epsilon": "1/2"},
            neighbours={},
            cost={},
            mechanism="discrete_laplace",
            strategy="table",
            evidence={},
            software="",
            request={},
            digest="",
        ),
    )


TWO_WAY = release_of(CellSpace((SEX, AREA)), [100, 20, 9, 300, -4, 75])


def test_values_totals_and_margins_of_error() -> None:
    table = lay_out(TWO_WAY, TWO_WAY.table, rows=["sex"], columns=["area"])
    lines = table.sheets[0].lines
    assert [[c.value for c in line.cells] for line in lines] == [
        [100, 20, 9, 129],
        [300, -4, 75, 371],
        [400, 16, 84, 500],
    ]
    assert [line.labels for line in lines] == [(("f", 1),), (("m", 1),), ()]
    assert table.heads == ((("a", 1), ("b", 1), ("c", 1)),)
    assert {c.half for line in lines[:2] for c in line.cells[:3]} == {LAW.half_width(0.95)}
    # A sum of several draws: as far as one draw of the same variance, which is farther than the normal.
    assert lines[0].cells[3].half == pytest.approx(reach([LAW], 0.95) * sqrt(3 * LAW.variance))
    marks = [[c.mark for c in line.cells] for line in lines]
    assert marks[0] == ["", "", "care", ""] or marks[0] == ["", "", "unreliable", ""]
    assert marks[1][1] == "unreliable"


@pytest.mark.parametrize("measure", ["total", "weighted count"])
def test_totals_and_weighted_counts_are_judged_by_their_size(measure: str) -> None:
    """Standard error 2.7: -4 and 9 are judged as 4 and 9 are, and a correlation by whether its interval holds 0."""
    table = replace(TWO_WAY.table, measure=measure)
    (sheet,) = lay_out(TWO_WAY.with_(tables=(table,)), table, rows=["sex"], columns=["area"], totals=False).sheets
    assert [[c.mark for c in line.cells] for line in sheet.lines] == [["", "", "care"], ["", "unreliable", ""]]
    apart = replace(table, measure="correlation")
    (sheet,) = lay_out(TWO_WAY.with_(tables=(apart,)), apart, rows=["sex"], columns=["area"], totals=False).sheets
    assert [[c.mark for c in line.cells] for line in sheet.lines] == [["", "", ""], ["", "unreliable", ""]]


def test_the_other_way_round_and_layers() -> None:
    turned = lay_out(TWO_WAY, TWO_WAY.table, rows=["area"], columns=["sex"], totals=False)
    assert [[c.value for c in line.cells] for line in turned.sheets[0].lines] == [[100, 300], [20, -4], [9, 75]]
    cube = release_of(CellSpace((SEX, AREA, YEAR)), list(range(12)))
    table = lay_out(cube, cube.table, rows=["area", "sex"], layers=["year"], totals=False)
    assert [sheet.title for sheet in table.sheets] == [(("year", "1"),), (("year", "2"),)]
    assert [c.value for line in table.sheets[1].lines for c in line.cells] == [1, 7, 3, 9, 5, 11]
    assert table.sheets[0].lines[0].labels == (("a", 2), ("f", 1))
    assert table.sheets[0].lines[1].labels == (("m", 1),)


@pytest.mark.parametrize("show", ["row", "column", "total"])
def test_percentages_add_up(show: str) -> None:
    safe = release_of(CellSpace((SEX, AREA)), [1000, 2000, 900, 3000, 4000, 750])
    table = lay_out(safe, safe.table, rows=["sex"], columns=["area"], show=show)
    grid = np.array([[c.value for c in line.cells] for line in table.sheets[0].lines], dtype=float)
    whole = {"row": grid[:, :3].sum(1), "column": grid[:2].sum(0), "total": grid[:2, :3].sum()}[show]
    assert np.allclose(whole, 1.0)


def test_the_error_of_a_percentage_by_simulation() -> None:
    """Two-sided level 5 %; 4,000 repetitions: the share outside lies within 5 % ± 1.4 % (four standard errors)."""
    truth = np.array([1000, 2000, 900, 3000, 4000, 750])
    rng = np.random.default_rng(20260301)
    points, masses = LAW.central()
    outside = 0
    for noise in rng.choice(points, size=(4000, 6), p=masses / masses.sum()):
        noisy = release_of(CellSpace((SEX, AREA)), list(truth + noise))
        cell = lay_out(noisy, noisy.table, rows=["sex"], columns=["area"], show="row").sheets[0].lines[0].cells[0]
        assert cell.value is not None and cell.half is not None
        outside += abs(cell.value - 1000 / 3900) > cell.half
    assert abs(outside / 4000 - 0.05) < 0.014


def test_a_share_of_noise_is_not_shown() -> None:
    vague = release_of(CellSpace((SEX, AREA)), [3, -2, 4, 3000, 4000, 750])
    cells = lay_out(vague, vague.table, rows=["sex"], columns=["area"], show="row").sheets[0].lines[0].cells
    assert [c.value for c in cells] == [None] * 4


def test_structural_zeros_are_told_apart() -> None:
    space = CellSpace((SEX, AREA), frozenset({(0, 1)}))
    table = lay_out(release_of(space, [1, 0, 3, 4, 5, 6]), release_of(space, [1, 0, 3, 4, 5, 6]).table, rows=["sex"])
    cell = table.sheets[0].lines[0].cells[1]
    assert cell.is_structural and cell.value is None and cell.half is None


def test_a_sum_under_the_name_of_a_block_does_not_get_the_error_of_one_cell() -> None:
    whole = TWO_WAY.table
    grouped = Table(name="t", space=CellSpace((SEX,)), values=np.array([129.0, 371.0]), variance=3 * whole.variance[:2])
    table = lay_out(TWO_WAY.with_(tables=(grouped,)), grouped, totals=False)
    assert table.sheets[0].lines[0].cells[0].half == pytest.approx(reach([LAW], 0.95) * sqrt(3 * LAW.variance))


def test_one_axis_and_none() -> None:
    line = release_of(CellSpace((AREA,)), [1, 2, 3])
    table = lay_out(line, line.table)
    assert [[c.value for c in line.cells] for line in table.sheets[0].lines] == [[1], [2], [3], [6]]
    total = release_of(CellSpace(()), [42])
    assert [c.value for line in lay_out(total, total.table).sheets[0].lines for c in line.cells] == [42]


def test_charts_get_every_cell_once() -> None:
    found = marks_of(lay_out(TWO_WAY, TWO_WAY.table, rows=["sex"], columns=["area"]))
    assert [(mark.group, mark.label, mark.value) for mark in found][:4] == [
        ("f", "a", 100), ("f", "b", 20), ("f", "c", 9), ("m", "a", 300),
    ]  # fmt: skip


def withheld(release: Release) -> Release:
    """The same numbers without a published error."""
    nothing = np.full(release.table.space.size, np.nan)
    table = Table(name="t", space=release.table.space, values=release.table.values, variance=nothing)
    return release.with_(tables=(table,), blocks=())


def test_nothing_is_judged_without_a_finite_margin() -> None:
    hidden, moved = withheld(TWO_WAY), TWO_WAY.with_(adjustments=({"name": "anchor", "margins": ["sex"]},))
    for release in (hidden, moved):
        for show in SHOWS:
            table = lay_out(release, release.table, rows=["sex"], columns=["area"], show=show)
            cells = [cell for line in table.sheets[0].lines for cell in line.cells]
            assert all(cell.half is None and cell.mark == "" for cell in cells), show
            # Whether a sum is too vague to be divided by is a verdict too.
            assert release is moved or show == "value" or all(cell.value is None for cell in cells)
    assert reliability(np.array([5, -5, 5, -5]), np.array([np.nan, np.nan, np.inf, np.inf])).tolist() == [""] * 4


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_no_number_of_a_cell(number: float) -> None:
    for parts in (
        {"value": number},
        *({key: Uncertainty(half=number, lower=0.0, upper=1.0)} for key in ("error", "error_with_sampling")),
    ):
        with pytest.raises(InternalError):
            Cell(**({"value": 1.0} | parts))
    with pytest.raises(InternalError):
        TestResult(name="", statistic=1.0, p_value=number, method="")


def test_the_error_of_several_tables_is_unknown_where_one_is() -> None:
    assert largest_error([1.0, 3.0, 2.0]) == 3.0
    assert all(np.isnan(largest_error(order)) for order in ([1.0, np.nan], [np.nan, 1.0]))


@pytest.mark.parametrize("measure", ["mean", "proportion", "variance"])
def test_totals_are_of_the_same_measure(tmp_path: Path, measure: str) -> None:
    """Of a list of means the counts had a column of totals that held means."""
    rows = {"a": ["x", "y"] * 500, "b": ["u", "u", "v", "v"] * 250, "n": [1, 2, 3, 9] * 250}
    words = {"missing": 0, "bounds": [0, 10], "step": 1}
    document = {
        "dataset": {"name": "d", "population": "p"},
        "variables": {
            "a": {"categories": ["x", "y"], "missing": "x", "unseen": "x"},
            "b": {"categories": ["u", "v"], "missing": "u", "unseen": "u"},
            "n": words,
        },
    }
    keys = {"among": {"at_least": 5}} if measure == "proportion" else {}
    request = table(rows="a", columns="b", measure=measure, of="n", margins=[["a", "b"], ["a"], []], rho=100, **keys)
    with Curator.open(
        document, data=rows, ledger=str(tmp_path / "l.sqlite"), policy={"budget": {"rho": 200}}
    ) as curator:
        curator.register()
        release = curator.release(request)
    for part in release.tables:
        if len(part.space.axes) == 2 and part.measure in ("count", "total"):
            (sheet,) = lay_out(release, part).sheets
            *cells, total = sheet.lines[0].cells
            assert total.is_total and total.value == pytest.approx(sum(cell.value or 0 for cell in cells), abs=1e-3)
