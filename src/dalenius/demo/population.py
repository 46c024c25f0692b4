"""The demo population: every active member of four US services in 2010, from the 1,646 shipped counts.

The counts are public-domain data of the US Department of Defense (through the R package openintro). The population
is expanded to one row a person on first use, so that the demo runs on microdata like a real custodian's. Because the
data are public, the demo may print the truth beside a release; a real custodian must not.
"""

import csv
from functools import cache
from pathlib import Path

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray
from dalenius.demo.files import shipped, write_missing, write_parquet
from dalenius.spec.axis import axis_of
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.load import load_dataset

PERSONS = 1_414_593
DATASET = "dataset.toml"
REQUEST = "request.toml"
POLICY = "policy.toml"
MICRODATA = "military.parquet"
VARIABLES = ("grade", "branch", "gender", "race", "hisp", "rank")


def materialise(directory: str | Path) -> Path:
    """Write microdata, dataset, request and policy into a folder, once; returns the dataset document.

    What already exists is left alone, so that a folder keeps the custodian's edits.
    """
    folder = Path(directory)
    write_missing(folder, {name: shipped(f"documents/{name}") for name in (DATASET, REQUEST, POLICY)})
    if not (folder / MICRODATA).exists():
        _expand(folder / MICRODATA)
    return folder / DATASET


def dataset() -> DatasetDocument:
    return load_dataset(shipped(f"documents/{DATASET}"))


def truth(*variables: str) -> IntArray:
    """Exact table over some variables, in that order, from the shipped counts alone.

    >>> truth("gender").tolist()
    [202718, 1211875]
    """
    domain = dataset().domain()
    space = CellSpace(tuple(axis_of(name, domain) for name in variables))
    return counts(space).reshape(space.shape)


def counts(space: CellSpace, where: tuple[Filter, ...] = ()) -> IntArray:
    """Exact counts of any cells, flat, from the shipped counts alone."""
    domain = dataset().domain()
    labels, persons = _counts()
    codes = {name: [domain.variable(name).categories.code(text) for text in labels[name]] for name in VARIABLES}
    index, is_counted = np.zeros(len(persons), dtype=np.int64), np.ones(len(persons), dtype=bool)
    for condition in where:
        is_counted &= np.isin(codes[condition.variable], condition.codes)
    for axis in space.axes:
        position = np.array(axis.codes)[codes[axis.variable]]
        is_counted &= position >= 0
        index = index * len(axis) + position
    cells = np.zeros(space.size, dtype=np.int64)
    np.add.at(cells, index[is_counted], np.array(persons)[is_counted])
    cells[list(space.structural_indices)] = 0
    return cells


@cache
def _counts() -> tuple[dict[str, list[str]], list[int]]:
    rows = list(csv.DictReader(shipped("military_2010_counts.csv").splitlines()))
    return {name: [row[name] for row in rows] for name in VARIABLES}, [int(row["persons"]) for row in rows]


def _expand(path: Path) -> None:
    import pyarrow as pa

    labels, persons = _counts()
    columns: dict[str, object] = {}
    for name in VARIABLES:
        distinct = sorted(set(labels[name]))
        places = np.repeat([distinct.index(text) for text in labels[name]], persons).astype(np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(places), pa.array(distinct))
    write_parquet(path, columns)
