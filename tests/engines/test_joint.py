"""Counting by combinations of declared places equals counting cell by cell."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Categories, CellSpace, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import TableQuery
from dalenius.engines import _joint
from dalenius.engines._columns import Factored, IntegerMap, expanded
from dalenius.engines._joint import JointCounts
from dalenius.engines._tally import Tally
from dalenius.engines.duckdb import DuckDBSource
from dalenius.engines.memory import MemorySource

SIZES = {"a": 4, "b": 3, "c": 5}


def domain_of(rng: np.random.Generator) -> Domain:
    variables = {}
    for name, size in SIZES.items():
        labels = tuple(str(i) for i in rng.choice(12, size, replace=False) - 3)
        rules = [str(rule) for rule in rng.choice([*labels, "drop"], 2)]
        categories = Categories(labels=labels, missing=rules[0], unseen=rules[1])
        variables[name] = Variable(name=name, domain=categories)
    return Domain(name="d", population="p", version="1", variables=variables, neighbours=Neighbours())


def query_of(domain: Domain, rng: np.random.Generator) -> TableQuery:
    """Some variables on axes in any order, with codes that share a position or have none, and conditions on any variable."""
    axes = []
    for name in rng.permutation(list(SIZES))[: rng.integers(0, 4)]:
        positions = rng.integers(-1, 2, SIZES[str(name)])
        labels = tuple(f"l{i}" for i in range(2))
        has_rest = bool(rng.integers(0, 2))
        axes.append(Axis(variable=str(name), labels=labels, codes=tuple(int(p) for p in positions), has_rest=has_rest))
    where = tuple(
        Filter(variable=name, codes=tuple(int(code) for code in rng.choice(SIZES[name], 2, replace=False)))
        for name in rng.choice(list(SIZES), rng.integers(0, 3))
    )
    return TableQuery(space=CellSpace(tuple(axes)), where=where)


def column_of(rng: np.random.Generator, rows: int) -> list[int | None]:
    values = rng.choice([*range(-5, 12), 40_000, -(2**40)], rows).tolist()
    return [None if rng.random() < 0.2 else int(value) for value in values]


@pytest.mark.parametrize("seed", range(25))
def test_both_ways_of_counting_agree_with_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    domain = domain_of(rng)
    data: dict[str, Any] = {name: pa.array(column_of(rng, 60), pa.int64()) for name in SIZES}
    source, reference = DuckDBSource(domain, pa.table(data)), MemorySource.open(domain, pa.table(data))
    queries = [query_of(domain, rng) for _ in range(6)]
    told = source.tables(queries)
    for query, counts in zip(queries, told, strict=True):
        np.testing.assert_array_equal(counts.open_below_the_gate(), reference.table(query).open_below_the_gate())


def batch_of(domain: Domain, rng: np.random.Generator, rows: int) -> dict[str, Factored]:
    batch = {}
    for name in SIZES:
        integers = IntegerMap.of(domain.variable(name).categories)
        assert integers is not None
        batch[name] = integers.take(rng.integers(-5, 12, rows), rng.random(rows) < 0.1)
    return batch


@pytest.mark.parametrize("most", [_joint.MOST_COMBINATIONS, 1])
def test_batches_of_either_kind_may_follow_one_another(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_joint, "MOST_COMBINATIONS", most)
    monkeypatch.setattr(_joint, "_ROWS", 7)
    rng = np.random.default_rng(7)
    domain = domain_of(rng)
    for _ in range(30):
        query = query_of(domain, rng)
        one, other = (Tally(query=query, domain=domain) for _ in range(2))
        for _ in range(3):
            batch = batch_of(domain, rng, 20)
            plain = {name: expanded(column) for name, column in batch.items()}
            one.add(batch if rng.random() < 0.7 else plain)
            other.add(plain)
        np.testing.assert_array_equal(one.result(), other.result())


def test_what_does_not_follow_from_the_declaration_is_not_counted_by_places() -> None:
    rng = np.random.default_rng(1)
    domain = domain_of(rng)
    batch = batch_of(domain, rng, 5)
    assert JointCounts.of(batch, ("a", "b")) is not None
    assert JointCounts.of(batch, ()) is None
    seen = Factored(batch["a"].places, batch["a"].codes)
    assert JointCounts.of({**batch, "a": seen}, ("a", "b")) is None


@pytest.mark.parametrize("first", [-(2**15) + 3, -4, 0, 2**15 - 8, 2**15, 2**31 - 5, 2**40])
@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.int64])
def test_places_fit_their_type_wherever_the_declared_integers_lie(first: int, kind: type[Any]) -> None:
    labels = tuple(str(first + i) for i in (2, 0, 3))
    integers = IntegerMap.of(Categories(labels=labels, missing=labels[2], unseen=labels[1]))
    assert integers is not None
    held = np.iinfo(kind)
    values = [v for v in (held.min, -1, 0, 1, held.max, *range(first - 2, first + 6)) if held.min <= v <= held.max]
    codes = integers.take(np.array(values, dtype=kind), np.arange(len(values)) == 1).expand().tolist()
    expected = [labels.index(str(v)) if str(v) in labels else 1 for v in values]
    assert codes == [2 if place == 1 else code for place, code in enumerate(expected)]
