"""Examples of methods, which ask about toys, as requests about a stack of samples.

A variable of the toys becomes the one with the same role: the first axis the samples, a second one the category, `income` and
`age` the two numbers. Numbers in the unit of a variable become quantiles of the file, so that they lie where values are.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.testing import rule_kit
from verify._stacks import Population

NUMBERS = {"income": "x", "age": "y", "weight": "w"}
# Keys in the unit of the variable asked about, where they hold numbers.
_ENDS = ("clip", "expected_persons")
_BOUNDS = {name: part["bounds"] for name, part in rule_kit.DATASET["variables"].items() if "bounds" in part}


def examples(population: Population) -> dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]:
    """Tables and budgets by method; those that need a weight are left out where the file has none."""
    found: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = {}
    for name, method in registry.every("methods").items():
        for example in method.examples:
            if "weight" in str(example["table"]) and not population.file.w:
                continue
            table = translated({"measure": name, **example["table"]}, population)
            found.setdefault(name, []).append((table, dict(example["privacy"])))
    return found


def translated(table: Mapping[str, Any], population: Population) -> dict[str, Any]:
    """A table of toys as one of samples."""
    axes = [*table.get("rows", ()), *table.get("columns", ())]
    first = next((name for name in ("sex", "region", "status") if name in axes), "")
    roles = {**dict.fromkeys(("sex", "region", "status"), "by"), **NUMBERS, "job": "word"} | (
        {first: "sample"} if first else {}
    )
    asked = {key: _renamed(value, roles) for key, value in table.items() if key not in ("where", "margins", "ranges")}
    for key in ("margins", "where", "ranges"):
        if key in table:
            asked[key] = _renamed(table[key], roles)
    if not {"sample", "word"} & {*asked.get("rows", ()), *asked.get("columns", ())}:
        asked["rows"] = ["sample", *asked.get("rows", ())]
    category = str(population.parts["by"]["categories"][-1])
    of = str(table.get("of", ""))
    among = asked.get("among")
    if isinstance(among, Mapping):
        asked["among"] = _points(among, of, NUMBERS[of], population)
    elif among is not None:
        asked["among"] = [category]
    for name, condition in asked.get("where", {}).items():
        asked["where"][name] = [category] if name == "by" else _points(condition, _toy(name), name, population)
    if of in _BOUNDS and table["measure"] != "sample_and_aggregate":
        if isinstance(asked.get("bins"), list):
            asked |= _points({"bins": asked["bins"]}, of, NUMBERS[of], population)
        asked |= {key: _ends(asked[key], of, NUMBERS[of], population) for key in _ENDS if key in asked}
    return asked


def _toy(role: str) -> str:
    return next(name for name, own in NUMBERS.items() if own == role)


def _renamed(value: Any, roles: Mapping[str, str]) -> Any:
    """Names of toys anywhere in a request as roles."""
    if isinstance(value, Mapping):
        return {roles.get(key, key): _renamed(part, roles) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(part, roles) for part in value]
    return roles.get(value, value) if isinstance(value, str) else value


def _points(keys: Mapping[str, Any], toy: str, role: str, population: Population) -> dict[str, Any]:
    """Limits at the quantile that they are at in the toys' bounds."""
    moved = {}
    for key, value in keys.items():
        if isinstance(value, list):
            moved[key] = sorted({_at(part, toy, role, population, 0.0) for part in value})
        else:
            moved[key] = _at(value, toy, role, population, 0.0)
    return moved


def _ends(value: Any, toy: str, role: str, population: Population) -> Any:
    """Bounds in the upper half of the values; the ends of the toys' bounds are the ends of the declared ones."""
    if isinstance(value, Mapping):
        return {str(_ends(key, toy, role, population)): number for key, number in value.items()}
    if isinstance(value, list):
        return sorted({_ends(part, toy, role, population) for part in value})
    return _at(value, toy, role, population, 0.5)


def _at(value: Any, toy: str, role: str, population: Population, lowest: float) -> Any:
    low, high = (float(end) for end in _BOUNDS[toy])
    part, place = population.parts[role], (float(value) - low) / (high - low)
    if lowest and place in (0.0, 1.0):
        return part["bounds"][int(place)]
    step = float(part["step"])
    values = population.rows.numbers[role]
    found = np.rint(np.nanquantile(values, lowest + (1 - lowest) * place) / step) * step
    return round(float(max(found, step)) if lowest else float(found), 6)
