"""The document of a release, as a ledger keeps it: everything that was measured, its law, what is shown, and where it comes from.

The document is the product: an analyst needs nothing else. Bytes are canonical (sorted keys, no spaces), so equal
releases have equal digests. `from_json` is the inverse.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import FloatArray, law_from_dict
from dalenius.core.release import FORMAT, Block, Provenance, Release, Status, Subject, Table, labels_of
from dalenius.errors import DocumentError
from dalenius.linear.tabulation import tidy, tidy_list


def to_json(release: Release) -> bytes:
    """Canonical bytes of a release."""
    return json.dumps(
        to_document(release), sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()


def to_document(release: Release) -> dict[str, Any]:
    """The document as plain Python values."""
    # A release that was stored without a subject keeps its bytes.
    subject = {} if release.subject is None else {"subject": release.subject.to_dict()}
    return {
        "format": FORMAT,
        "status": str(release.status),
        "provenance": _plain(asdict(release.provenance)),
        "law": release.law.to_dict(),
        "blocks": [_block(block) for block in release.blocks],
        "tables": [_table(table) for table in release.tables],
        "adjustments": [_plain(dict(a)) for a in release.adjustments],
        **_plain(subject),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _space(space: CellSpace) -> dict[str, Any]:
    return {"axes": labels_of(space), "structural_zeros": sorted(list(c) for c in space.structural_zeros)}


def _block(block: Block) -> dict[str, Any]:
    return {
        "name": block.name,
        "role": block.role,
        "space": _space(block.space),
        "values": block.values.tolist(),
        "law": block.law.to_dict(),
        "parameters": _plain(dict(block.parameters)),
    }


def _numbers(values: FloatArray) -> Any:
    """A list, or a single number where all cells agree."""
    if len(values) > 1 and np.all(values == values[0]):
        return tidy(float(values[0]))
    return tidy_list(values)


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "measure": table.measure,
        "is_unbiased": table.is_unbiased,
        "space": _space(table.space),
        "values": tidy_list(table.values),
        "variance": _numbers(table.variance),
        # A table without an error of sampling keeps the bytes that it always had.
        **({} if table.sampled is None else {"variance_with_sampling": _numbers(table.sampled)}),
    }


def from_json(content: bytes | str) -> Release:
    """Read a release document."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise DocumentError("This is not a release document: it is not JSON.") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DocumentError(f"This is not a release document of the format {FORMAT!r}.")
    try:
        return _read(document)
    except (KeyError, TypeError, ValueError) as error:
        raise DocumentError(
            f"The release document is incomplete or damaged ({type(error).__name__})."
        ) from error


def _read(document: dict[str, Any]) -> Release:
    provenance = dict(document["provenance"])
    provenance["warnings"] = tuple(provenance.get("warnings", ()))
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
    axes = tuple(
        Axis(variable=a["variable"], labels=tuple(a["labels"]), level=a.get("level", ""))
        for a in document["axes"]
    )
    return CellSpace(axes, frozenset(tuple(c) for c in document["structural_zeros"]))


def _read_block(document: dict[str, Any]) -> Block:
    return Block(
        name=document["name"],
        role=document["role"],
        space=_read_space(document["space"]),
        values=np.array(document["values"], dtype=np.int64),
        law=law_from_dict(document["law"]),
        parameters=document["parameters"],
    )


def _read_table(document: dict[str, Any]) -> Table:
    values = np.array(document["values"], dtype=np.float64)
    sampled = "variance_with_sampling" in document
    return Table(
        name=document["name"],
        measure=document["measure"],
        is_unbiased=document["is_unbiased"],
        space=_read_space(document["space"]),
        values=values,
        variance=_read_numbers(document["variance"], len(values)),
        sampled=_read_numbers(document["variance_with_sampling"], len(values)) if sampled else None,
    )


def _read_numbers(content: Any, cells: int) -> FloatArray:
    """A number for every cell, missing ones as NaN."""
    if isinstance(content, list):
        return np.array([np.nan if v is None else v for v in content], dtype=np.float64)
    return np.full(cells, np.nan if content is None else content, dtype=np.float64)
