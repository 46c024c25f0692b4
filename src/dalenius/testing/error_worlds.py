"""Toy files whose replicates are the categories of one variable: a table by it is a thousand releases at once.

What worlds hold: docs/decisions/0012-kits-judge-errors.md. `expected` holds every point as often as it is expected, so
that what it has is what the process has. `degenerate` has nobody, one row, or equal rows. Where the number of rows is
public there is one replicate of exactly as many rows to a file: `counted`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.engines.duckdb import DuckDBSource
from dalenius.spec.load import load_dataset
from dalenius.testing import rule_kit

REPLICATES = 300
"""Replicates of each world."""
RATE = 2
"""How often each point is expected in a combination."""
REPLICATE = "replicate"
COMBINATIONS = (
    ("female", "north", "single"),
    ("male", "north", "married"),
    ("female", "east", "married"),
    ("male", "east", "single"),
    ("female", "south", "widowed"),
    ("female", "south", "single"),
)
"""Sex, region and status of the sixths of a replicate: nobody is a man in the south, and no man is widowed."""
POINTS = 60
MARRIED = 4
"""So many points of the last sixth are married: a share near the edge of what is possible."""
KINDS = ("nobody", "one row", "equal rows")
"""Of degenerate cells, each in a third of the replicates."""
JOBS = ("baker", "smith", "weaver")
EVEN = 12
"""Replicates in which records are spread evenly."""
CORNERS = ((0, 0, 1.0, 1), (0, 100, 3.0, 1), (40, 0, 3.0, 0), (40, 100, 1.0, 0), (20, 50, 2.0, 0))
"""Income, age, weight and status of corners; the last one lies in the middle."""
SEED = 25
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True, eq=False)
class ToyProcess:
    name: str
    income: NDArray[np.int64]
    age: NDArray[np.int64]
    weight: NDArray[np.float64]


def _worlds() -> tuple[ToyProcess, ...]:
    place = np.arange(POINTS)
    level = (place + 0.5) / POINTS
    curve = 40 * level**2.5
    heaped = np.where(place % 3 == 0, np.rint(curve), 5 * np.rint(curve / 5))
    ages = np.where(place % 4 == 0, 18 + 7 * place % 60, 10 * (2 + place % 5))
    even = np.rint(40 * level)
    beside = np.rint(1.6 * even) + 13 * place % 31
    zeros = np.where(level < 0.6, 0, np.array([10, 10, 20, 30, 12])[place % 5])
    weights = np.array([1, 1, 1.5, 2, 3])
    return (
        ToyProcess("skewed", heaped.astype(np.int64), ages, weights[place % 5]),
        ToyProcess("correlated", even.astype(np.int64), beside.astype(np.int64), weights[7 * place % 5]),
        ToyProcess(
            "zeros", zeros.astype(np.int64), np.array([25, 40, 40, 65])[place % 4], np.where(place % 3 == 0, 2.0, 1.0)
        ),
    )


WORLDS = {world.name: world for world in _worlds()}


@cache
def domain(replicates: int = REPLICATES, *, is_sized: bool = False) -> Domain:
    """The declaration of every kit with a variable more; if `is_sized`, of a public number of rows."""
    labels = [str(label) for label in range(replicates)]
    variables = rule_kit.DATASET["variables"] | {
        REPLICATE: {"categories": labels, "missing": labels[0], "unseen": labels[0]}
    }
    sized: dict[str, Any] = {}
    if is_sized:
        rows = replicates * RATE * len(COMBINATIONS) * POINTS
        sized = {"dataset": {**rule_kit.DATASET["dataset"], "size": rows}, "unit": {"relation": "replace"}}
    return load_dataset(rule_kit.DATASET | sized | {"variables": variables}).domain()


@cache
def sampled(world: str, replicates: int = REPLICATES, part: int = 0, *, is_sized: bool = False) -> Source:
    """Replicates of a world, each drawn anew; other ones in each part. If `is_sized`, as many rows as are declared."""
    rng = np.random.default_rng([SEED, list(WORLDS).index(world), part])
    shape = (replicates, len(COMBINATIONS), POINTS)
    return _source(WORLDS[world], _sized(rng, shape) if is_sized else rng.poisson(RATE, shape))


@cache
def counted(world: str, number: int) -> Source:
    """One replicate of a world with exactly as many rows as are expected; another one for each number."""
    rng = np.random.default_rng([SEED, list(WORLDS).index(world), number, 1])
    return _source(WORLDS[world], _sized(rng, (1, len(COMBINATIONS), POINTS)))


def _sized(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """How often each point appears where the number of rows is fixed."""
    points = prod(shape)
    return rng.multinomial(RATE * points, np.full(points, 1 / points)).reshape(shape)


@cache
def expected(world: str, replicates: int = REPLICATES) -> Source:
    """Every point as often as the process has it, in each replicate."""
    return _source(WORLDS[world], np.full((replicates, len(COMBINATIONS), POINTS), RATE))


@cache
def even(records: int) -> Source:
    """So many records in each of the first replicates, spread evenly over the bounds: what a preview assumes.

    All are women in the north, half of them single: a cell has all of them, half of them, or nobody.
    """
    place, replicate = np.arange(records), np.repeat(np.arange(EVEN), records)
    golden, silver = (np.modf(place * share)[0] for share in (0.6180339887498949, 0.7548776662466927))
    none, income = np.zeros(records, dtype=np.int64), np.rint(40 * (place + 0.5) / records).astype(np.int64)
    columns = {"sex": none, "region": none, "status": place % 2, "income": income, "job": place % len(JOBS)}
    columns |= {"age": np.rint(100 * golden).astype(np.int64), "weight": 1 + np.rint(4 * silver) / 2}
    return _opened({name: np.tile(values, EVEN) for name, values in columns.items()} | {REPLICATE: replicate}, EVEN)


@cache
def corners() -> Source:
    """Small cells whose rows lie at the corners of what is declared."""
    sizes = corner_rows()
    rows = [(replicate, *CORNERS[place]) for replicate, places in enumerate(sizes) for place in places]
    replicate, income, age, weight, status = (np.array(column) for column in zip(*rows, strict=True))
    whole = {"status": status, "income": income, "age": age, REPLICATE: replicate}
    whole |= dict.fromkeys(("sex", "region", "job"), np.zeros(len(rows)))
    return _opened({name: column.astype(np.int64) for name, column in whole.items()} | {"weight": weight}, len(sizes))


def corner_rows() -> list[tuple[int, ...]]:
    """Which corners the rows of each small cell have: one or two rows, as many times twenty, and then other shares."""
    every = range(len(CORNERS))
    few = [(a,) for a in every] + [(a, b) for a in every for b in every if a <= b]
    return few + [20 * rows for rows in few] + [20 * (a, a, a, b) for a in every for b in every if a != b]


def kinds(replicates: int) -> NDArray[np.int64]:
    """Which kind of degenerate cell each replicate has, by its place in `KINDS`."""
    return np.arange(replicates) * len(KINDS) // replicates


@cache
def degenerate(replicates: int) -> Source:
    counts, kind = np.zeros((replicates, len(COMBINATIONS), POINTS), dtype=np.int64), kinds(replicates)
    counts[kind == KINDS.index("one row"), 0, 0] = 1
    counts[kind == KINDS.index("equal rows")] = RATE
    same = np.ones(POINTS, dtype=np.int64)
    return _source(ToyProcess("equal", 20 * same, 50 * same, np.full(POINTS, 2.0)), counts)


def _source(world: ToyProcess, counts: NDArray[np.int64]) -> Source:
    """A file with each point of each combination so often in each replicate."""
    replicate, combination, point = (
        np.repeat(place, counts.ravel()) for place in np.indices(counts.shape).reshape(3, -1)
    )
    labels = [rule_kit.DATASET["variables"][name]["categories"] for name in ("sex", "region", "status")]
    codes = [[own.index(label) for own, label in zip(labels, row, strict=True)] for row in COMBINATIONS]
    sex, region, status = np.array(codes)[combination].T
    is_married = (combination == len(COMBINATIONS) - 1) & (point < MARRIED)
    status = np.where(is_married, labels[2].index("married"), status)
    columns = {"sex": sex, "region": region, "status": status, "job": (point + combination) % len(JOBS)}
    values = {"income": world.income[point], "age": world.age[point], "weight": world.weight[point]}
    return _opened({**columns, **values, REPLICATE: replicate}, len(counts))


def _opened(columns: Columns, replicates: int) -> Source:
    import pyarrow as pa

    declared = domain(replicates)
    texts: Mapping[str, list[str]] = {
        name: list(declared.variable(name).categories.labels) for name in ("sex", "region", "status", REPLICATE)
    } | {"job": list(JOBS)}
    arrays = {
        name: pa.DictionaryArray.from_arrays(pa.array(values.astype(np.int32)), pa.array(texts[name]))
        if name in texts
        else pa.array(values)
        for name, values in columns.items()
    }
    return DuckDBSource.open(declared, pa.table(arrays), b"the secret of the kit".ljust(32))
