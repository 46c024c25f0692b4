"""Real microdata with missing values and persons with several rows: DuckDB equals the reference, answer by answer."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.query import Aggregate, Power, RowFunction, TableQuery, ValuesQuery
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource
from dalenius.spec.axis import AxisPart, axis_of
from dalenius.spec.load import load_dataset

FOLDER = Path(__file__).parents[3] / "shared" / "data"
DOCUMENT = load_dataset(
    {
        "dataset": {"name": "pums", "population": "california", "public": True},
        "unit": {"id": "pid", "max_rows": 2},
        "variables": {
            "sex": {"categories": [0, 1]},
            "educ": {"categories": list(range(1, 17)), "missing": 1},
            "married": {"categories": ["0", "1"], "unseen": "0"},
            "age": {"bounds": [0, 100], "step": 1, "missing": 50},
            "income": {"bounds": [0, 200000], "step": 100},
        },
    }
)


@pytest.mark.shared_data
@pytest.mark.parametrize("name", ["pums_california_1000_nulls.csv", "pums_california_dup_persons.csv"])
def test_public_microdata(name: str) -> None:
    path = FOLDER / name
    if not path.exists():
        pytest.skip("the public file is not on this machine")
    domain = DOCUMENT.domain()
    with path.open(newline="") as stream:
        rows = [{key: text or None for key, text in row.items()} for row in csv.DictReader(stream)]
    fast, plain = DuckDBSource(domain, path, b"s"), MemorySource.open(domain, rows, b"s")
    cuts = axis_of(AxisPart(variable="age", cuts=(0, 18, 40, 65, 100)), domain)
    space = CellSpace((axis_of("sex", domain), axis_of("educ", domain), cuts))
    for aggregate in Aggregate:
        function = RowFunction() if aggregate is Aggregate.PERSONS else RowFunction.of(Power("income"))
        query = TableQuery(space=space, aggregate=aggregate, function=function)
        np.testing.assert_array_equal(fast.table(query).open_below_the_gate(), plain.table(query).open_below_the_gate())
    values = ValuesQuery(value="income")
    np.testing.assert_array_equal(fast.values(values).open_below_the_gate(), plain.values(values).open_below_the_gate())
    report = fast.judge()
    assert report == plain.judge()
    assert report["rows"] == 1948
    assert report["rows_over_max"] > 0
