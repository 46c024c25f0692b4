"""Write the page of all keys of a request from the code: python tools/keys_page.py"""

import re
from pathlib import Path
from typing import Any

from pydantic.fields import FieldInfo

from dalenius.core import registry
from dalenius.core.rationals import plain
from dalenius.curator.verbs import written_type
from dalenius.spec.request import PrivacyPart, TablePart

PLACE = Path(__file__).parents[1] / "docs/reference/keys.md"
HEAD = """# Keys of a request

Every key of `[table]` and `[privacy]`, made from the code by `python tools/keys_page.py`. In Python the same names are arguments of `dalenius.table`, and of the verbs of a `Curator`.
Leave a key out unless its meaning is what you want to change: each default is the best choice that is known. [Documents](documents.md#request) explains them at length.
"""
# What stands beside the budget and changes how accurate an answer is, not what is asked.
ERROR_ONLY = {
    "weights", "objective", "expected", "mechanism", "strategy", "noise", "score", "replicates", "squares", "refine_share", "aggregate", "blocks", "growth",
    "beta", "shape", "learn_clip", "expected_persons", "error", "in_cells_of", "bound_clipped",
}  # fmt: skip


def page() -> str:
    shared = [(name, field) for name, field in TablePart.model_fields.items() if name != "keys"]
    own: dict[str, list[tuple[str, FieldInfo]]] = {}
    for measure, method in registry.own("methods").items():
        for name, field in method.Parameters.model_fields.items():
            own.setdefault(name, []).append((measure, field))
    parts = [
        "## `[table]`, every measure\n\n" + _table([_row(name, field) for name, field in shared]),
        "## `[privacy]`\n\n" + _table([_row(*pair) for pair in PrivacyPart.model_fields.items()]),
        "## `[table]`, single measures\n\n"
        + _table([_row(name, takers[0][1], _measures(takers)) for name, takers in sorted(own.items())]),
    ]
    return HEAD + "\n" + "\n\n".join(parts) + "\n"


def _measures(takers: list[tuple[str, FieldInfo]]) -> str:
    names = [f"[{name}](methods/{name}.md)" for name, _ in takers]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def _table(rows: list[list[str]]) -> str:
    heads = ["key", "type", "default", "changes", "meaning"]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def _row(name: str, field: FieldInfo, measures: str = "") -> list[str]:
    kind = _kind(str(written_type(field.annotation)))
    changes = "error" if name in ERROR_ONLY else "question"
    meaning = (field.description or "").replace("|", "\\|")
    return [f"`{name}`", kind, _default(field), changes, f"{meaning} {measures}".strip()]


def _kind(written: str) -> str:
    """A type in the words of a document."""
    words = {
        "Amount": "number",
        "AxisPart": "axis",
        "ConditionPart": "condition",
        "ExpectedPart": "table",
        "str": "text",
    }
    for name, word in words.items():
        written = re.sub(rf"\b{name}\b", word, written)
    written = re.sub(r"Literal\[(.*?)\]", lambda found: found[1].replace(", ", " | "), written)
    written = written.replace("Sequence[", "list of [").replace("Mapping[", "table of [")
    return written.replace(" | None", "").replace(" | ", " or ")


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value: Any = field.get_default(call_default_factory=True)
    if value in (None, "", (), {}):
        return ""
    return f"`{plain(value)}`" if hasattr(value, "numerator") and not isinstance(value, bool) else f"`{value!r}`"


if __name__ == "__main__":
    PLACE.write_text(page())
