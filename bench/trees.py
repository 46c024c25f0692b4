"""Lists along a large hierarchy: time of the plan, of least squares with all variances, and of the error of a union of places."""

import time
import tracemalloc
from typing import Any

import numpy as np

from dalenius.core.domain import Categories, Domain, Hierarchy, Variable
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours
from dalenius.linear.tree_law import TreeLaw
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
            level=name,
            groups=tuple(f"{name} {k}" for k in range(int(own.max()) + 1)),
            parent=tuple(own.tolist()),
        )
        for name, own in zip(LEVELS, groups, strict=True)
    )
    sizes = {"block": blocks, "sex": 2, "age": 8, "origin": 4}
    variables = {}
    for name, size in sizes.items():
        labels = tuple(f"{name} {k}" for k in range(size))
        categories = Categories(labels=labels, missing=labels[0], unseen=labels[0])
        variables[name] = Variable(
            name=name, domain=categories, hierarchies=levels if name == "block" else ()
        )
    return Domain(
        name="spine",
        population="spine",
        version="1",
        variables=variables,
        neighbours=Neighbours(),
        is_public=True,
    )


def run(quick: bool = False) -> dict[str, Any]:
    """Seconds of each step, and the standard errors of the tables beside those of the interior alone."""
    declared = spine(10_000 if quick else 100_000)
    asked = {"rows": list(declared.variables), "margins": MARGINS, "objective": "tables"}
    started = time.perf_counter()
    privacy = {"definition": "zero_concentrated", "rho": "1/2", "strategy": "tree"}
    plan = plan_of(declared, {"table": asked, "privacy": privacy}, {"allow": {"most_cells": 20_000_000}})
    seconds = {"plan": time.perf_counter() - started}
    assert isinstance(plan.law, Joint)
    law = TreeLaw.of(plan.law)
    (step,) = plan.measurements
    shapes = [(law.table.tree.sizes[k], *(law.table.shape[i] for i in a)) for k, a in step.grid]  # type: ignore[attr-defined]
    generator = np.random.default_rng(0)
    block = np.concatenate([generator.integers(-9, 9, int(np.prod(s))) for s in shapes])
    tracemalloc.start()
    started = time.perf_counter()
    law.estimates([block], [step.law], plan.law.parameters["blocks"])
    variances = law.variances
    seconds["least squares and variances"] = time.perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    inside = np.zeros((len(declared.variable("block").categories), 2, 8, 4))
    inside[generator.random(len(inside)) < 0.3, 1] = 1
    started = time.perf_counter()
    error = law.square(len(MARGINS) - 1, inside.ravel()) ** 0.5
    seconds["union"] = time.perf_counter() - started
    return {
        "seconds": seconds,
        "peak_megabytes": peak / 2**20,
        "union_std_error": error,
        "std_errors": [float(np.sqrt(v.mean())) for v in variances],
        "cells": sum(len(v) for v in variances),
    }
