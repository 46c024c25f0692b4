"""The document of a release, as a ledger keeps it: what was measured, its law, what is shown, and its origin.

The document is the product: an analyst needs nothing else. Bytes are canonical (sorted keys, no spaces), so equal
releases have equal digests. `from_json` is the inverse.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from dalenius.algebra.tabulation import tidy, tidy_list
from dalenius.core.cells import Axis, CellSpace, Numbered, numbered
from dalenius.core.law import FloatArray, IntArray, law_from_dict
from dalenius.core.release import FORMAT, Block, Provenance, Release, Status, Subject, Table, labels_of
from dalenius.errors import DocumentError
from dalenius.publish._cells import Cells, filled, is_large

# Between these the two writers agree on every float; they differ in when and how an exponent is written.
_LEAST, _MOST = 1e-4, 1e15
_SCALARS = (str, int, float, bool, type(None))


def write_json(release: Release) -> bytes:
    """Canonical bytes of a release; one with very many cells holds them in columns."""
    if is_large(release):
        return in_columns(release, Cells.of(release), is_inside=True)
    parts = {name: canonical_bytes(value) for name, value in _heading(release).items()}
    # Blocks and tables of a batch stand in its members.
    blocks, tables = ((), ()) if release.members else (release.blocks, release.tables)
    parts["blocks"] = _listed(_object(_block(block), {"values": integers(block.values)}) for block in blocks)
    parts["tables"] = _listed(
        _object(
            _table(table),
            {
                "values": floats(table.values),
                "variance": canonical_bytes(one_or_list(v)) if _is_one(v := table.variance) else floats(v),
            },
        )
        for table in tables
    )
    if release.members:
        parts["members"] = _listed(write_json(member) for member in release.members)
    return _object({}, parts)


def in_columns(release: Release, cells: Cells, *, is_inside: bool) -> bytes:
    """The document of a large release: its numbers stand in a columnar file, in the document or beside it."""
    place = {"parquet": b64encode(cells.content).decode()} if is_inside else {"file": cells.name}
    parts = {name: canonical_bytes(value) for name, value in _heading(release).items()}
    parts["cells"] = canonical_bytes({"sha256": cells.digest, **place})
    parts["blocks"] = _listed(canonical_bytes(_block(block)) for block in release.blocks)
    parts["tables"] = _listed(canonical_bytes(_table(table)) for table in release.tables)
    return _object({}, parts)


def to_document(release: Release) -> dict[str, Any]:
    """The document as plain Python values."""
    blocks, tables = ((), ()) if release.members else (release.blocks, release.tables)
    members = {"members": [to_document(member) for member in release.members]} if release.members else {}
    return _heading(release) | {
        "blocks": [_block(block) | {"values": block.values.tolist()} for block in blocks],
        "tables": [
            _table(table) | {"values": tidy_list(table.values), "variance": one_or_list(table.variance)}
            for table in tables
        ],
        **members,
    }


def as_read(release: Release) -> Release:
    """What `from_json(write_json(release))` answers, without writing and reading the numbers."""
    if release.members:
        whole = _read(json.loads(canonical_bytes(_heading(release))) | {"blocks": [], "tables": []})
        return whole.with_members([as_read(member) for member in release.members])
    document = json.loads(canonical_bytes(_heading(release)))
    document["blocks"] = [
        json.loads(canonical_bytes(_block(block))) | {"values": block.values} for block in release.blocks
    ]
    document["tables"] = [
        json.loads(canonical_bytes(_table(table))) | {"values": table.values, "variance": table.variance}
        for table in release.tables
    ]
    return _read(document)


def _heading(release: Release) -> dict[str, Any]:
    """Everything but the blocks and tables."""
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
    }


def _object(outline: Mapping[str, Any], numbers: Mapping[str, bytes]) -> bytes:
    """An object with sorted keys, of plain values and of values that are written already."""
    parts = {name: canonical_bytes(value) for name, value in outline.items()} | dict(numbers)
    return b"{" + b",".join(canonical_bytes(name) + b":" + parts[name] for name in sorted(parts)) + b"}"


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
        **({} if table.sampled is None else {"variance_with_sampling": one_or_list(table.sampled)}),
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
    return Release(
        blocks=tuple(_read_block(b) for b in document["blocks"]),
        tables=tuple(_read_table(t) for t in document["tables"]),
        law=law_from_dict(document["law"]),
        provenance=Provenance(**provenance),
        adjustments=tuple(document["adjustments"]),
        status=Status(document["status"]),
        subject=Subject.from_dict(document["subject"]) if "subject" in document else None,
    )


def _read_space(document: dict[str, Any]) -> CellSpace:
    axes = []
    for axis in document["axes"]:
        labels = axis["labels"]
        # A number stands for so many labels that are counted from 0.
        texts = numbered(labels) if isinstance(labels, int) else tuple(labels)
        axes.append(Axis(variable=axis["variable"], labels=texts, level=axis.get("level", "")))
    return CellSpace(tuple(axes), frozenset(tuple(c) for c in document["structural_zeros"]))


def _read_block(document: dict[str, Any]) -> Block:
    return Block(
        name=document["name"],
        role=document["role"],
        space=_read_space(document["space"]),
        values=np.asarray(document["values"], dtype=np.int64),
        law=law_from_dict(document["law"]),
        parameters=document["parameters"],
    )


def _read_table(document: dict[str, Any]) -> Table:
    # The sum with zero takes the sign from a negative zero, which the document does not hold.
    values = np.array(document["values"], dtype=np.float64) + 0.0
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
    numbers = np.full(cells, np.nan if content is None else 0.0, dtype=np.float64)
    if content is not None:
        numbers += np.array(content, dtype=np.float64)
    return numbers


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
    is_agreed = np.all((sizes == 0) | np.isnan(sizes) | ((sizes >= _LEAST) & (sizes < _MOST)))
    return orjson.dumps(tidy_list(values)) if is_agreed else canonical_bytes(tidy_list(values))


def one_or_list(values: FloatArray) -> Any:
    """A list, or a single number where all cells agree, as plain Python values."""
    return tidy(float(values[0])) if _is_one(values) else tidy_list(values)


def _is_one(values: FloatArray) -> bool:
    return len(values) > 1 and bool(np.all(values == values[0]))
