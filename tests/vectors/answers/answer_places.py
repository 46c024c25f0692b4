"""Small fixed data sets of every relation, unit and design on which recorded requests are answered; used when the file is made."""

import random
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "stored"))

import stored_cases

from dalenius.testing import rule_kit
from dalenius_lab.attackers.worlds import RAW

ROWS = 420
UNITS: dict[str, dict[str, Any]] = {
    "rows": {"relation": "add-remove"},
    "replaced": {"relation": "replace"},
    "persons": {"relation": "add-remove", "id": "person", "max_rows": 2},
    "replaced_persons": {"relation": "replace", "id": "person", "max_rows": 3},
}
POLICY: dict[str, Any] = {
    "budget": {"rho": 900, "delta": "0.9"},
    "allow": {
        "acknowledge": [
            "fixed_weights",
            "individual",
            "bootstrap",
            "public_membership",
            "public_attributes",
            "clamp_to_the_data",
        ],
        "evidence": ["proved", "enumerated", "computational", "audited", "search", "none"],
    },
    "floors": {"bootstrap": 5, "individual": 1},
}


def head() -> dict[str, Any]:
    """Documents, rows and policy: what stands in the first line of the file."""
    datasets: dict[str, Any] = {}
    for place, document in (*_toys(), *_stored(), *_worlds()):
        own = {"name": place, "population": place, "public": True} | document.pop("dataset", {})
        datasets[place] = {"dataset": own, **document}
    rows = {"toys": _toy_rows(), "stored": _stored_rows(), "worlds": _world_rows()}
    rows_of = {place: place.split()[0] for place in datasets}
    return {"datasets": datasets, "rows": rows, "rows_of": rows_of, "policy": POLICY}


def _toys() -> list[tuple[str, dict[str, Any]]]:
    """The variables of the examples of methods, of every unit and design."""
    base = {key: rule_kit.DATASET[key] for key in ("variables", "structural_zeros")}
    region = base["variables"]["region"]
    public = base["variables"] | {"region": region | {"public": "a public register"}}
    lossy = base["variables"] | {"region": {key: part for key, part in region.items() if key != "missing"}}
    design = {"design": {"draws": "independent"}}
    sized = {"dataset": {"size": ROWS}, "unit": UNITS["replaced"]}
    found = [(f"toys {name}", base | design | {"unit": unit}) for name, unit in UNITS.items()]
    found[0] = ("toys rows", found[0][1] | {"variables": public})
    return [
        *found,
        ("toys sized", base | design | sized),
        ("toys lossy", base | design | {"variables": lossy}),
        ("toys census", base | {"design": {"draws": "census"}}),
        ("toys clusters", base | {"design": {"draws": "clusters"}}),
        ("toys undeclared", base),
    ]


def _stored() -> list[tuple[str, dict[str, Any]]]:
    """The data sets of `stored_cases.py`."""
    found = []
    for place in stored_cases.DATASETS:
        document = {key: part for key, part in stored_cases.dataset(place).items() if key != "dataset"}
        size = {"dataset": {"size": ROWS}} if "size" in stored_cases.DATASETS[place] else {}
        found.append((f"stored {place}", document | size))
    return found


def _worlds() -> list[tuple[str, dict[str, Any]]]:
    """The variables of the grammar of requests: where nothing drops out, and where rows do."""
    found = []
    for is_kept in (True, False):
        variables = _world_variables(is_kept=is_kept)
        for name, unit in UNITS.items():
            document = {"variables": variables, "design": {"draws": "independent"}, "unit": unit}
            if not is_kept:
                document["structural_zeros"] = [{"sex": "m", "region": "s"}]
            found.append((f"worlds {name}{'' if is_kept else ' dropping'}", document))
    sized: dict[str, Any] = {"dataset": {"size": ROWS}, "variables": _world_variables(is_kept=True)}
    return [*found, ("worlds sized", sized | {"unit": UNITS["replaced"], "design": {"draws": "independent"}})]


def _world_variables(*, is_kept: bool) -> dict[str, Any]:
    rule = {"sex": "m", "region": "s", "two": "a", "age": 0, "pay": -3} if is_kept else {}

    def part(name: str, **more: Any) -> dict[str, Any]:
        kept = {"missing": rule[name]} if name in rule else {}
        return more | kept | ({"unseen": rule[name]} if name in rule and "categories" in more else {})

    outside = "clamp" if is_kept else "drop"
    return {
        "sex": part("sex", categories=["f", "m"]),
        "region": part("region", categories=["n", "e", "s"], hierarchies={"half": {"up": ["n", "e"], "down": ["s"]}}),
        "two": part("two", categories=["a", "b"], public="a public register"),
        "age": part("age", bounds=[0, 6], step=1, outside=outside),
        "pay": part("pay", bounds=[-3, 3], step=1, outside=outside),
        "weight": {"weight": True, "bounds": [0, 3], "step": "1/2", "missing": 0},
        "job": {"categories": ["none", "other"], "missing": "none", "unseen": "other", "unlisted": True},
    }


def _toy_rows() -> dict[str, list[Any]]:
    """Skewed incomes with heaps at round numbers, a rare category, an empty one, and a few missing values."""
    chance, rows = random.Random("toys"), []
    for number in range(ROWS):
        age = min(100, max(0, round(chance.gauss(44, 19))))
        income = min(40, round(chance.lognormvariate(2.1, 0.7)))
        income = round(income, -1) if chance.random() < 0.25 else income
        sex = chance.choice(("female", "male"))
        single = "widowed" if sex == "female" and age > 60 else "single"
        rows.append(
            {
                "person": f"p{number // 2}",
                "sex": sex,
                "region": chance.choices(("north", "east", "south"), (12, 7, 1))[0],
                "status": chance.choice(("married", single)),
                "age": age,
                "income": None if chance.random() < 0.02 else income,
                "weight": chance.choice((1, 1, 1.5, 2, 3)),
                "job": chance.choices(("baker", "=smith", "<b>weaver</b>", "rare"), (9, 6, 4, 0.05))[0],
            }
        )
    return {name: [row[name] for row in rows] for name in rows[0]}


def _stored_rows() -> dict[str, list[Any]]:
    """The sixty rows of `stored_cases.py`, seven times, of other persons each time."""
    first, *lines = (line.split(",") for line in stored_cases.rows().splitlines())
    rows = [[f"{row[0]}-{again}", *row[1:]] for again in range(ROWS // len(lines)) for row in lines]
    return {name: [row[place] or None for row in rows] for place, name in enumerate(first)}


def _world_rows() -> dict[str, list[Any]]:
    """Raw values as attackers draw them: declared ones, and some that are missing, unseen or outside."""
    chance = random.Random("worlds")
    columns: dict[str, list[Any]] = {"person": [f"p{number // 2}" for number in range(ROWS)]}
    for name, raw in RAW.items():
        columns[name] = [None if (v := chance.choice(raw)) is None else str(v) for _ in range(ROWS)]
    return columns
