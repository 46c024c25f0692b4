"""A size that is declared under replace is the file's own: it stands in tables as an exact total."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.curator.curator import Curator
from dalenius.errors import DaleniusError, DocumentError, NotRegistered
from dalenius.server.config import ServerConfig
from dalenius.server.services import Services

ROWS = {"person": [f"p{i // 2}" for i in range(99)] + [None], "sex": ["f", "m", "f", "f"] * 25}
REQUEST = {"table": {"rows": ["sex"], "margins": "all"}, "privacy": {"definition": "pure", "epsilon": 1}}


def document(size: int | None, relation: str = "replace", **unit: Any) -> dict[str, Any]:
    given = {} if size is None else {"size": size}
    return {
        "dataset": {"name": "d", "population": "p", "source": "rows.csv", **given},
        "unit": {"relation": relation, **unit},
        "variables": {"sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"}},
    }


def opened(tmp_path: Path, content: dict[str, Any]) -> Curator:
    return Curator.open(content, ledger=tmp_path / "ledger.sqlite", data=ROWS)


def test_another_size_than_the_files_is_refused_and_nothing_is_registered(tmp_path: Path) -> None:
    with opened(tmp_path, document(90)) as curator:
        with pytest.raises(DocumentError, match="declares size = 90") as refusal:
            curator.register()
        assert "100" not in str(refusal.value) and refusal.value.detail == {"declared": 90}
        with pytest.raises(NotRegistered):
            curator.release(REQUEST)
        assert curator.ledger.reader.populations() == []
    with opened(tmp_path, document(100)) as curator:
        curator.register()
        total = next(table for table in curator.release(REQUEST).tables if not table.space.axes)
        assert list(total.values) == [100] and list(total.variance) == [0]


@pytest.mark.parametrize("max_rows", [1, 2])
def test_persons_are_compared_where_persons_are_the_unit(tmp_path: Path, max_rows: int) -> None:
    for wrong in (49, 51, 99, 100):
        with (
            opened(tmp_path, document(wrong, id="person", max_rows=max_rows)) as curator,
            pytest.raises(DocumentError, match="different values of 'person'"),
        ):
            curator.register()
    with opened(tmp_path, document(50, id="person", max_rows=max_rows)) as curator:
        curator.register()


def test_a_size_under_add_remove_is_a_hint_and_never_a_total(tmp_path: Path) -> None:
    with opened(tmp_path, document(90, "add-remove")) as curator:
        curator.register()
        total = next(table for table in curator.release(REQUEST).tables if not table.space.axes)
        assert total.variance[0] > 0


def test_every_route_compares(tmp_path: Path) -> None:
    import json

    lines = ["person,sex", *(f"{p or ''},{s}" for p, s in zip(ROWS["person"], ROWS["sex"], strict=True))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "dataset.json").write_text(json.dumps(document(90)))
    place = tmp_path / "server.toml"
    place.write_text('title = "x"\nsecure_cookies = false\n[[datasets]]\ndocument = "dataset.json"\n')
    told = CliRunner().invoke(app, ["register", str(tmp_path / "dataset.json")])
    assert isinstance(told.exception, DocumentError)
    services = Services(ServerConfig.load(place))
    try:
        with pytest.raises(DaleniusError, match="declares size = 90"):
            services.desk.register_all(by="custodian")
    finally:
        services.close()
