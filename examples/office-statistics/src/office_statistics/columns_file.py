"""Files that end in .columns: a JSON object of lists, one per column."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from dalenius.core.contracts import Source
from dalenius.core.domain import Domain
from dalenius.engines import engine_for

__all__ = ["ColumnsFile"]


class ColumnsFile:
    """Opened as the same columns in memory are."""

    turn: ClassVar[int] = 0
    suffixes: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def accepts(cls, data: object) -> bool:
        return isinstance(data, str | Path) and str(data).endswith(".columns")

    @classmethod
    def open(
        cls,
        domain: Domain,
        data: Any,
        secret: bytes = b"",
        *,
        table: str = "",
        delimiter: str = ",",
        others: Mapping[str, Any] | None = None,
    ) -> Source:
        rows = json.loads(Path(data).read_text())
        return engine_for(rows).open(domain, rows, secret, others=others)

    @classmethod
    def stored(cls, table: Any, folder: Path) -> Path:
        """Write an Arrow table in the form that `open` reads, for the kit of engines."""
        place = folder / "kit.columns"
        place.write_text(json.dumps(table.to_pydict()))
        return place
