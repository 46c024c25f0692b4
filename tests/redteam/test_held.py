"""Attacks that failed: what was tried against the real path from file to release, and held.

Run time: a few seconds. Nothing here is random except the noise, whose values are not tested.
"""

import os
import time
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.redteam.conftest import Open, ask

from dalenius.core.query import TableQuery
from dalenius.core.release import Status
from dalenius.curator import gate
from dalenius.engines.duckdb import DuckDBSource
from dalenius.errors import NotAllowed, NotPublic
from dalenius.spec import load
from dalenius.spec.canonical import canonical
from dalenius.statistics.count import Count

ODD = [("x", "1", "0"), ("q", "2", "7"), ("", "9", "nan"), ("y", "1", "-5")]
TABLES: list[dict[str, Any]] = [
    {"rows": ["a"]},
    {"rows": ["a", "b"]},
    {"rows": ["b"], "where": {"a": ["x"]}},
    {"rows": [{"variable": "n", "cuts": [0, 1, 3]}]},
    {},
]


def _document(name: str, relation: str, most: int | None) -> dict[str, Any]:
    unit = {"relation": relation} | ({} if most is None else {"id": "id", "max_rows": most})
    return {
        "dataset": {"name": "d", "population": "p", "source": name},
        "unit": unit,
        "variables": {
            "a": {"categories": ["x", "y"], "unseen": "y"},
            "b": {"categories": ["1", "2"]},
            "n": {"bounds": [0, 3], "step": 1},
        },
        "structural_zeros": [{"a": "x", "b": "2"}],
    }


def _write(path: Path, rows: list[tuple[str, ...]]) -> None:
    names = ("id", "a", "b", "n")
    if path.suffix == ".csv":
        path.write_text("".join(",".join(row) + "\n" for row in [names, *rows]))
        return
    columns = list(zip(*rows, strict=True)) or [()] * 4
    pq.write_table(
        pa.table(
            {n: pa.array([v or None for v in c], pa.string()) for n, c in zip(names, columns, strict=True)}
        ),
        path,
    )


def _tables(path: Path, relation: str, most: int | None, rows: list[tuple[str, ...]]) -> list[Any]:
    _write(path, rows)
    document = load.load_dataset(_document(path.name, relation, most)).at(path.parent)
    domain, source = document.domain(), DuckDBSource.open(document, secret=b"s" * 32)
    found = []
    for table in TABLES:
        request = load.load_request({"table": table, "privacy": {"definition": "pure", "epsilon": 1}})
        form = canonical(request, domain)
        query = TableQuery(space=form.space, where=form.filters)
        found.append((query, domain.neighbours, source.table(query).open_below_the_gate()))
    return found


def _people(most: int | None) -> Iterator[list[tuple[str, ...]]]:
    """Persons of one row, and of three where at most two of a person count."""
    yield from ([row] for row in ODD)
    if most is not None:
        yield from ([first, second, first] for first, second in pairwise(ODD))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("most", [None, 2])
def test_one_person_moves_the_table_by_its_sensitivity_through_the_engine(
    tmp_path: Path, suffix: str, most: int | None
) -> None:
    """Every odd person added to a file of odd persons, and every replacement, is within the declared patterns."""
    path = tmp_path / f"f{suffix}"
    others = [("o1", *ODD[0]), ("o1", *ODD[1]), ("o2", *ODD[3])]

    def with_one(rows: list[tuple[str, ...]], place: int) -> list[tuple[str, ...]]:
        return [*others[:place], *(("p", *row) for row in rows), *others[place:]]

    tables = {
        relation: {
            None: _tables(path, relation, most, others),
            **{i: _tables(path, relation, most, with_one(p, i % 4)) for i, p in enumerate(_people(most))},
        }
        for relation in ("add-remove", "replace")
    }
    pairs = [("add-remove", None, i) for i in tables["add-remove"] if i is not None]
    kept = [i for i in tables["replace"] if i is not None]
    pairs += [("replace", i, j) for i, j in product(kept, kept) if i < j]
    for relation, first, second in pairs:
        both = zip(tables[relation][first], tables[relation][second], strict=True)
        for (query, neighbours, left), (_, _, right) in both:
            moved = np.abs(left - right)
            move = sorted(moved[moved > 0].tolist(), reverse=True)
            patterns = Count(query).sensitivity(neighbours).patterns or ()
            assert not move or any(
                len(p) >= len(move) and all(a >= b for a, b in zip(p, move, strict=False)) for p in patterns
            )


def test_a_slow_process_and_the_one_that_takes_over_answer_the_same(open_curator: Open) -> None:
    """A lease runs out while the first process still measures: both answer what was stored, at one price."""
    open_curator().close()
    read, write = os.pipe()
    children = []
    for number in range(2):
        child = os.fork()
        if child == 0:
            status = 1
            try:
                curator = open_curator(is_registered=False, lease_seconds=0.3, wait_seconds=10.0)
                if number == 0:

                    def slow(*args: Any, run: Any = gate.run, **keywords: Any) -> gate.Passage:
                        passage: gate.Passage = run(*args, **keywords)
                        time.sleep(1.0)
                        return passage

                    gate.run = slow
                else:
                    time.sleep(0.6)
                values = curator.release(ask("0.01")).tables[0].values.tolist()
                os.write(write, f"{values}\n".encode())
                status = 0
            finally:
                os._exit(status)
        children.append(child)
    assert [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children] == [0, 0]
    os.close(write)
    with os.fdopen(read) as answers:
        first, second = answers.read().split("\n")[:2]
    assert first == second
    assert open_curator(is_registered=False).ledger.account("p").entries == 1


def test_embargoed_answers_do_not_leave_by_the_memo(open_curator: Open) -> None:
    """Somebody else who asks the same is refused, and not charged."""
    curator = open_curator()
    curator.release(ask(), analyst="ann", status=Status.EMBARGOED)
    spent = curator.ledger.account("p").spent
    with pytest.raises(NotPublic):
        curator.release(ask(), analyst="bob")
    assert curator.ledger.account("p").spent == spent


def test_spellings_of_one_request_are_one_release(open_curator: Open) -> None:
    """Orders and number formats do not buy a second draw."""
    curator = open_curator()
    first = curator.release(ask("0.5", table={"where": {"a": ["x", "y"]}}))
    again = curator.release(ask("5e-1", table={"where": {"a": ["y", "x"]}}))
    assert first.tables[0].values.tolist() == again.tables[0].values.tolist()
    assert curator.ledger.account("p").entries == 1


def test_a_recorded_source_is_refused_for_confidential_data(open_curator: Open) -> None:
    """Before anything is charged."""
    curator = open_curator()
    curator._rng = type("Recorded", (), {"is_tainted": True})()
    with pytest.raises(NotAllowed):
        curator.release(ask())
    assert curator.ledger.account("p").entries == 0
