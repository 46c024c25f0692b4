"""A small data set, its curator and requests for the attacks of this folder."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from dalenius import Curator
from dalenius.ledger import Ledger

VARIABLES: dict[str, Any] = {"a": {"categories": ["x", "y"]}, "n": {"bounds": [0, 10], "step": 1}}
ROWS: dict[str, list[Any]] = {"a": ["x"] * 30 + ["y"] * 10, "n": [1] * 40}

Open = Callable[..., Curator]


def ask(epsilon: object = 1, *, table: Mapping[str, Any] | None = None, **privacy: Any) -> dict[str, Any]:
    """A pure request of one small table."""
    return {
        "table": {"rows": ["a"]} | dict(table or {}),
        "privacy": {"definition": "pure", "epsilon": epsilon} | privacy,
    }


@pytest.fixture
def open_curator(tmp_path: Path) -> Open:
    """Opens the small data set on a ledger of its own, registered unless told otherwise."""

    def make(
        *,
        data: Any = ROWS,
        policy: Mapping[str, Any] | None = None,
        dataset: Mapping[str, Any] | None = None,
        unit: Mapping[str, Any] | None = None,
        is_registered: bool = True,
        **ledger: Any,
    ) -> Curator:
        document: dict[str, Any] = {
            "dataset": {"name": "d", "population": "p"} | dict(dataset or {}),
            "variables": VARIABLES,
        }
        if unit is not None:
            document["unit"] = dict(unit)
        source = None if dataset and "source" in dataset else data
        book = Ledger.open(tmp_path / "ledger.sqlite", **ledger)
        curator = Curator.open(document, ledger=book, policy=policy, data=source)
        if is_registered:
            curator.register()
        return curator

    return make
