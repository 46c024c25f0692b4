"""Public files that belong together: two tables of the same patients, and two years of one survey, all the way.

The truth is worked out by SQL on the files themselves. Levels, budgets and recorded noise are those of `test_every_public_file`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.end_to_end.test_every_public_file import (
    COUNTED,
    FOLDER,
    POLICY,
    STATES,
    SUMMED,
    Cells,
    Way,
    covers,
    covers_means,
)

from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.errors import Unsupported
from dalenius.inference.combine import combine

PATIENTS, LABORATORY = FOLDER / "nafld_patients_17549.csv.gz", FOLDER / "nafld_laboratory_400123.parquet"
SURVEY = FOLDER / "cps_tax_units_2013_2014.parquet"
YEARS = ("2013", "2014")
REGISTER: Mapping[str, Any] = {
    "dataset": {"name": "register", "population": "patients", "source": str(PATIENTS), "public": True},
    "unit": {"id": "id"},
    "tables": {"laboratory": {"source": str(LABORATORY)}},
    "records": {
        "age": {"bounds": [18, 98], "step": 1},
        "male": {"categories": ["0", "1"]},
        "weight": {"bounds": [30, 200], "step": "0.1"},
        "test": {"table": "laboratory", "categories": ["chol", "dbp", "fib4", "hdl", "sbp", "smoke"]},
        # The largest pressure of the file is 13,682; what is above 400 is a slip of the pen.
        "value": {"table": "laboratory", "bounds": [0, 400], "step": "0.01"},
    },
    "variables": {
        "sex": {"feature": {"take": "min", "of": "male"}},
        "age": {"feature": {"take": "max"}},
        "weight": {"feature": {"take": "max"}},
        "tests": {"feature": {"take": "count", "table": "laboratory"}, "bounds": [0, 300]},
        "smoker": {"feature": {"take": "any", "where": {"test": "smoke", "value": {"at_least": 1}}}},
        "pressure": {"feature": {"take": "max", "of": "value", "where": {"test": "sbp"}}},
    },
}
# One row a patient, read without the library.
JOINED = f"""
SELECT CAST(p.male AS VARCHAR) AS sex, CAST(p.age AS INT) AS age, CAST(p.weight AS DECIMAL(9, 1)) AS weight,
       least(coalesce(l.tests, 0), 300) AS tests, CASE WHEN l.smoked THEN 'yes' ELSE 'no' END AS smoker, l.pressure AS pressure
FROM read_csv('{PATIENTS}', all_varchar = true, nullstr = '') p LEFT JOIN (
    SELECT id, count(*) AS tests, bool_or(test = 'smoke' AND value >= 1) AS smoked,
           max(least(value, 400)) FILTER (WHERE test = 'sbp') AS pressure
    FROM read_parquet('{LABORATORY}') GROUP BY id) l ON l.id = CAST(p.id AS BIGINT)
"""


def cells(statement: str) -> Cells:
    """Labels and a number in every line."""
    with duckdb.connect(":memory:") as connection:
        lines = connection.execute(statement).fetchall()
    return {tuple(map(str, labels)): float(number) for *labels, number in lines}


@pytest.mark.shared_data
def test_features_of_two_tables_say_what_a_join_says(tmp_path: Path) -> None:
    """Persons with several hundred rows in a further table, or with none, count once."""
    if not PATIENTS.exists():
        pytest.skip("the public file is not on this machine")
    document = tmp_path / "register.json"
    document.write_text(json.dumps(REGISTER))
    way = Way(document, tmp_path, "register")
    smokers = way.ask("smokers", {"rows": ["sex", "smoker"]}, COUNTED)
    truth = cells(f"SELECT sex, smoker, count(*) FROM ({JOINED}) GROUP BY ALL")
    assert sum(truth.values()) == 17_549 and covers(smokers, smokers.table, truth)
    rows = "SELECT sex, CASE WHEN smoked THEN 'yes' ELSE 'no' END, count(*) FROM ({}) GROUP BY ALL"
    joined = f"read_parquet('{LABORATORY}') l JOIN read_csv('{PATIENTS}', nullstr = '') p USING (id)"
    by_rows = rows.format(f"SELECT p.male AS sex, test = 'smoke' AND value >= 1 AS smoked FROM {joined}")
    assert not covers(smokers, smokers.table, cells(by_rows))
    tests = way.ask("tests", {"rows": ["sex"], "measure": "total", "of": "tests"}, SUMMED)
    assert covers(tests, tests.table, cells(f"SELECT sex, sum(tests) FROM ({JOINED}) GROUP BY sex"))
    everybody = f"SELECT p.male, count(*) FROM {joined} GROUP BY ALL"
    assert not covers(tests, tests.table, cells(everybody))
    for of, condition in (("weight", "smoker = 'yes' AND age >= 40"), ("pressure", "age >= 40")):
        where = {"age": {"at_least": 40}} | ({"smoker": ["yes"]} if of == "weight" else {})
        mean = way.ask(f"mean {of}", {"rows": ["sex"], "measure": "mean", "of": of, "where": where}, SUMMED)
        sums, have, all_of_them = (
            cells(f"SELECT sex, {what} FROM ({JOINED}) WHERE {condition} GROUP BY sex")
            for what in (f"sum({of})", f"count({of})", "count(*)")
        )
        assert covers_means(mean, sums, have)
        assert not covers_means(mean, sums, all_of_them)


def wave(year: str, folder: Path) -> dict[str, Any]:
    """One year of the survey, in a file of its own: a version of the same population."""
    place = folder / f"{year}.parquet"
    duckdb.sql(f"COPY (FROM read_parquet('{SURVEY}') WHERE FLPDYR = {year}) TO '{place}'")
    return {
        "dataset": {"name": "survey", "population": "units", "version": year, "source": str(place), "public": True},
        "variables": {
            "fips": {"categories": STATES},
            "filing_status": {"categories": ["1", "2", "3", "4"]},
            "wages": {"bounds": [0, 3_000_000], "step": 1},
            "weight": {"weight": True, "column": "weight_x100", "bounds": [0, 600_000], "step": 1000},
        },
    }


@pytest.mark.shared_data
def test_two_years_of_a_survey_share_a_budget(tmp_path: Path) -> None:
    """Each year pays its half, and its numbers are those of the year alone: they are no two measurements of one number."""
    if not SURVEY.exists():
        pytest.skip("the public file is not on this machine")
    request = {"table": {"rows": ["filing_status"]}, "privacy": SUMMED | {"waves": 2}}
    weighted = {"table": {"rows": ["fips"], "weight": "weight"}, "privacy": SUMMED | {"waves": 2}}
    counts, released, spent = [], [], []
    for year in YEARS:
        with Curator.open(
            wave(year, tmp_path), ledger=tmp_path / "ledger.sqlite", policy=POLICY, rng=RecordedRandomness(year)
        ) as curator:
            curator.register(by="custodian")
            released.append(curator.release(request))
            weighed = curator.release(weighted)
            spent.append(1000 - curator.left.rho)
        lines = f"FROM read_parquet('{SURVEY}') WHERE FLPDYR = {year} GROUP BY ALL"
        counts.append(cells(f"SELECT filing_status, count(*) {lines}"))
        assert covers(released[-1], released[-1].table, counts[-1])
        exact = cells(f"SELECT fips, sum(round_even(weight_x100 / 1000, 0) * 1000) {lines}")
        assert covers(weighed, weighed.table, exact)
    assert not covers(released[0], released[0].table, counts[1])
    assert spent[1] <= 40 and [float(amount) for amount in spent] == pytest.approx([20, 40], rel=1e-3)
    with pytest.raises(Unsupported, match="same version"):
        combine(released)
