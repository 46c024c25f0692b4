"""Dominance from a request: one charged number, and the custodian's exact view."""

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dalenius.core.query import TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator.curator import Curator
from dalenius.engines.memory import MemorySource
from dalenius.errors import DaleniusError, DocumentError, ParameterError, TooLarge, Unsupported
from dalenius.methods.dominance import judged
from dalenius.spec.canonical import canonical
from dalenius.spec.load import load_request

DATASET = {
    "dataset": {"name": "farms", "population": "farms", "version": "1", "public": True},
    "variables": {
        "region": {"categories": ["hill", "valley", "coast", "plain"]},
        "kind": {"categories": ["crop", "cattle"]},
        "output": {"bounds": [0, 1000], "step": 1},
    },
}
# hill: one giant; valley: five equals; coast: one farm; plain: nobody.
ROWS = {
    "region": ["hill"] * 3 + ["valley"] * 5 + ["coast"],
    "kind": ["crop", "cattle"] * 4 + ["crop"],
    "output": [900, 20, 20, 50, 50, 50, 50, 50, 7],
}


def open_farms(tmp_path: Path, **more: Any) -> Curator:
    curator = Curator.open(
        DATASET | more,
        ledger=tmp_path / f"{len(more)}.sqlite",
        data=ROWS,
        rng=RecordedRandomness(7),
        policy={"budget": {"rho": 1000}},
    )
    curator.register()
    return curator


def request(epsilon: object = 40, options: dict[str, Any] | None = None, **table: Any) -> dict[str, Any]:
    return {
        "table": {"rows": ["region"], "measure": "dominance", "of": "output"} | table | (options or {}),
        "privacy": {"definition": "pure", "epsilon": epsilon},
    }


@pytest.mark.parametrize(
    ("options", "table", "count"),
    [
        ({}, {}, 2),  # hill (20 left beside 900 and 20: below 90) and coast
        ({"rule": {"p": 2}}, {}, 1),
        ({"rule": {"n": 1, "k": 90}}, {}, 2),
        ({"rule": {"n": 2, "k": 30}}, {}, 3),
        ({}, {"where": {"region": ["valley", "plain"]}}, 0),
        ({}, {"rows": ["region"], "columns": ["kind"]}, 4),
        ({}, {"rows": [{"variable": "output", "cuts": [0, 100, 1000]}]}, 1),
        ({}, {"rows": []}, 0),
    ],
)
def test_the_number_of_dominated_cells(tmp_path: Path, options: Any, table: Any, count: int) -> None:
    with open_farms(tmp_path) as curator:
        release = curator.release(request(options=options, **table))
        assert release.table.values.tolist() == [count]  # noise is 0 but for one in 10^17
        assert release.table.measure == "dominated cells"
        exact = curator.inspection.dominance(request(options=options, **table))
        assert exact.reveal()["dominated"] == count


def test_the_custodian_sees_which(tmp_path: Path) -> None:
    with open_farms(tmp_path) as curator:
        report = curator.inspection.dominance(request()).reveal()
        assert report["which"] == ["hill", "coast"]
        assert curator.ledger.reader.entries()[-1].body["payload"]["what"] == "dominance"
        with pytest.raises(Unsupported):
            curator.inspection.dominance({"table": {"rows": ["region"]}, "privacy": request()["privacy"]})


def test_one_row_moves_one_cell_or_two(tmp_path: Path) -> None:
    with open_farms(tmp_path) as curator:
        alone = curator.plan(request(1)).law.noise.parameters["rate"]
    with open_farms(tmp_path, unit={"relation": "replace"}) as curator:
        replaced = curator.plan(request(1)).law.noise.parameters["rate"]
    assert (alone, replaced) == (1, pytest.approx(0.5))


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"options": {"rule": {"p": "10"}}}, DocumentError),
        ({"options": {"rule": {"p": 100}}}, ParameterError),
        ({"options": {"rule": {"q": 1}}}, DocumentError),
        ({"rows": [{"variable": "output", "cuts": list(range(1001))}]}, TooLarge),
        ({"margins": "all"}, Unsupported),
        ({"of": "region"}, DaleniusError),
    ],
)
def test_refusals_spend_nothing(tmp_path: Path, change: Any, error: type[Exception]) -> None:
    with open_farms(tmp_path) as curator:
        with pytest.raises(error):
            curator.release(request(**change))
        assert curator.ledger.reader.account("farms").charges == 0


def test_every_record_lies_in_one_cell_at_most(tmp_path: Path) -> None:
    """What the sensitivity rests on: cells that overlapped would let one record change two verdicts."""
    impossible = {"structural_zeros": [{"region": "coast", "kind": "cattle"}]}
    with open_farms(tmp_path, **impossible) as curator:
        document = load_request(
            request(
                rows=[{"variable": "output", "cuts": [0, 10, 11, 500, 1000]}, "region"],
                columns=[{"variable": "kind", "groups": {"any": ["crop", "cattle"]}}],
            )
        )
        document_by_kind = load_request(request(columns=["kind"]))
        for asked, outside in ((document, set()), (document_by_kind, {("coast", "cattle")})):
            form = canonical(asked, curator.domain)
            _, rule = judged(TableQuery(space=form.space), "output", {})
            for region, kind, output in product(
                DATASET["variables"]["region"]["categories"],
                DATASET["variables"]["kind"]["categories"],
                [0, 9, 10, 11, 12, 499, 500, 999, 1000],
            ):
                row = {"region": [region], "kind": [kind], "output": [output]}
                one = MemorySource(curator.domain, row, b"a secret")
                cells = [len(one.values(query).open_below_the_gate()) for query in rule.queries]
                assert sum(cells) == ((region, kind) not in outside)
