"""A cap on a column holds for every variable that is made of it: features, filters, lookups, and other names of the column."""

from pathlib import Path
from typing import Any

import pytest

from dalenius.curator.curator import Curator
from dalenius.errors import BudgetExhausted, DaleniusError

RECORDS: dict[str, Any] = {
    "drug": {"categories": ["none", "opioid"], "unseen": "none", "missing": "none"},
    "dose": {"bounds": [0, 10], "step": 1, "missing": 0},
    "day": {"dates": ["2020-01-01", "2030-12-31"]},
    "town": {"categories": ["a", "b"], "unseen": "a", "missing": "a"},
    "class": {
        "column": "drug",
        "categories": ["weak", "strong"],
        "lookup": {"entries": [["opioid", "strong"], ["none", "weak"]], "unmatched": "weak"},
        "missing": "weak",
    },
}
VARIABLES: dict[str, Any] = {
    "ever": {"feature": {"take": "any", "where": {"drug": "opioid"}}},
    "first": {"feature": {"take": "first", "of": "drug"}},
    "doses": {"feature": {"take": "sum", "of": "dose", "where": {"drug": "opioid"}}, "bounds": [0, 50]},
    "largest": {"feature": {"take": "max", "of": "dose"}},
    "class": {"feature": {"take": "first", "of": "class"}},
    "early": {"feature": {"take": "first", "of": "town", "by": "day"}},
    "town": {"feature": {"take": "min"}},
}
MADE_OF = {
    "drug": {"ever", "first", "doses", "class"},
    "dose": {"doses", "largest"},
    "day": {"early"},
    "class": {"ever", "first", "doses", "class"},
    "town": {"early", "town"},
}
DATA = {
    "person": ["p", "p", "q", "r"],
    "drug": ["none", "opioid", "none", "opioid"],
    "dose": [0, 3, 1, 2],
    "day": ["2021-01-01"] * 4,
    "town": ["a", "a", "b", "b"],
}


def curator(folder: Path, record: str, *, is_marked: bool = True, table: Any = None) -> Curator:
    records = {n: {**part, "sensitive": is_marked and n == record} for n, part in RECORDS.items()}
    document = {
        "dataset": {"name": "drugs", "population": "patients"},
        "unit": {"id": "person"},
        "records": records,
        "variables": VARIABLES,
    }
    policy = {"budget": {"rho": 10}, "sensitive": {record: {"rho": "0.01"}}}
    made = Curator.open(document, data=DATA, ledger=folder / f"{record}{is_marked}.sqlite", policy=policy)
    made.register(by="custodian")
    return made


def asked(name: str, way: str) -> dict[str, Any]:
    privacy = {"definition": "zero_concentrated", "rho": 1}
    is_number = name in ("doses", "largest")
    if way == "where":
        condition: Any = {"at_least": 1} if is_number else [_label(name)]
        return {"table": {"where": {name: condition}}, "privacy": privacy}
    if is_number and way == "of":
        return {"table": {"measure": "total", "of": name}, "privacy": privacy}
    return {"table": {"rows": [{"variable": name, "width": 5} if is_number else name]}, "privacy": privacy}


def _label(name: str) -> str:
    return {"ever": "yes", "first": "opioid", "class": "strong", "early": "a", "town": "a"}[name]


@pytest.mark.parametrize(("record", "is_marked"), [*((name, True) for name in MADE_OF), ("drug", False)])
def test_a_cap_on_a_record_holds_for_whatever_is_made_of_it(tmp_path: Path, record: str, is_marked: bool) -> None:
    with curator(tmp_path, record, is_marked=is_marked) as made:
        for name in VARIABLES:
            for way in ("rows", "where", "of"):
                if name in MADE_OF[record]:
                    with pytest.raises(BudgetExhausted, match=record):
                        made.release(asked(name, way))
                elif way == "rows":
                    assert not made.domain.sensitive([name], {record})


def test_a_cap_holds_for_another_variable_of_the_same_column(tmp_path: Path) -> None:
    document = {
        "dataset": {"name": "ages", "population": "people"},
        "variables": {
            "age": {"bounds": [0, 100], "step": 1, "missing": 0, "sensitive": True},
            "young": {"column": "age", "bounds": [0, 30], "step": 1, "missing": 0},
            "sex": {"categories": ["f", "m"], "unseen": "f", "missing": "f"},
        },
    }
    policy = {"budget": {"rho": 10}, "sensitive": {"age": {"rho": "0.01"}}}
    data = {"age": [20, 40], "sex": ["f", "m"]}
    privacy = {"definition": "zero_concentrated", "rho": 1}
    with Curator.open(document, data=data, ledger=tmp_path / "l.sqlite", policy=policy) as made:
        made.register(by="custodian")
        for name in ("age", "young"):
            with pytest.raises(DaleniusError, match="age"):
                made.release({"table": {"measure": "total", "of": name}, "privacy": privacy})
        made.release({"table": {"rows": ["sex"]}, "privacy": privacy})
