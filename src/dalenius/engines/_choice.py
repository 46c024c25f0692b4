"""Which engine opens which data: every engine is asked, the special ones before the general ones.

The choice depends on the type of the data and on the name of a file, never on its content.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.core import registry
from dalenius.core.contracts import Engine, Source
from dalenius.core.domain import Domain
from dalenius.errors import DocumentError, RequestError
from dalenius.spec.dataset import DatasetDocument


def engine_for(data: object) -> type[Engine]:
    """The first engine that accepts data of this kind; another distribution's opens only what has no usual ending."""
    is_usual = not isinstance(data, str | Path) or str(data).lower().endswith(suffixes())
    every = sorted(registry.every("engines").items(), key=lambda item: item[1].turn)
    for name, engine in every:
        is_own = registry.origin("engines", name) is None
        if (is_own or not is_usual) and engine.accepts(data):
            chosen: type[Engine] = registry.get("engines", name)
            return chosen
    raise RequestError(
        "Data must be a path, a mapping of columns, a list of rows, or a pandas, polars or Arrow table;"
        f" received {type(data).__name__}.{registry.not_allowed('engines')}"
    )


def open_source(
    document: DatasetDocument, domain: Domain | None = None, *, secret: bytes = b"", data: Any = None
) -> Source:
    """The microdata of a dataset document: `data`, or what it names, relative to its own folder.

    `domain` is the document's own unless it is given as it was registered.
    """
    dataset = document.dataset
    others: dict[str, Any] = {}
    if data is None:
        if not dataset.source:
            raise DocumentError('The dataset document names no file: source = "…" in [dataset].')
        is_address = "://" in dataset.source
        data = dataset.source if is_address else document.base / dataset.source
        others = _named_tables(document)
    elif document.tables:
        data, others = _given_tables(document, data)
    return engine_for(data).open(
        domain or document.domain(),
        data,
        secret,
        table=dataset.table,
        delimiter=dataset.delimiter,
        **({"others": others} if others else {}),
    )


def _given_tables(document: DatasetDocument, data: Any) -> tuple[Any, dict[str, Any]]:
    """Tables in memory by their names, the data set's own among them."""
    names = [document.dataset.name, *document.tables]
    if not isinstance(data, Mapping) or set(data) != set(names):
        listed = ", ".join(map(repr, names))
        raise RequestError(f"The data set has {len(names)} tables: give a mapping of {listed} to tables.")
    return data[document.dataset.name], {name: data[name] for name in document.tables}


def _named_tables(document: DatasetDocument) -> dict[str, Any]:
    """Where further tables lie: files beside the document, or tables of the own database."""
    places: dict[str, Any] = {}
    for name, part in document.tables.items():
        source = part.source or ("" if "://" in document.dataset.source else document.dataset.source)
        is_file = bool(source) and "://" not in document.dataset.source and "://" not in source
        places[name] = (document.base / source if is_file else source, part.table)
    return places


def suffixes() -> tuple[str, ...]:
    """Endings of the files that a declaration can be drafted from; the project's own engines open them."""
    in_order = sorted(registry.own("engines").values(), key=lambda engine: engine.turn)
    return tuple(dict.fromkeys(suffix for engine in in_order for suffix in engine.suffixes))
