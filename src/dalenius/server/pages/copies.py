"""The same request elsewhere: as a document, a command, a few lines of Python, and an HTTP call."""

import json
import shlex
from collections.abc import Mapping
from typing import Any

from dalenius.curator.drafting import toml_key, toml_text


def copies(dataset: str, request: Mapping[str, Any], base: str) -> dict[str, str]:
    """Texts to copy. `base` is the configured address of this server; without one the reader's shell names it.

    The token is named, never shown.
    """
    server = base or "$DALENIUS_SERVER"
    document = to_toml({**request, "dataset": "dataset.toml"})
    body = json.dumps({**request, "dataset": dataset}, ensure_ascii=False, indent=2)
    return {
        "document": document,
        "command": "# with the document above as request.toml\ndalenius plan request.toml\ndalenius release "
        "request.toml -o out",
        "python": (
            "import dalenius\n\n"
            'curator = dalenius.Curator.open("dataset.toml")\n'
            f"request = {_python(dict(request))}\n"
            "print(curator.plan(request).preview)   # free\n"
            "release = curator.release(request)     # spends\n"
            "print(release.values)"
        ),
        "api": (
            f'curl -X POST "{server}/api/v1/datasets/{dataset}/releases" \\\n'
            '  -H "Authorization: Bearer $DALENIUS_TOKEN" \\\n'
            '  -H "Content-Type: application/json" \\\n'
            f"  -d {shlex.quote(body)}"
        ),
    }


def _python(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=4)
    return text.replace(": true", ": True").replace(": false", ": False").replace(": null", ": None")


def to_toml(request: Mapping[str, Any]) -> str:
    """A request document as TOML.

    >>> to_toml({"dataset": "d", "table": {"rows": ["sex"]}})
    'dataset = "d"\\n\\n[table]\\nrows = ["sex"]'
    """
    lines = [f"{key} = {_value(value)}" for key, value in request.items() if not isinstance(value, Mapping)]
    for key, value in request.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{key}]", *(f"{toml_key(k)} = {_value(v)}" for k, v in value.items())]
    return "\n".join(lines)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_key(str(k))} = {_value(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_value(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return toml_text(str(value))
