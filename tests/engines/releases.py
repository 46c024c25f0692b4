"""The same requests on the same rows through any engine, with recorded noise: what is published must be the same bytes."""

import runpy
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from dalenius import load
from dalenius.cli.demo import compare
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.demo import population
from dalenius.engines.memory import MemorySource
from dalenius.ledger import Ledger
from dalenius.publish.to_json import write_json
from dalenius.testing import engine_kit
from dalenius.testing.toy import toy_rows

TOYS = {name: [row[name] for row in toy_rows()] for name in toy_rows()[0]}
DATASET: dict[str, Any] = {
    "dataset": {"name": "jobs", "population": "people", "public": True},
    "unit": {"id": "person", "max_rows": 2},
    "variables": {
        "sex": {"categories": ["female", "male"]},
        "region": {"categories": ["north", "east", "south", "west"], "unseen": "west"},
        "age": {"bounds": [0, 100], "step": 1, "outside": "drop"},
        "status": {"categories": ["other"], "unseen": "other", "unlisted": True},
        "income": {"bounds": [-50, 1000], "step": "1/2", "missing": "0"},
    },
}
PURE = {"definition": "pure", "epsilon": 1}
REQUESTS: list[dict[str, Any]] = [
    {"table": {"rows": ["sex"], "columns": ["region"]}, "privacy": PURE},
    {"table": {"rows": ["region"], "measure": "total", "of": "income"}, "privacy": PURE},
    {"table": {"rows": ["sex"], "measure": "mean", "of": "income"}, "privacy": PURE},
    {"table": {"rows": ["sex"], "measure": "median", "of": "income"}, "privacy": PURE},
    {"table": {"rows": [{"variable": "age", "cuts": [18, 65]}], "where": {"sex": ["female"]}}, "privacy": PURE},
    {"table": {"rows": ["sex"], "columns": ["region"], "margins": "all", "universe": "complete"}, "privacy": PURE},
    {"table": {"rows": ["sex"], "columns": ["region"], "measure": "persons"}, "privacy": PURE},
    {"table": {"rows": ["region"], "measure": "clipped_count", "clip": "3/2", "norm": "l2"}, "privacy": PURE},
    {
        "table": {"rows": ["sex"], "measure": "clipped_total", "of": "income", "clip": [5, 20, 90], "learn": "1/4"},
        "privacy": PURE,
    },
    {
        "table": {"rows": ["status"], "measure": "labels", "most": 2},
        "privacy": {"definition": "approximate", "epsilon": 24, "delta": "0.009"},
    },
]
# The same persons as one row each.
FEATURES: dict[str, Any] = {
    "dataset": DATASET["dataset"] | {"name": "features"},
    "unit": {"id": "person"},
    "records": {name: DATASET["variables"][name] for name in ("sex", "region", "income")},
    "variables": {
        "sex": {"feature": {"take": "first"}},
        "all data": {"feature": {"take": "any", "where": {"region": ["north"]}}},
        "rows": {"feature": {"take": "count"}, "bounds": [0, 3]},
        "income": {"feature": {"take": "sum"}, "bounds": [0, 200]},
    },
}
FEATURE_REQUESTS: list[dict[str, Any]] = [
    {"table": {"rows": ["sex"], "columns": ["all data"]}, "privacy": PURE},
    {"table": {"rows": ["sex"], "measure": "total", "of": "income"}, "privacy": PURE},
    {"table": {"measure": "median", "of": "rows"}, "privacy": PURE},
    {"table": {"rows": ["sex"], "measure": "persons"}, "privacy": PURE},
    {
        "table": {
            "rows": ["all data"],
            "measure": "clipped_total",
            "of": "income",
            "clip": [20, 90],
            "norm": "l2",
            "learn": "1/3",
        },
        "privacy": PURE,
    },
]
POLICY = {"budget": {"rho": 90, "delta": "0.01"}}


def document(source: str, declared: Mapping[str, Any] = DATASET) -> dict[str, Any]:
    return {**declared, "dataset": {**declared["dataset"], "source": source}}


def told(release: Release) -> bytes:
    """A release as it is published, without the entry of the ledger that it was made in: its head knows the data's digest."""
    about = replace(release.provenance, ledger_entry="", ledger_head="")
    return write_json(replace(release, provenance=about))


def released(engine: str, source: str, folder: Path) -> list[bytes]:
    """Every request about rows and about persons, registered anew in a ledger of its own; all ledgers choose rows of persons by one secret."""
    rows = _released(engine, source, folder, DATASET, REQUESTS)
    return rows + _released(engine, source, folder, FEATURES, FEATURE_REQUESTS)


def _released(
    engine: str, source: str, folder: Path, declared: Mapping[str, Any], requests: list[dict[str, Any]]
) -> list[bytes]:
    data = None if source else engine_kit.arrow(TOYS)
    book = folder / f"{engine}{len(list(folder.iterdir()))}.sqlite"
    with (
        patch.object(Ledger, "secret", lambda *_: bytes(32)),
        Curator.open(
            document(source, declared), ledger=book, data=data, policy=POLICY, rng=RecordedRandomness(1)
        ) as curator,
    ):
        if engine == "memory":
            curator.holding._source = MemorySource(curator.domain, TOYS, bytes(32))
        curator.register()
        is_made_here = engine == "duckdb" and curator.domain.has_features
        module = "_person_source" if is_made_here else engine
        assert type(curator.source).__module__ == f"dalenius.engines.{module}"
        return [told(curator.release(request)) for request in requests]


def check_demo(engine: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `make demo ENGINE=…` runs, on a thousandth of the persons: the demo's table, about as far off as its noise."""
    labels, persons = population._counts()
    monkeypatch.setattr(population, "_counts", lambda: (labels, [count // 1000 for count in persons]))
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["demo_on.py", engine])
    runpy.run_path(str(Path(__file__).parents[2] / "tools" / "demo_on.py"), run_name="__main__")
    release = load(folder / f"dalenius-demo-{engine}" / "release")
    # Noise is farther off than this with a probability below 1e-20.
    assert compare(release)["largest_error"] < 40 * release.table.std_error.max()
