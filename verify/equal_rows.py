"""Intervals with sampling where a person has several rows that say the same, which is the worst that rows of one person can do.

Claim, fixed before the first run. Persons have three equal rows each (`max_rows = 3`); a Poisson number of them, 60 on average, is drawn for each of
1,000 samples, which are the cells of one table. Means, proportions, ratios, weighted means, weighted totals and bootstrap totals, both relations,
rho 900 (hardly any noise) and 20, are registered, charged and released through a ledger on disk. In no setting a binomial
test at .0005 rejects that 93.5 % of the intervals with sampling at 95 % hold the value of the process.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dalenius.algebra import tabulation
from verify._books import Books

SAMPLES, PERSONS, ROWS = 1000, 60, 3
FLOOR, LEVEL = 0.935, 0.0005
POLICY = {"budget": {"rho": 1000, "delta": "0.5"}, "allow": {"acknowledge": ["fixed_weights"]}}
# x = 20 + 2 a and y = 10 + a + b, a and b uniform on 0, ..., 30 and 0, ..., 40; weights are uniform on 1, ..., 5.
REQUESTS: Mapping[str, tuple[Mapping[str, Any], float]] = {
    "mean": ({"measure": "mean", "of": "x", "error": "sampling"}, 50),
    "proportion": ({"measure": "proportion", "of": "job", "among": ["yes"]}, 0.3),
    "ratio": ({"measure": "ratio", "of": "x", "other": "y"}, 50 / 45),
    "weighted mean": ({"measure": "mean", "of": "x", "weight": "w"}, 50),
    "weighted total": ({"measure": "total", "of": "x", "weight": "w"}, 50 * 3 * PERSONS * ROWS),
    "bootstrap total": ({"measure": "total", "of": "x", "error": "bootstrap", "replicates": 20}, 50 * PERSONS * ROWS),
}


def declared(samples: int, relation: str) -> dict[str, Any]:
    """Samples as the categories of one variable."""
    return {
        "dataset": {"name": "persons", "population": "persons", "public": True},
        "unit": {"id": "person", "max_rows": ROWS, "relation": relation},
        "design": {"draws": "independent"},
        "variables": {
            "sample": {"categories": [str(k) for k in range(samples)], "missing": "0", "unseen": "0"},
            "x": {"bounds": [0, 100], "step": 1},
            "y": {"bounds": [0, 100], "step": 1},
            "job": {"categories": ["yes", "no"]},
            "w": {"bounds": [1, 5], "step": 1, "weight": True},
        },
    }


def drawn(samples: int) -> dict[str, Any]:
    """Persons with three equal rows each."""
    rng = np.random.default_rng(31)
    sizes = rng.poisson(PERSONS, samples)
    many = int(sizes.sum())
    a, b = rng.integers(0, 31, many), rng.integers(0, 41, many)
    rows = {
        "person": np.arange(many),
        "sample": np.repeat(np.arange(samples), sizes).astype(str),
        "x": 20 + 2 * a,
        "y": 10 + a + b,
        "job": np.where(rng.random(many) < 0.3, "yes", "no"),
        "w": rng.integers(1, 6, many),
    }
    return {name: np.repeat(column, ROWS) for name, column in rows.items()}


def run(quick: bool = False) -> dict[str, Any]:
    """Coverage of every setting."""
    samples = 200 if quick else SAMPLES
    rows, lines = drawn(samples), []
    with Books() as books:
        for name, (table, truth) in REQUESTS.items():
            for relation in ("add-remove", "replace"):
                for rho in (900, 20):
                    asked = {
                        "table": {"rows": ["sample"], **table},
                        "privacy": {"definition": "zero_concentrated", "rho": rho}
                        | ({"delta": "1/1000000"} if name == "bootstrap total" else {}),
                    }
                    release = books.released(rows, declared(samples, relation), asked, POLICY)
                    lower, upper = tabulation.sampled_bounds(release, release.table)
                    held = int(((lower <= truth) & (truth <= upper)).sum())
                    is_held = binomtest(held, samples, FLOOR, alternative="less").pvalue >= LEVEL
                    lines.append(
                        {
                            "measure": name,
                            "relation": relation,
                            "rho": rho,
                            "cells": samples,
                            "coverage": held / samples,
                            "ok": bool(is_held),
                        }
                    )
    return {
        "least coverage": min(line["coverage"] for line in lines),
        "settings": lines,
        "ok": all(line["ok"] for line in lines),
    }
