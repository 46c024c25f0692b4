"""Lists along a large hierarchy: time of the plan, of least squares with all variances, of the error of a union of places, and of a whole release.

`python -m bench trees --whole` also writes generated persons, registers them and releases the list as a user would, in processes of its own.
"""

import csv
import json
import resource
import subprocess
import sys
import tempfile
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.algebra.tree_law import TreeLaw
from dalenius.core.domain import Categories, Domain, Hierarchy, Variable
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours
from dalenius.testing.asking import plan_of

LEVELS = ("state", "county", "tract", "group")
MARGINS: list[list[str]] = [
    [],
    *([f"block.{level}", "sex", "age", "origin"] for level in LEVELS),
    ["block"],
    ["block", "sex", "age", "origin"],
]


def spine(blocks: int) -> Domain:
    """An unbalanced spine of six levels, with 2 x 8 x 4 detail cells in each block."""
    generator = np.random.default_rng(6)
    groups: list[np.ndarray] = []
    below = np.arange(blocks)
    for factor in (5, 4, 15, 12):
        count = max(2, (int(below.max()) + 1) // factor)
        edges = np.sort(generator.choice(int(below.max()), count - 1, replace=False)) + 1
        below = np.searchsorted(edges, below, side="right")
        groups.insert(0, below)
    levels = tuple(
        Hierarchy(
            level=name, groups=tuple(f"{name} {k}" for k in range(int(own.max()) + 1)), parent=tuple(own.tolist())
        )
        for name, own in zip(LEVELS, groups, strict=True)
    )
    sizes = {"block": blocks, "sex": 2, "age": 8, "origin": 4}
    variables = {}
    for name, size in sizes.items():
        labels = tuple(f"{name} {k}" for k in range(size))
        categories = Categories(labels=labels, missing=labels[0], unseen=labels[0])
        variables[name] = Variable(name=name, domain=categories, hierarchies=levels if name == "block" else ())
    return Domain(
        name="spine", population="spine", version="1", variables=variables, neighbours=Neighbours(), is_public=True
    )


def run(quick: bool = False, whole: bool = False) -> dict[str, Any]:
    """Processor seconds of each step, and the standard errors of the tables beside those of the interior alone."""
    declared = spine(10_000 if quick else 100_000)
    released = {"whole_release": _whole(declared, 500_000 if quick else 10_000_000)} if whole else {}
    asked = {"rows": list(declared.variables), "margins": MARGINS, "objective": "tables"}
    started = time.process_time()
    privacy = {"definition": "zero_concentrated", "rho": "1/2", "strategy": "tree"}
    plan = plan_of(declared, {"table": asked, "privacy": privacy}, {"allow": {"most_cells": 20_000_000}})
    seconds = {"plan": time.process_time() - started}
    assert isinstance(plan.law, Joint)
    law = TreeLaw.of(plan.law)
    (step,) = plan.measurements
    shapes = [(law.table.tree.sizes[k], *(law.table.shape[i] for i in a)) for k, a in step.grid]  # type: ignore[attr-defined]
    generator = np.random.default_rng(0)
    block = np.concatenate([generator.integers(-9, 9, int(np.prod(s))) for s in shapes])
    tracemalloc.start()
    started = time.process_time()
    law.estimates([block], [step.law], plan.law.parameters["blocks"])
    variances = law.variances
    seconds["least squares and variances"] = time.process_time() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    inside = np.zeros((len(declared.variable("block").categories), 2, 8, 4))
    inside[generator.random(len(inside)) < 0.3, 1] = 1
    started = time.process_time()
    error = law.square(len(MARGINS) - 1, inside.ravel()) ** 0.5
    seconds["union"] = time.process_time() - started
    return {
        "processor_seconds": seconds,
        "peak_megabytes": peak / 2**20,
        "union_std_error": error,
        "std_errors": [float(np.sqrt(v.mean())) for v in variances],
        "cells": sum(len(v) for v in variances),
        **released,
    }


def _whole(declared: Domain, persons: int) -> dict[str, Any]:
    """Seconds and memory of `dalenius register` and `dalenius release` on so many generated persons, and of a union from the release."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _materialise(declared, persons, folder)
        command = [sys.executable, "-c", "from dalenius.cli.main import run; run()"]
        steps = {
            "register": ["register", "dataset.json"],
            "release": ["release", "request.json", "-o", "out"],
            "union": ["infer", "total", "out", *(f"--first=block=block {7 * k}" for k in range(500))],
        }
        figures: dict[str, Any] = {"persons": persons}
        for name, arguments in steps.items():
            started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([*command, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            figures[name] = {
                "seconds": time.perf_counter() - started,
                "processor_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                # Of the largest process so far.
                "peak_megabytes": after.ru_maxrss / 1024,
            }
        figures["files_megabytes"] = {
            file.name: file.stat().st_size / 2**20 for file in sorted((folder / "out").iterdir())
        }
        return figures


def _materialise(declared: Domain, persons: int, folder: Path) -> None:
    """The documents and the rows of a generated population."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    generator = np.random.default_rng(15)
    columns = {}
    for name, variable in declared.variables.items():
        codes = generator.integers(0, len(variable.categories), persons).astype(np.int32)
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(variable.categories.labels))
    pq.write_table(pa.table(columns), folder / "people.parquet")
    block = declared.variable("block")
    with (folder / "levels.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["code", *(h.level for h in block.hierarchies)])
        for code, label in enumerate(block.categories.labels):
            rows.writerow([label, *(h.groups[h.parent[code]] for h in block.hierarchies)])
    (folder / "blocks.csv").write_text("code\n" + "\n".join(block.categories.labels) + "\n")
    dataset: dict[str, Any] = {
        "dataset": {"name": "spine", "population": "spine", "source": "people.parquet", "policy": "policy.json"},
        "variables": {
            name: {"missing": f"{name} 0", "unseen": f"{name} 0"}
            | (
                {"categories_file": "blocks.csv", "hierarchies_file": "levels.csv"}
                if name == "block"
                else {"categories": list(variable.categories.labels)}
            )
            for name, variable in declared.variables.items()
        },
    }
    policy = {"population": "spine", "budget": {"rho": 10}, "allow": {"most_cells": 20_000_000}}
    request = {
        "dataset": "dataset.json",
        "table": {"rows": list(declared.variables), "margins": MARGINS, "objective": "tables"},
        "privacy": {"definition": "zero_concentrated", "rho": "1/2", "strategy": "tree"},
    }
    for name, content in (("dataset", dataset), ("policy", policy), ("request", request)):
        (folder / f"{name}.json").write_text(json.dumps(content))
