"""The numbers of a large release as one columnar file (Parquet), named by its digest in the release document.

One row for each number, part by part: the measured blocks first, then the tables, each in the order of its cells.
`part` counts them, `measured` holds the integers of blocks, `value` and `variance` the numbers of tables.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from typing import Any

import numpy as np

from dalenius.core.cells import MOST_HELD
from dalenius.core.release import Release
from dalenius.errors import DocumentError

LARGE = 1_000_000
"""Cells of all tables together from which on their numbers stand in a file of their own."""
_PARTS = ("part", "measured", "value", "variance")


def is_large(release: Release) -> bool:
    """Whether the numbers of a release are kept in columns."""
    has_sampling = any(table.sampled is not None for table in release.tables)
    is_whole = not release.members and not has_sampling
    cells = sum(len(table.values) for table in release.tables)
    longest = max((len(block.values) for block in release.blocks), default=0)
    return is_whole and (cells >= LARGE or longest > MOST_HELD)


@dataclass(frozen=True, eq=False)
class Cells:
    content: bytes

    @property
    def digest(self) -> str:
        return sha256(self.content).hexdigest()

    @property
    def name(self) -> str:
        return f"cells-{self.digest[:16]}.parquet"

    @classmethod
    def of(cls, release: Release) -> "Cells":
        """All numbers of a release; equal numbers give equal bytes."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds = (pa.int16(), pa.int64(), pa.float64(), pa.float64())
        schema = pa.schema(list(zip(_PARTS, kinds, strict=True)))
        out = BytesIO()
        with pq.ParquetWriter(out, schema, compression="zstd", use_dictionary=["part", "variance"]) as writer:
            for number, block in enumerate(release.blocks):
                nothing = pa.nulls(len(block.values), pa.float64())
                columns = [_numbered(number, block.values), pa.array(block.values), nothing, nothing]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            for number, table in enumerate(release.tables, start=len(release.blocks)):
                columns = [
                    _numbered(number, table.values),
                    pa.nulls(len(table.values), pa.int64()),
                    # The sum with zero takes the sign from a negative zero.
                    pa.array(table.values + 0.0),
                    pa.array(table.variance),
                ]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
        return cls(out.getvalue())

    def arrays(self) -> list[dict[str, Any]]:
        """The numbers of every part, as a document would hold them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(BytesIO(self.content))
        except pa.ArrowException as error:
            raise DocumentError(f"The cells of this release cannot be read ({type(error).__name__}).") from error
        if tuple(table.column_names) != _PARTS:
            raise DocumentError("The cells of this release are not what a release writes.")
        part = table["part"].to_numpy()
        edges = np.flatnonzero(np.diff(part)) + 1
        parts = []
        for first, last in zip([0, *edges], [*edges, len(part)], strict=True):
            own = table.slice(int(first), int(last - first))
            if own["measured"].null_count:
                parts.append({name: own[name].to_numpy() for name in ("value", "variance")})
            else:
                parts.append({"measured": own["measured"].to_numpy()})
        return parts


def _numbered(number: int, values: Any) -> Any:
    import pyarrow as pa

    return pa.array(np.full(len(values), number, dtype=np.int16))


def filled(document: Mapping[str, Any], cells: Cells) -> dict[str, Any]:
    """A document whose numbers stand in columns, with its numbers."""
    stated = document["cells"]["sha256"]
    if cells.digest != stated:
        raise DocumentError("The file of cells is not the one that the release document names.")
    blocks, tables = [dict(b) for b in document["blocks"]], [dict(t) for t in document["tables"]]
    parts = cells.arrays()
    if len(parts) != len(blocks) + len(tables):
        raise DocumentError("The file of cells does not hold the numbers of this release.")
    for block, part in zip(blocks, parts, strict=False):
        block["values"] = part["measured"]
    for table, part in zip(tables, parts[len(blocks) :], strict=True):
        table["values"], table["variance"] = part["value"], part["variance"]
    return {**document, "blocks": blocks, "tables": tables}
