"""Attacks that failed: what was tried against the real path from file to release, and held.

Run time: a few seconds. Nothing here is random except the noise, whose values are not tested.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.redteam.conftest import ROWS, VARIABLES, Open, ask

from dalenius.core.query import TableQuery
from dalenius.core.release import Status
from dalenius.engines import open_source
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
        pa.table({n: pa.array([v or None for v in c], pa.string()) for n, c in zip(names, columns, strict=True)}), path
    )


def _tables(path: Path, relation: str, most: int | None, rows: list[tuple[str, ...]]) -> list[Any]:
    _write(path, rows)
    document = load.load_dataset(_document(path.name, relation, most)).at(path.parent)
    domain, source = document.domain(), open_source(document, secret=b"s" * 32)
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


SLOW = """
import json, sys, time
from dalenius import Curator, Ledger
from dalenius.curator import gate
place, number, document, rows, request = sys.argv[1], int(sys.argv[2]), *map(json.loads, sys.argv[3:])
if number == 0:
    run = gate.run
    def slow(*arguments, **keywords):
        passage = run(*arguments, **keywords)
        time.sleep(4.0)
        return passage
    gate.run = slow
ledger = Ledger.open(place, lease_seconds=0.3, wait_seconds=30.0)
curator = Curator.open(document, ledger=ledger, data=rows)
if number == 1:
    time.sleep(1.0)
print(curator.release(request).tables[0].values.tolist())
"""


def test_a_slow_process_and_the_one_that_takes_over_answer_the_same(open_curator: Open, tmp_path: Path) -> None:
    """A lease runs out while the first process still measures: both answer what was stored, at one price."""
    open_curator().close()
    document = {"dataset": {"name": "d", "population": "p"}, "variables": VARIABLES}
    contents = [json.dumps(c) for c in (document, ROWS, ask("0.01"))]
    command = [sys.executable, "-c", SLOW, str(tmp_path / "ledger.sqlite")]
    running = [subprocess.Popen([*command, str(n), *contents], stdout=subprocess.PIPE, text=True) for n in range(2)]
    answers = [process.communicate(timeout=120)[0].strip() for process in running]
    assert answers[0] and answers[0] == answers[1]
    assert open_curator(is_registered=False).ledger.reader.account("p").charges == 1


def test_embargoed_answers_do_not_leave_by_the_memo(open_curator: Open) -> None:
    """Somebody else who asks the same is refused, and not charged."""
    curator = open_curator()
    curator.release(ask(), analyst="ann", status=Status.EMBARGOED)
    spent = curator.ledger.reader.account("p").spent
    with pytest.raises(NotPublic):
        curator.release(ask(), analyst="bob")
    assert curator.ledger.reader.account("p").spent == spent


def test_spellings_of_one_request_are_one_release(open_curator: Open) -> None:
    """Orders and number formats do not buy a second draw."""
    curator = open_curator()
    first = curator.release(ask("0.5", table={"where": {"a": ["x", "y"]}}))
    again = curator.release(ask("5e-1", table={"where": {"a": ["y", "x"]}}))
    assert first.tables[0].values.tolist() == again.tables[0].values.tolist()
    assert curator.ledger.reader.account("p").charges == 1


def test_a_recorded_source_is_refused_for_confidential_data(open_curator: Open) -> None:
    """Before anything is charged."""
    curator = open_curator()
    curator._rng = type("Recorded", (), {"is_tainted": True})()
    with pytest.raises(NotAllowed):
        curator.release(ask())
    assert curator.ledger.reader.account("p").charges == 0
