"""The demo population is the public one, count by count."""

import time
from pathlib import Path

import numpy as np
import pytest

from dalenius.core.domain import CellSpace
from dalenius.core.query import TableQuery
from dalenius.demo import load, names, population
from dalenius.engines import open_source
from dalenius.engines.duckdb import DuckDBSource
from dalenius.errors import UnknownName
from dalenius.spec.axis import axis_of
from dalenius.spec.load import load_dataset, load_policy, load_request


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return population.materialise(tmp_path_factory.mktemp("demo")).parent


def test_documents(folder: Path) -> None:
    domain = load_dataset(folder / population.DATASET).domain()
    assert domain.is_public
    assert domain.variable("race").categories.labels[0] == "American Indian or Alaska Native"
    request = load_request(folder / population.REQUEST)
    space = request.space(domain)
    assert [axis.name for axis in space.axes] == ["grade", "branch", "gender"]
    assert len(space.structural_zeros) == 2
    assert request.privacy.budget().epsilon == 1
    assert load_policy(folder / population.POLICY).budget.rho == 2


def test_persons_equal_the_shipped_counts(folder: Path) -> None:
    source = open_source(load_dataset(folder / population.DATASET))
    space = CellSpace(tuple(axis_of(name, source.domain) for name in population.VARIABLES))
    table = source.table(TableQuery(space=space)).open_below_the_gate()
    assert space.size == 3696
    assert (table.sum(), (table > 0).sum(), table.max()) == (population.PERSONS, 1646, 80_634)
    np.testing.assert_array_equal(table, population.counts(space))
    report = source.judge()
    assert all(notes["valid"] == population.PERSONS for notes in report["variables"].values())
    assert report["rows_in_structural_zeros"] == 0


def test_truth() -> None:
    assert population.truth("branch").tolist() == [555_849, 324_292, 331_486, 202_966]
    assert population.truth("gender", "grade").shape == (2, 3)
    assert population.truth().tolist() == population.PERSONS


def test_a_second_use_is_instant_and_keeps_edits(folder: Path) -> None:
    (folder / population.POLICY).write_text("[budget]\nrho = 1\n")
    started = time.perf_counter()
    population.materialise(folder)
    assert time.perf_counter() - started < 0.5
    assert load_policy(folder / population.POLICY).budget.rho == 1


@pytest.mark.shared_data
def test_it_equals_the_public_file(folder: Path) -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / "us_military_2010_1414593.parquet"
    if not path.exists():
        pytest.skip("the public file is not on this machine")
    domain = load_dataset(folder / population.DATASET).domain()
    space = CellSpace(tuple(axis_of(name, domain) for name in population.VARIABLES))
    table = DuckDBSource(domain, path).table(TableQuery(space=space)).open_below_the_gate()
    np.testing.assert_array_equal(table, population.counts(space))


@pytest.mark.parametrize(
    ("name", "units"),
    [("hair_eye_color", 592), ("ucb_admissions", 4526), ("titanic", 2201), ("uk2001", 5784), ("ricefarms", 1026)],
)
def test_shipped_tables(name: str, units: int) -> None:
    table = load(name)
    assert len(table.expand()) == units
    assert name in names()
    assert table.columns


def test_unknown_table() -> None:
    with pytest.raises(UnknownName, match="titanic"):
        load("titanik")
