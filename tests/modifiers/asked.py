"""What tests of modifiers ask: every estimator about the same rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from verify._recorded import release_of

from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

TABLES: Mapping[str, Mapping[str, Any]] = {
    "mean": {"of": "x"},
    "total": {"of": "x"},
    "proportion": {"of": "g", "among": ["a"]},
    "ratio": {"of": "x", "other": "y"},
    "variance": {"of": "x"},
    "standard_deviation": {"of": "x"},
    "covariance": {"of": "x", "other": "y"},
    "correlation": {"of": "x", "other": "y"},
}
POLICY = {"allow": {"acknowledge": ["fixed_weights"]}}
ROWS = 2000
GENERATOR = np.random.default_rng(60)
X = GENERATOR.integers(0, 21, ROWS)
COLUMNS: dict[str, list[Any]] = {
    "x": X.tolist(),
    "y": (X // 2 + GENERATOR.integers(1, 11, ROWS)).tolist(),
    "g": GENERATOR.choice(["a", "b"], ROWS).tolist(),
    "h": GENERATOR.choice(["c", "d"], ROWS).tolist(),
    "w": GENERATOR.integers(1, 5, ROWS).tolist(),
    "one": [1] * ROWS,
}


def domain(relation: str = "add-remove", max_rows: int = 1, missing: object = 0) -> Any:
    unit: dict[str, Any] = {"relation": relation}
    if max_rows > 1:
        unit |= {"id": "person", "name": "person", "max_rows": max_rows}
    return load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True, "size": ROWS},
            "unit": unit,
            "design": {"draws": "independent"},
            "variables": {
                "x": {"bounds": [0, 20], "step": 1, "missing": missing},
                "y": {"bounds": [1, 20], "step": 1, "missing": 1},
                "g": {"categories": ["a", "b"], "missing": "a", "unseen": "a"},
                "h": {"categories": ["c", "d"], "missing": "c", "unseen": "c"},
                "w": {"weight": True, "bounds": [0, 4], "step": 1, "missing": 0},
                "one": {"weight": True, "bounds": [0, 1], "step": 1, "missing": 1},
            },
        }
    ).domain()


def request(measure: str, rho: object = 5, **table: Any) -> dict[str, Any]:
    privacy = {"definition": "zero_concentrated", "rho": rho}
    return {"table": {"measure": measure, **TABLES[measure], **table}, "privacy": privacy}


def plan(measure: str, here: Any = None, **table: Any) -> TablePlan:
    return plan_of(here or domain(), request(measure, **table), POLICY)


def release(measure: str, here: Any = None, **table: Any) -> Release:
    here, asked = here or domain(), request(measure, **table)
    columns = {name: COLUMNS[name] for name in here.variables}
    return release_of(plan_of(here, asked, POLICY), here, columns, asked, "modifiers")
