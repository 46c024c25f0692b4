"""A canonical request written again: as a request document that asks for the same cells, and as texts to copy."""

import json
import shlex
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.rationals import plain
from dalenius.core.release import Release
from dalenius.server.pages.state import PLACES
from dalenius.server.views import VariableView
from dalenius.spec.declared_variable import toml_key, toml_text
from dalenius.spec.document import DEFAULT_MEASURE


def request_of(
    release: Release, layout: Mapping[str, Sequence[str]], numeric: Mapping[str, VariableView]
) -> dict[str, Any]:
    """The request document. `layout` says which variables stand where; the others join the rows.

    `numeric` holds the declared numeric variables, in whose steps canonical requests count.
    """
    described = release.provenance.request
    axes = {str(axis["variable"]): axis for axis in described.get("axes", ())}
    placed: dict[str, list[str]] = {place: [] for place in PLACES}
    for place in PLACES:
        for name in layout.get(place, ()):
            variable = next((v for v in axes if name == v or name.startswith(f"{v}.")), None)
            if variable is not None and all(variable not in names for names in placed.values()):
                placed[place].append(variable)
    used = {name for names in placed.values() for name in names}
    rest = [name for name in axes if name not in used]
    if rest and not placed["columns"] and (placed["rows"] or len(rest) > 1):
        placed["columns"] = [rest.pop()]
    placed["rows"] += rest
    table: dict[str, Any] = {
        place: [_item(axes[name], numeric.get(name)) for name in names] for place, names in placed.items() if names
    }
    where = {c["variable"]: _condition(c, numeric.get(c["variable"])) for c in described.get("where", ())}
    if where:
        table["where"] = where
    table |= {key: described[key] for key in ("of", "universe", "weight") if described.get(key)}
    if described.get("measure") not in (None, DEFAULT_MEASURE):
        table["measure"] = described["measure"]
    table |= described.get("keys", {})
    if described.get("margins"):
        table |= _margins(described["margins"], len(axes))
    if described.get("objective") not in (None, "cells"):
        table["objective"] = described["objective"]
    chosen = {key: described[key] for key in ("mechanism", "strategy") if described.get(key)}
    noise = described.get("noise") or {}
    # A long table of perturbations stands there by its digest.
    if noise and not any(str(value).startswith("sha256:") for value in noise.values()):
        chosen["noise"] = noise
    privacy = {**described.get("privacy", {}), **chosen}
    return {"dataset": described.get("dataset", ""), "table": table, "privacy": privacy}


def _margins(listed: Sequence[Any], axes: int) -> dict[str, Any]:
    """ "all", or the list of margins, with their weights where they differ."""
    names, weights = [list(margin) for margin, _ in listed], [str(weight) for _, weight in listed]
    is_all = len(names) == 2**axes and not any("." in name for margin in names for name in margin)
    margins: dict[str, Any] = {"margins": "all" if is_all else names}
    return margins | ({"weights": weights} if set(weights) != {"1"} else {})


def with_levels(table: dict[str, Any], domain: Domain) -> dict[str, Any]:
    """The same table with groups named by the declared level that they are, where they are one."""
    return table | {place: [_leveled(item, domain) for item in table[place]] for place in PLACES if place in table}


def _leveled(item: str | dict[str, Any], domain: Domain) -> str | dict[str, Any]:
    if isinstance(item, str) or "groups" not in item or item["variable"] not in domain.variables:
        return item
    variable = domain.variables[item["variable"]]
    for hierarchy in variable.hierarchies:
        members: dict[str, list[str]] = {group: [] for group in hierarchy.groups}
        for label, parent in zip(variable.categories.labels, hierarchy.parent, strict=True):
            members[hierarchy.groups[parent]].append(label)
        if members == item["groups"]:
            return {"variable": item["variable"], "level": hierarchy.level}
    return item


def _step(variable: VariableView | None) -> Fraction:
    return Fraction(variable.step) if variable and variable.step else Fraction(1)


def _item(axis: Mapping[str, Any], variable: VariableView | None) -> str | dict[str, Any]:
    name = str(axis["variable"])
    if "cuts" in axis:
        cuts = [cut * _step(variable) for cut in axis["cuts"]]
        closed = {}
        if variable and variable.bounds:
            low, high = map(Fraction, variable.bounds)
            # A last class that includes the upper bound is kept one step wider in canonical form.
            cuts = sorted({min(cut, high) for cut in cuts})
            closed = {"closed": True} if cuts[0] > low or cuts[-1] < high else {}
        return {"variable": name, "cuts": [plain(cut) for cut in cuts], **closed}
    cells = axis.get("cells", ())
    if all(len(cell) == 2 and cell[0] == cell[1] for cell in cells):
        return {"variable": name, "categories": [cell[0] for cell in cells]}
    return {"variable": name, "groups": {cell[0]: list(cell[1:]) for cell in cells}}


def _condition(condition: Mapping[str, Any], variable: VariableView | None) -> Any:
    if "categories" in condition:
        return list(condition["categories"])
    ends = {"at_least": condition.get("low"), "at_most": condition.get("high")}
    return {key: plain(end * _step(variable)) for key, end in ends.items() if end is not None}


def copies(dataset: str, request: Mapping[str, Any], base: str) -> dict[str, str]:
    """Texts to copy. `base` is the configured address of this server; without one the reader's shell names it.

    The token is named, never shown.
    """
    server = base or "$DALENIUS_SERVER"
    document = to_toml({**request, "dataset": "dataset.toml"})
    body = json.dumps({**request, "dataset": dataset}, ensure_ascii=False, indent=2)
    written = json.dumps(dict(request), ensure_ascii=False, indent=4)
    for value in ("true", "false", "null"):
        written = written.replace(f": {value}", f": {'None' if value == 'null' else value.title()}")
    return {
        "document": document,
        "command": "# with the document above as request.toml\ndalenius plan request.toml\ndalenius release "
        "request.toml -o out",
        "python": (
            "import dalenius\n\n"
            'curator = dalenius.Curator.open("dataset.toml")\n'
            f"request = {written}\n"
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
