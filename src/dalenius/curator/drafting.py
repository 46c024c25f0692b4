"""A first draft of a dataset document from a file, for the custodian to finish.

Names come from the file's header or schema, through the reader that also counts the rows. Categories and bounds are
read from rows only when the custodian asks (`from_data`), and are then marked `confirmed = false`: nothing runs on them
until somebody who knows what the data *may* hold has read and confirmed them. Such a draft is confidential: it shows
values.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from dalenius.core.contracts import DraftSource
from dalenius.core.domain import DROP, Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.rationals import plain
from dalenius.engines import MOST_CATEGORIES, ColumnSummary, engine_for, is_called_identifier, suffixes, summarise
from dalenius.errors import RequestError

__all__ = ["ColumnSummary", "draft", "labels_of", "may_be_listed", "summaries", "toml_key", "toml_text"]

_BANNER = "# CONFIDENTIAL until you have checked it: categories and bounds below were read from the rows."
_NOTE = "confirmed = false          # read from the data: check, then set to true"
_MOST_ALTERNATIVES = 60
_LONGEST_NAME = 200


def draft(data: str | Path, *, from_data: bool = False) -> str:
    """TOML text of a dataset document for one file that an engine can draft from."""
    path = _readable(data)
    columns = _opened(path, ()).columns
    source = _opened(path, tuple(name for name in columns if _is_name(name)))
    lines = [_BANNER] if from_data else []
    lines += [
        "[dataset]",
        f"name = {toml_text(path.name.split('.')[0] or 'data')}",
        'population = ""            # who is in the data: owns the budget',
        'version = "1"',
        f"source = {toml_text(path.name)}",
        "",
        "[unit]",
        'relation = "add-remove"    # or "replace"',
        "",
        "# How the rows were drawn: errors of sampling rest on it. Without it they hold under a condition, and with "
        "weights there are none.",
        "# [design]",
        '# draws = "independent"      # or "census" (everybody is there), or "clusters" (households, villages, '
        "schools)",
    ]
    units: list[str] = []
    numbers: list[str] = []
    others: list[str] = []
    for name, kind in columns.items():
        lines.append("")
        if not _is_name(name):
            lines.append("# A column whose name is empty, too long or holds control characters was left out.")
        elif from_data:
            summary = summarise(name, source.contents(name), is_boolean=kind == "BOOLEAN")
            lines += _from_rows(summary)
            if summary.is_identifier:
                units += [name] if summary.repeats else []
            else:
                (numbers if summary.is_number and not summary.is_code else others).append(name)
        else:
            lines += [*_heading(name), *_from_type(kind, is_text_file=source.is_text)]
            list_of = numbers if _is_number(kind) else others
            (units if is_called_identifier(name) else list_of).append(name)
    if units:
        lines += ["", *_features(units[0], numbers, others)]
    return "\n".join(lines) + "\n"


def _features(unit: str, numbers: Sequence[str], others: Sequence[str]) -> list[str]:
    """How rows that share a unit become one row each, as remarks to be completed; of names and types alone."""
    lines = [
        f"Do several rows share one {toml_text(unit)}? Then write id = {toml_text(unit)} in [unit], and either "
        "max_rows, or make one row of",
        "each unit: call the columns above [records.…] instead of [variables.…], take the unit's own column out, and "
        "declare what is",
        "taken of the rows of a unit, for example:",
        "",
        "[variables.number_of_rows]",
        'feature = { take = "count" }',
        "bounds = [0, 0]            # of one unit; more counts as the upper bound",
    ]
    for name in numbers[:1]:
        lines += [
            "",
            f"[variables.{toml_key(f'sum of {name}')}]",
            f'feature = {{ take = "sum", of = {toml_text(name)} }}',
            "bounds = [0, 0]            # the total of one unit is clipped to this",
        ]
    for name in others[:1]:
        lines += [
            "",
            f"[variables.{toml_key(f'ever {name}')}]",
            f'feature = {{ take = "any", where = {{ {toml_key(name)} = ["?"] }} }}    # has a row of this category',
        ]
    return [f"# {line}".rstrip() for line in lines]


def summaries(data: str | Path) -> dict[str, ColumnSummary]:
    """What every column that can be declared holds, for the custodian alone; columns without a value are left out."""
    path = _readable(data)
    kinds = {name: kind for name, kind in _opened(path, ()).columns.items() if _is_name(name)}
    source = _opened(path, tuple(kinds))
    every = (summarise(name, source.contents(name), is_boolean=kind == "BOOLEAN") for name, kind in kinds.items())
    return {summary.name: summary for summary in every if summary.rows}


def _readable(data: str | Path) -> Path:
    path = Path(data)
    if not path.is_file():
        raise RequestError(f"There is no file {str(data)!r}.", received=str(data))
    if not path.name.lower().endswith(suffixes()):
        raise RequestError(
            f"Drafts are made of files that end in {', '.join(suffixes())}; received {path.name!r}.", received=path.name
        )
    return path


def _opened(path: Path, names: tuple[str, ...]) -> DraftSource:
    return cast(DraftSource, engine_for(path).open(_domain(names), path))


def _domain(names: tuple[str, ...]) -> Domain:
    """A domain that declares nothing about its columns but that they are there."""
    anything = Categories(labels=("?",))
    return Domain(
        name="draft",
        population="draft",
        version="1",
        variables={name: Variable(name=name, domain=anything) for name in names},
        neighbours=Neighbours(relation=Relation.ADD_REMOVE),
    )


def _heading(name: str) -> list[str]:
    return [f"[variables.{toml_key(name)}]", f"label = {toml_text(name)}"]


def _from_type(kind: str, *, is_text_file: bool) -> list[str]:
    """What a type alone tells; of a text file only the names are known."""
    if _is_number(kind):
        return ["bounds = [0, 0]            # declare what the variable may hold", "step = 1", "confirmed = false"]
    further = "; for a number: bounds = [0, 100] and step = 1" if is_text_file else ""
    return [f'categories = ["?"]         # declare every category{further}', "confirmed = false"]


def _is_number(kind: str) -> bool:
    return any(word in kind for word in ("INT", "FLOAT", "DOUBLE", "DECIMAL"))


def _from_rows(summary: ColumnSummary) -> list[str]:
    """A declaration that reads every value of the column, or a remark on why there is none."""
    name = summary.name
    if summary.rows == 0:
        return [f"# [variables.{toml_key(name)}] holds no value: left out."]
    if summary.is_identifier:
        return [
            f"# [variables.{toml_key(name)}] looks like an identifier: left out. If it tells the units apart, write",
            f"# id = {toml_text(name)} (and max_rows, if a unit has several rows) in [unit].",
        ]
    lines = _heading(name)
    if summary.missing:
        lines.append("# Values are missing: such rows leave every table that uses the variable, unless you name a")
        lines.append("# category (or number) that stands for them: missing = …")
    if summary.is_unique and summary.is_whole:
        lines.append("# No value comes twice: take it out if it is an identifier.")
    has_categories = summary.texts is not None and may_be_listed(summary.texts)
    if not summary.is_number or (summary.is_code and has_categories):
        if not has_categories or summary.texts is None:
            return [
                f"# [variables.{toml_key(name)}] holds more than {MOST_CATEGORIES} texts, or bytes that are none: "
                "left out.",
                "# Declare it with categories_file = …, if it is a classification.",
            ]
        lines += _listed(summary.texts)
        if summary.is_number:
            bounds, step = _numeric(summary)
            lines += [f"# {bounds}; instead, if these are amounts", f"# {step}"]
        return [*lines, _NOTE]
    lines += _numeric(summary)
    if summary.is_whole and has_categories and summary.distinct <= _MOST_ALTERNATIVES:
        lines.append(f"# {_listed(summary.texts or ())[0]}    # instead, if these are codes")
    return [*lines, _NOTE]


def _numeric(summary: ColumnSummary) -> list[str]:
    lower, upper = (plain(bound) for bound in summary.bounds)
    return [f"bounds = [{lower}, {upper}]    # rounded outward", f"step = {plain(summary.step)}"]


def _listed(texts: tuple[str, ...]) -> list[str]:
    if DROP not in texts:
        return [f"categories = [{', '.join(map(toml_text, texts))}]"]
    labels = (f"{toml_text(text)} = {toml_text(label)}" for text, label in labels_of(texts).items())
    return [f"categories = {{ {', '.join(labels)} }}"]


def labels_of(texts: tuple[str, ...]) -> dict[str, str]:
    """Return each value with its label; a value called "drop" takes another one, which is a rule's word."""
    return {text: text if text != DROP else "drop (value)" for text in texts}


def _is_name(name: str) -> bool:
    return 0 < len(name) <= _LONGEST_NAME and not any(ord(sign) < 32 for sign in name)


def may_be_listed(texts: tuple[str, ...]) -> bool:
    """Whether a document can hold the texts: all are Unicode, and names where they stand before a label."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        return False
    return DROP not in texts or all(map(_is_name, texts))


def toml_key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else toml_text(name)


def toml_text(content: str) -> str:
    """A basic string of TOML: JSON's, and DEL escaped too."""
    return json.dumps(content, ensure_ascii=False).replace("\x7f", "\\u007f")
