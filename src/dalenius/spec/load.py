"""Reads documents from TOML or JSON: a path, text, or plain Python values."""

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from dalenius.errors import DocumentError, UnknownName
from dalenius.limits import LOCAL, DocumentLimits
from dalenius.spec.batch import Asked, BatchDocument
from dalenius.spec.codebook import levels_of
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.document import Document
from dalenius.spec.expected import with_expected
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.spec.screening import read_rows, read_text, screen

D = TypeVar("D", bound=Document)
Given = str | Path | Mapping[str, Any] | Document
# Words and the signs of the grammar; where the parser's complaint leaves them it quotes.
_WORDS = re.compile(r"(?:[A-Za-z /-]|'[=\]]+')*")


def read_mapping(given: str | Path | Mapping[str, Any], kind: str = "document") -> tuple[dict[str, Any], Path]:
    """Plain content of a document and the folder that its relative paths start from."""
    if isinstance(given, Mapping):
        return dict(given), Path()
    if isinstance(given, str) and _is_text(given):
        return parse(given, kind, LOCAL, is_json=given.lstrip().startswith("{")), Path()
    path = Path(given)
    text = read_text(path, f"{kind} {str(given)!r}")
    is_json = path.suffix.lower() == ".json" or text.lstrip().startswith("{")
    return parse(text, kind, LOCAL, is_json=is_json), path.parent


def _is_text(text: str) -> bool:
    """Whether a text is a document itself and not the path of one."""
    return "\n" in text or text.lstrip().startswith("{") or " = " in text


def parse(
    text: str, kind: str, limits: DocumentLimits, *, is_json: bool, parse_float: Callable[[str], Any] = Decimal
) -> dict[str, Any]:
    """Return the content of a text; raises `DocumentLimit` before it is parsed where it holds too much."""
    screen(text, kind, limits, is_json=is_json)
    try:
        if is_json:
            content = json.loads(
                text, parse_float=parse_float, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys
            )
        else:
            content = tomllib.loads(text, parse_float=parse_float)
    except json.JSONDecodeError as error:
        raise DocumentError(f"The {kind} is not JSON: {error.msg} at line {error.lineno}.") from None
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(f"The {kind} is not TOML: {toml_complaint(error)}.") from None
    except (RecursionError, ValueError, ArithmeticError) as error:
        raise DocumentError(f"The {kind} could not be read: {type(error).__name__}.") from None
    if not isinstance(content, dict):
        raise DocumentError(f"A {kind} must be a table of keys; received {type(content).__name__}.")
    return content


def toml_complaint(error: tomllib.TOMLDecodeError) -> str:
    """The parser's complaint up to what it quotes: a data file may have been given in the place of a document.

    >>> try:
    ...     tomllib.loads(chr(10).join(["[anna]", "[anna]"]))
    ... except tomllib.TOMLDecodeError as error:
    ...     toml_complaint(error)
    'Cannot declare … (at line 2, column 6)'
    """
    reason, _, place = str(error).rpartition(" (at ")
    words = _WORDS.match(reason)
    shown = words.group().rstrip() if words else ""
    return f"{shown}{'' if shown == reason else ' …'} (at {place}"


def _refuse_constant(name: str) -> None:
    raise DocumentError(f"{name} is not a number that a document may hold.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    for key, value in pairs:
        if key in content:
            raise DocumentError(f"The key {key!r} stands twice in one table.")
        content[key] = value
    return content


def _load(kind: type[D], given: Given) -> tuple[D, Path]:
    if isinstance(given, Document):
        if not isinstance(given, kind):
            raise DocumentError(f"A {kind.kind} was expected; received a {given.kind}.")
        return given, Path()
    if not isinstance(given, str | Path | Mapping):
        raise DocumentError(f"A {kind.kind} is a path, text or a mapping; received {type(given).__name__}.")
    content, base = read_mapping(given, kind.kind)
    _refuse_wrong_kind(kind, content)
    if kind is DatasetDocument:
        content = _with_code_lists(content, base)
    elif kind in (RequestDocument, BatchDocument) and not isinstance(given, Mapping) and not _is_text(str(given)):
        # Only a document that was read from a file may name another, never a text that somebody sent.
        content = with_expected(_with_noise_table(content, base), base)
    return kind.from_dict(content), base


def _with_noise_table(content: dict[str, Any], base: Path) -> dict[str, Any]:
    """Replace the name of a perturbation table's file by what it holds."""
    privacy = content.get("privacy")
    noise = privacy.get("noise") if isinstance(privacy, Mapping) else None
    if not isinstance(noise, Mapping) or not isinstance(noise.get("table_file"), str):
        return content
    path = base / noise["table_file"]
    stated = {key: value for key, value in noise.items() if key != "table_file"}
    stated["table"] = read_text(path, f"perturbation table {path.name!r}")
    return {**content, "privacy": {**content["privacy"], "noise": stated}}


def _refuse_wrong_kind(kind: type[Document], content: Mapping[str, Any]) -> None:
    """A document of another kind is told apart before its keys are."""
    marks: dict[type[Document], str] = {
        DatasetDocument: "variables",
        RequestDocument: "privacy",
        BatchDocument: "privacy",
        PolicyDocument: "budget",
    }
    for other, mark in marks.items():
        if other is not kind and mark in content and marks.get(kind) not in content:
            raise DocumentError(f"A {kind.kind} was expected; this looks like a {other.kind} (it has {mark!r}).")


def load_dataset(given: Given) -> DatasetDocument:
    """A dataset document; code lists that it names are read in."""
    document, base = _load(DatasetDocument, given)
    return document if document is given else document.at(base)


def load_request(given: Given) -> RequestDocument:
    """A request document; a list of tables is refused where one is served."""
    asked = load_asked(given)
    if isinstance(asked, BatchDocument):
        raise DocumentError(
            "This is a batch: [[table]] lists several tables that are charged as one. A batch is planned and released "
            "by `dalenius plan` and `dalenius release`, by Curator.plan and Curator.release, or over HTTP. Here ask "
            "for one table, under [table].",
            received="batch",
        )
    return asked


def load_asked(given: Given) -> Asked:
    """A request document, or a batch of them where [[table]] stands in it."""
    if isinstance(given, RequestDocument | BatchDocument):
        return given
    if isinstance(given, str | Path | Mapping):
        content, _ = read_mapping(given, RequestDocument.kind)
        if isinstance(content.get("table"), list | tuple):
            return _load(BatchDocument, given)[0]
    return _load(RequestDocument, given)[0]


def load_policy(given: Given) -> PolicyDocument:
    return _load(PolicyDocument, given)[0]


def load_any(given: str | Path | Mapping[str, Any]) -> DatasetDocument | Asked | PolicyDocument:
    """A document of whichever kind its keys show it to be."""
    content, _ = read_mapping(given)
    if "variables" in content or isinstance(content.get("dataset"), Mapping):
        return load_dataset(given)
    if "privacy" in content or isinstance(content.get("dataset"), str):
        return load_asked(given)
    if "budget" in content or set(content) <= set(PolicyDocument.model_fields):
        return load_policy(given)
    raise DocumentError(
        "This is none of our documents: a dataset has [variables], a request [privacy], a policy [budget]."
    )


def dataset_named(given: str | Path) -> Path:
    """The dataset document that a request names, found before the request is read; its policy may allow more names."""
    content, base = read_mapping(given)
    return base / str(content.get("dataset", ""))


def dataset_of(request: Asked, given: Given) -> Path:
    """The dataset document that a request read from `given` names, as a path."""
    base = Path(given).parent if isinstance(given, str | Path) and "\n" not in str(given) else Path()
    return base / request.dataset


def _with_code_lists(content: dict[str, Any], base: Path) -> dict[str, Any]:
    """Replace the names of files with code lists, hierarchies and lookups by what they hold."""
    resolved = dict(content)
    for section in ("variables", "records"):
        parts = content.get(section)
        if isinstance(parts, Mapping):
            resolved[section] = {name: _with_lists(name, part, base) for name, part in parts.items()}
    return resolved


def _with_lists(name: str, given: Any, base: Path) -> Any:
    part = dict(given) if isinstance(given, Mapping) else given
    if not isinstance(part, dict):
        return part
    if isinstance(part.get("categories_file"), str):
        rows = _rows(base / part.pop("categories_file"), name)
        part["categories"] = {row[0]: row[1] if len(row) > 1 and row[1] else row[0] for row in rows[1:]}
        if len(part["categories"]) != len(rows) - 1:
            raise DocumentError(f"The code list of {name!r} declares a code twice.")
    if isinstance(part.get("hierarchies_file"), str):
        rows = _rows(base / part.pop("hierarchies_file"), name)
        part["hierarchies"] = {**part.get("hierarchies", {}), **levels_of(rows)}
    if isinstance(part.get("lookup"), Mapping) and isinstance(part["lookup"].get("file"), str):
        part["lookup"] = _with_entries(dict(part["lookup"]), name, base)
    return part


def _with_entries(lookup: dict[str, Any], name: str, base: Path) -> dict[str, Any]:
    """A lookup with the rows of its file; what is kept is what they say, not where they stood."""
    rows = _rows(base / lookup.pop("file"), name)
    wanted = [lookup.pop("key", "key"), lookup.pop("value", "value")]
    first, until = lookup.pop("valid_from", None), lookup.pop("valid_until", None)
    wanted += [first, until] if first or until else []
    places = []
    for column in wanted:
        if column is not None and column not in rows[0]:
            raise UnknownName.among(f"column of the lookup of {name!r}", str(column), rows[0])
        places.append(None if column is None else rows[0].index(column))
    if any(len(row) <= place for row in rows for place in places if place is not None):
        raise DocumentError(f"A row of the lookup of {name!r} is shorter than its header.")
    entries = [["" if place is None else row[place] for place in places] for row in rows[1:]]
    return {**lookup, "entries": entries}


def _rows(path: Path, name: str) -> list[list[str]]:
    return read_rows(path, f"code list {path.name!r} of {name!r}")
