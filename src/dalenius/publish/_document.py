"""The document of a release, as a ledger keeps it: what was measured, its law, what is shown, and its origin.

The document is the product: an analyst needs nothing else. Bytes are canonical (sorted keys, no spaces), so equal
releases have equal digests. `from_json` is the inverse.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from dalenius.algebra.tabulation import tidy, tidy_list
from dalenius.core.cells import Axis, CellSpace, Numbered, numbered
from dalenius.core.law import FloatArray, IntArray, law_from_dict
from dalenius.core.release import FORMAT, Block, Provenance, Release, Status, Subject, Table, labels_of
from dalenius.errors import DocumentError

LARGE = 1_000_000
"""Cells of all tables together from which on their numbers stand in a file of their own."""
_PARTS = ("part", "measured", "value", "variance", "variance_with_sampling")


def is_large(release: Release) -> bool:
    """Whether the numbers of a release are kept in columns."""
    cells = sum(len(table.values) for table in release.tables)
    longest = max((len(block.values) for block in release.blocks), default=0)
    return not release.members and (cells >= LARGE or longest > LARGE)


@dataclass(frozen=True, eq=False)
class Cells:
    """The numbers of a large release as one columnar file (Parquet), named by its digest in the release document.

    One row for each number, part by part: the measured blocks first, then the tables, each in the order of its cells.
    `part` counts them, `measured` holds the integers of blocks, `value` and `variance` the numbers of tables, and
    `variance_with_sampling` those of estimates with both errors.
    """

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

        kinds = (pa.int16(), pa.int64(), pa.float64(), pa.float64(), pa.float64())
        schema = pa.schema(list(zip(_PARTS, kinds, strict=True)))
        out = BytesIO()
        with pq.ParquetWriter(out, schema, compression="zstd", use_dictionary=["part", "variance"]) as writer:
            for number, block in enumerate(release.blocks):
                nothing = pa.nulls(len(block.values), pa.float64())
                columns = [_numbered(number, block.values), pa.array(block.values), nothing, nothing, nothing]
                writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            for number, table in enumerate(release.tables, start=len(release.blocks)):
                columns = [
                    _numbered(number, table.values),
                    pa.nulls(len(table.values), pa.int64()),
                    # The sum with zero takes the sign from a negative zero.
                    pa.array(table.values + 0.0),
                    pa.array(table.variance),
                    pa.nulls(len(table.values), pa.float64()) if table.sampled is None else pa.array(table.sampled),
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
            held = (name for name in _PARTS[1:] if not own[name].null_count)
            parts.append({name: own[name].to_numpy() for name in held})
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
        table |= {"values": part.pop("value"), **part}
    return {**document, "blocks": blocks, "tables": tables}


# Between these the two writers agree on every float; they differ in when and how an exponent is written.
_LEAST, _MOST = 1e-4, 1e15
Numbers = Callable[[Any], Any]
_SCALARS = (str, int, float, bool, type(None))


def write_json(release: Release) -> bytes:
    """Canonical bytes of a release; one with very many cells holds them in columns."""
    if is_large(release):
        return in_columns(release, Cells.of(release), is_inside=True)
    document = _filled(_outline(release), release, integers, floats, one_or_floats)
    for key in ("blocks", "tables"):
        document[key] = _listed(map(_object, document[key]))
    if release.members:
        document["members"] = _listed(map(write_json, release.members))
    return _object(document)


def in_columns(release: Release, cells: Cells, *, is_inside: bool) -> bytes:
    """The document of a large release: its numbers stand in a columnar file, in the document or beside it."""
    place = {"parquet": b64encode(cells.content).decode()} if is_inside else {"file": cells.name}
    return canonical_bytes(_outline(release) | {"cells": {"sha256": cells.digest, **place}})


def to_document(release: Release) -> dict[str, Any]:
    """The document as plain Python values."""
    document = _filled(_outline(release), release, np.ndarray.tolist, tidy_list, one_or_list)
    return document | ({"members": list(map(to_document, release.members))} if release.members else {})


def as_read(release: Release) -> Release:
    """What `from_json(write_json(release))` answers, without writing and reading the numbers."""
    outline = json.loads(canonical_bytes(_outline(release)))
    whole = _read(_filled(outline, release, np.asarray, np.asarray, np.asarray))
    return whole.with_members(list(map(as_read, release.members))) if release.members else whole


def _filled(
    outline: dict[str, Any], release: Release, whole: Numbers, numbers: Numbers, variance: Numbers
) -> dict[str, Any]:
    """An outline with the numbers of its blocks and tables, each array as its function writes it."""
    for part, block in zip(outline["blocks"], release.blocks, strict=False):
        part["values"] = whole(block.values)
    for part, table in zip(outline["tables"], release.tables, strict=False):
        part |= {"values": numbers(table.values), "variance": variance(table.variance)}
        if table.sampled is not None:
            part["variance_with_sampling"] = variance(table.sampled)
    return outline


def _outline(release: Release) -> dict[str, Any]:
    """Everything but the numbers; blocks and tables of a batch stand in its members."""
    blocks, tables = ((), ()) if release.members else (release.blocks, release.tables)
    # A table that is summed from a stored list has no subject of its own.
    subject = {} if release.subject is None else {"subject": release.subject.to_dict()}
    provenance = {part.name: getattr(release.provenance, part.name) for part in fields(release.provenance)}
    # Documents of data sets that do not say how their records were drawn do not mention it.
    provenance = {name: value for name, value in provenance.items() if value or name not in ("draws", "extensions")}
    return {
        "format": FORMAT,
        "status": str(release.status),
        "provenance": _plain(provenance),
        "law": release.law.to_dict(),
        "adjustments": [_plain(dict(a)) for a in release.adjustments],
        **_plain(subject),
        "blocks": list(map(_block, blocks)),
        "tables": list(map(_table, tables)),
    }


def _object(content: Mapping[str, Any]) -> bytes:
    """An object with sorted keys, of plain values and of values that are written already."""
    written = {name: part if isinstance(part, bytes) else canonical_bytes(part) for name, part in content.items()}
    return b"{" + b",".join(canonical_bytes(name) + b":" + written[name] for name in sorted(written)) + b"}"


def _listed(parts: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(parts) + b"]"


def _plain(value: Any) -> Any:
    if type(value) in _SCALARS:
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [v if type(v) in _SCALARS else _plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _space(space: CellSpace) -> dict[str, Any]:
    if any(isinstance(axis.labels, Numbered) for axis in space.axes):
        axes = [{"name": a.name, "variable": a.variable, "labels": len(a), "level": a.level} for a in space.axes]
        return {"axes": axes, "structural_zeros": []}
    return {"axes": labels_of(space), "structural_zeros": sorted(list(c) for c in space.structural_zeros)}


def _block(block: Block) -> dict[str, Any]:
    """A block without its values."""
    return {
        "name": block.name,
        "role": block.role,
        "space": _space(block.space),
        "law": block.law.to_dict(),
        "parameters": _plain(dict(block.parameters)),
    }


def _table(table: Table) -> dict[str, Any]:
    """A table without its numbers."""
    return {
        "name": table.name,
        "measure": table.measure,
        "is_unbiased": table.is_unbiased,
        "space": _space(table.space),
    }


def from_json(content: bytes | str, folder: Path | None = None) -> Release:
    """Read a release document; the cells of a large one may stand in a file of its folder."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise DocumentError("This is not a release document: it is not JSON.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DocumentError(f"This is not a release document of the format {FORMAT!r}.")
    if "file" in document.get("cells", {}):
        if folder is None:
            raise DocumentError("The cells of this release stand in a file beside it: load its directory.")
        document = _beside(document, folder)
    try:
        return _read(document)
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"The release document is incomplete or damaged ({type(error).__name__}).") from error


def _beside(document: dict[str, Any], folder: Path) -> dict[str, Any]:
    """With the cells of the file that the document names."""
    place = folder / Path(str(document["cells"]["file"])).name
    if not place.is_file():
        raise DocumentError(f"The cells of this release are missing: there is no {place.name!r} beside it.")
    try:
        return {**filled(document, Cells(place.read_bytes())), "cells": {}}
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(f"The release document is incomplete or damaged ({type(error).__name__}).") from error


def _read(document: dict[str, Any]) -> Release:
    if "parquet" in document.get("cells", {}):
        document = filled(document, Cells(b64decode(document["cells"]["parquet"])))
    if document.get("members"):
        whole = {name: part for name, part in document.items() if name != "members"}
        return _read(whole).with_members([_read(member) for member in document["members"]])
    provenance = dict(document["provenance"])
    provenance |= {name: tuple(provenance.get(name, ())) for name in ("warnings", "extensions")}
    blocks = (
        Block(
            name=block["name"],
            role=block["role"],
            space=_read_space(block["space"]),
            values=np.asarray(block["values"], dtype=np.int64),
            law=law_from_dict(block["law"]),
            parameters=block["parameters"],
        )
        for block in document["blocks"]
    )
    return Release(
        blocks=tuple(blocks),
        tables=tuple(_read_table(t) for t in document["tables"]),
        law=law_from_dict(document["law"]),
        provenance=Provenance(**provenance),
        adjustments=tuple(document["adjustments"]),
        status=Status(document["status"]),
        subject=Subject.from_dict(document["subject"]) if "subject" in document else None,
    )


def _read_space(document: dict[str, Any]) -> CellSpace:
    # A number in the place of labels stands for so many that are counted from 0.
    labels = [numbered(a["labels"]) if isinstance(a["labels"], int) else tuple(a["labels"]) for a in document["axes"]]
    axes = tuple(
        Axis(variable=a["variable"], labels=own, level=a.get("level", ""))
        for a, own in zip(document["axes"], labels, strict=True)
    )
    return CellSpace(axes, frozenset(tuple(c) for c in document["structural_zeros"]))


def _read_table(document: dict[str, Any]) -> Table:
    # The sum with zero takes the sign from a negative zero, which the document does not hold.
    values = np.asarray(document["values"], dtype=np.float64) + 0.0
    has_sampling = "variance_with_sampling" in document
    return Table(
        name=document["name"],
        measure=document["measure"],
        is_unbiased=document["is_unbiased"],
        space=_read_space(document["space"]),
        values=values,
        variance=_read_numbers(document["variance"], len(values)),
        sampled=_read_numbers(document["variance_with_sampling"], len(values)) if has_sampling else None,
    )


def _read_numbers(content: Any, cells: int) -> FloatArray:
    """A number for every cell, missing ones as NaN."""
    numbers = np.asarray(np.nan if content is None else content, dtype=np.float64)
    return np.broadcast_to(numbers, (cells,)) + 0.0


def canonical_bytes(content: object) -> bytes:
    """JSON with sorted keys and no spaces."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def integers(values: IntArray) -> bytes:
    if values.dtype != np.int64:
        return canonical_bytes(values.tolist())
    return orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)


def floats(values: FloatArray) -> bytes:
    """A list of numbers: integers without a decimal point, missing ones as null."""
    if len(values) and np.all(np.abs(values) < 2.0**62) and np.all(values == np.rint(values)):
        return integers(values.astype(np.int64))
    sizes = np.abs(values)
    if not np.all((sizes == 0) | np.isnan(sizes) | ((sizes >= _LEAST) & (sizes < _MOST))):
        return canonical_bytes(tidy_list(values))
    if np.any(values == np.rint(values)):
        return orjson.dumps(tidy_list(values))
    return orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)


def one_or_floats(values: FloatArray) -> bytes:
    """A list, or a single number where all cells agree."""
    is_one = len(values) > 1 and np.all(values == values[0])
    return canonical_bytes(tidy(float(values[0]))) if is_one else floats(values)


def one_or_list(values: FloatArray) -> Any:
    """The same as plain Python values."""
    is_one = len(values) > 1 and np.all(values == values[0])
    return tidy(float(values[0])) if is_one else tidy_list(values)
