"""Counts by grid point: every answer is that of the rows read one by one, whatever is asked of the variable alone."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Bounds, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Aggregate, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.engines import _grid_counts
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource

VALUES = [0.0, 0.25, 0.125, 0.375, None, float("nan"), float("inf"), -3.0, 2.0, 2.01, 1.9999, 1e300, 1.5, 1.5, 0.5]
COARSE = CellSpace((Axis(variable="x", labels=("low", "high", "rest"), cuts=(0, 3, 6), has_rest=True),))
QUERIES = [
    TableQuery(space=CellSpace(()), function=RowFunction.of(Power("x", offset=-3))),
    TableQuery(space=CellSpace(()), function=RowFunction.of(Power("x", exponent=2, offset=-3))),
    TableQuery(space=CellSpace(()), function=RowFunction.of(Power("x", exponent=2), Power("x", slope=-1)), halvings=2),
    *(
        TableQuery(space=CellSpace(()), aggregate=a, function=RowFunction.of(Power("x", offset=-3)))
        for a in Aggregate
        if a is not Aggregate.PERSONS
    ),
    TableQuery(space=COARSE),
    TableQuery(space=COARSE, function=RowFunction.present("x")),
    TableQuery(space=COARSE, function=RowFunction.of(Power("x"))),
    TableQuery(space=COARSE, function=RowFunction.of(Power("x", exponent=2))),
    TableQuery(space=COARSE, aggregate=Aggregate.MAXIMUM, function=RowFunction.of(Power("x"))),
    TableQuery(space=CellSpace(()), where=(Filter(variable="x", low=2, high=6),)),
    TableQuery(space=CellSpace(()), where=(Filter(variable="x", low=2),), function=RowFunction.of(Power("x"))),
]  # fmt: skip
LISTS = [ValuesQuery(value="x"), ValuesQuery(value="x", where=(Filter(variable="x", low=1, high=7),))]


def domain_of(missing: str, outside: str) -> Domain:
    bounds = Bounds(lower=Fraction(0), upper=Fraction(2), step=Fraction(1, 4), missing=missing, outside=outside)
    other = Bounds(lower=Fraction(0), upper=Fraction(2**40))
    variables = {"x": Variable(name="x", domain=bounds), "y": Variable(name="y", domain=other)}
    return Domain(name="d", version="1", population="p", variables=variables, neighbours=Neighbours())


def answers(source: Any) -> list[list[int]]:
    found = [source.table(query) for query in QUERIES] + [source.values(query) for query in LISTS]
    return [sealed.open_below_the_gate().tolist() for sealed in found]


@pytest.mark.parametrize("missing", ["drop", "0.5"])
@pytest.mark.parametrize("outside", ["drop", "clamp"])
def test_counts_by_point_answer_as_the_rows_do(missing: str, outside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    domain, table = domain_of(missing, outside), pa.table({"x": VALUES * 3, "y": [1.0] * (3 * len(VALUES))})
    counted = answers(DuckDBSource(domain, table))
    assert counted == answers(MemorySource.open(domain, {"x": VALUES * 3, "y": [1] * (3 * len(VALUES))}))
    monkeypatch.setattr(_grid_counts, "MOST_POINTS", 0)
    assert counted == answers(DuckDBSource(domain, table))


def test_the_road_follows_the_declaration_alone() -> None:
    domain = domain_of("drop", "clamp")
    assert all(_grid_counts.counted_variable(query, domain) == "x" for query in (*QUERIES, *LISTS))
    both = ValuesQuery(value="x", where=(Filter(variable="y", low=1),))
    wide = TableQuery(space=CellSpace(()), function=RowFunction.of(Power("y")))
    weighted = TableQuery(space=CellSpace(()), function=RowFunction.of(Power("x"), Power("y")))
    assert not any(_grid_counts.counted_variable(query, domain) for query in (both, wide, weighted))


def test_a_file_that_changes_is_counted_again(tmp_path: Path) -> None:
    path, domain = tmp_path / "values.parquet", domain_of("drop", "clamp")
    pq.write_table(pa.table({"x": [1.0, 2.0], "y": [1.0, 1.0]}), path)
    source = DuckDBSource(domain, path)
    assert source.values(LISTS[0]).open_below_the_gate().tolist() == [4, 8]
    pq.write_table(pa.table({"x": [0.25, 2.0, 2.0], "y": [1.0, 1.0, 1.0]}), path)
    assert source.values(LISTS[0]).open_below_the_gate().tolist() == [1, 8, 8]


def test_sums_of_many_rows_are_exact() -> None:
    domain, rows = domain_of("drop", "clamp"), 3_000_000
    source = DuckDBSource(domain, pa.table({"x": np.full(rows, 2.0), "y": np.full(rows, 1.0)}))
    total, squares = (int(source.table(query).open_below_the_gate()[0]) for query in QUERIES[:2])
    assert (total, squares) == (5 * rows, 25 * rows)
