"""The one place where recorded documents learn new words.

Documents of the file are written as they were when it was made. What was renamed since is renamed here before they are read, so that the
same question is compared: add the old word with the new one, or None where the key went. Results are compared under the old words, so
that names in them are turned back.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

KEYS: dict[str, dict[str, str | None]] = {"request": {}, "policy": {}, "dataset": {}}
"""Old key -> new key (None: dropped), anywhere in a document of the kind."""
VALUES: dict[str, dict[tuple[str, str], str]] = {"request": {}, "policy": {}, "dataset": {}}
"""(old key, old word) -> new word, also in lists."""
RESULTS: dict[str, str] = {}
"""New word -> old word, for keys and texts of what is recorded of an answer."""


def _table(table: Any) -> Any:
    """One recorded table with its keys as they are written today."""
    table = dict(table)
    measure = table.get("measure", "count")
    ends = {end: table.pop(end) for end in ("at_least", "at_most") if end in table}
    if ends:
        table["among"] = ends
    for old, new in (
        ("learn_bounds", "learn"), ("learn_clip", "learn"), ("refine_share", "learn"), ("candidates", "clip"), ("range", "clip"),
        ("bound", "bounds"), ("tail", "beyond"), ("family", "model"), ("at", "bins"),
    ):  # fmt: skip
        if old in table:
            table[new] = table.pop(old)
    if "parts" in table:
        table["q" if measure == "quantiles" else "bins"] = table.pop("parts")
    if measure in ("clipped_count", "clipped_total") and "q" in table:
        table["beyond"] = str(1 - Fraction(str(table.pop("q"))))
    if "refine" in table:
        table["refine"] = {table["refine"]: table.pop("refine_from")}
    rule = {key: table.pop(key) for key in ("p", "n", "k") if key in table}
    if rule:
        table["rule"] = rule
    if table.pop("coefficient", "") == "intercept":
        table["model"] = "logistic_intercept"
    table.pop("option", None)
    return table


def _request(document: Any) -> Any:
    tables = document["table"]
    if isinstance(tables, list):
        return {**document, "table": [_table(one) for one in tables]}
    table = _table(tables)
    further = {"group": table.pop("group_size")} if "group_size" in table else {}
    noise = {key: table.pop(key) for key in ("beta", "shape", "growth", "score") if key in table}
    further |= {"noise": noise} if noise else {}
    return {**document, "table": table, "privacy": {**document["privacy"], **further}}


def renamed(document: Any, kind: str, key: str = "") -> Any:
    """A recorded document in today's words."""
    if kind == "request" and not key and isinstance(document, Mapping) and "table" in document:
        document = _request(document)
    if isinstance(document, Mapping):
        keys = KEYS[kind]
        return {
            keys.get(name, name): renamed(part, kind, name)
            for name, part in document.items()
            if keys.get(name, name) is not None
        }
    if isinstance(document, list):
        return [renamed(part, kind, key) for part in document]
    return VALUES[kind].get((key, document), document) if isinstance(document, str) else document


def turned_back(result: Any) -> Any:
    """What is answered today in the words of the file."""
    if isinstance(result, Mapping):
        return {RESULTS.get(name, name): turned_back(part) for name, part in result.items()}
    if isinstance(result, list):
        return [turned_back(part) for part in result]
    return RESULTS.get(result, result) if isinstance(result, str) else result
