"""The one place where recorded documents learn new words.

Documents of the file are written as they were when it was made. What was renamed since is renamed here before they are read, so that the
same question is compared: add the old word with the new one, or None where the key went. Results are compared under the old words, so
that names in them are turned back.
"""

from collections.abc import Mapping
from typing import Any

KEYS: dict[str, dict[str, str | None]] = {"request": {}, "policy": {}, "dataset": {}}
"""Old key -> new key (None: dropped), anywhere in a document of the kind."""
VALUES: dict[str, dict[tuple[str, str], str]] = {"request": {}, "policy": {}, "dataset": {}}
"""(old key, old word) -> new word, also in lists."""
RESULTS: dict[str, str] = {}
"""New word -> old word, for keys and texts of what is recorded of an answer."""


def renamed(document: Any, kind: str, key: str = "") -> Any:
    """A recorded document in today's words."""
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
