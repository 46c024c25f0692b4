"""Lists of margins along hierarchies: planned covariances against recorded releases, level by level, unions of leaves, and the whole-number view."""

from typing import Any

import numpy as np

from dalenius.core.domain import Categories, Domain, Hierarchy, Variable
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.postprocess.nonnegative import Nonnegative
from dalenius.postprocess.rounding import Rounding
from dalenius.testing.asking import plan_of
from verify._recorded import release_of
from verify._spines import domain, errors, p_values, planned, unions

RELEASES = 5
BALANCED = [
    [],
    ["sex", "age"],
    ["block.county", "sex", "age"],
    ["block.tract", "sex", "age"],
    ["block"],
    ["block", "sex", "age"],
]


def run(quick: bool = False) -> dict[str, object]:
    """`ok` if no level is refuted at .001, and unions of leaves have the variances that the law states."""
    blocks, runs, count = (120, 40, 100) if quick else (600, 500, 1000)
    found: dict[str, Any] = {}
    is_good = True
    for relation, objective in (
        (Relation.ADD_REMOVE, "cells"),
        (Relation.ADD_REMOVE, "tables"),
        (Relation.REPLACE, "tables"),
    ):
        declared = domain(blocks, relation)
        plan = planned(declared, objective)
        sampled = errors(plan, declared, runs)
        levels, groups = p_values(plan, [table[:200] for table in sampled]), unions(plan, sampled, count)
        found[f"{relation}, {objective}"] = {"strategy": plan.strategy, "p_values": levels, "unions": groups}
        is_good &= plan.strategy == "tree" and min(levels.values()) > 0.001
        # The largest of so many deviations, each of about one standard error: four of them, by Bonferroni a little more.
        is_good &= groups["largest_deviation_in_standard_errors"] < (6 if quick else 5)
        is_good &= 0.94 <= groups["pooled_coverage"] <= 0.965 or quick
    view = {objective: whole_view(objective, 1_000 if quick else 10_000) for objective in ("cells", "tables")}
    ratios = [level["whole"] / max(level["top_down"], 1.0) for case in view.values() for level in case.values()]
    # Totals of one cell are off by less than one unit either way.
    is_good &= max(ratios) <= 1.05 or quick
    return {"ok": is_good, "runs": runs, "blocks": blocks, "cases": found, "whole_view": view}


def whole_view(objective: str, blocks: int) -> dict[str, dict[str, float]]:
    """Total absolute error of each table of the balanced example, summed over releases: unbiased, top-down, and whole numbers.

    A skewed population: two blocks in five are empty. Whole numbers must not be negative and must add up.
    """
    generator = np.random.default_rng(1506)
    domain = balanced(blocks)
    size = generator.negative_binomial(0.6, 0.02, blocks)
    block = np.repeat(np.arange(blocks), size)
    sex, age = generator.integers(0, 2, len(block)), generator.choice(4, len(block), p=[0.5, 0.3, 0.15, 0.05])
    codes = {"block": block, "sex": sex, "age": age}
    columns = {name: [f"{name} {code}" for code in own.tolist()] for name, own in codes.items()}
    truth = np.zeros((blocks, 2, 4))
    np.add.at(truth, (block, sex, age), 1)
    county, tract = (truth.reshape(n, blocks // n, 8).sum(axis=1).ravel() for n in (10, blocks // 100))
    exact = [truth.sum()[None], truth.sum(axis=0).ravel(), county, tract, truth.sum(axis=(1, 2)), truth.ravel()]
    table = {"rows": ["block", "sex", "age"], "margins": BALANCED, "objective": objective}
    plan = plan_of(domain, {"table": table, "privacy": {"definition": "zero_concentrated", "rho": "1/2"}})
    sums: dict[str, dict[str, float]] = {}
    for number in range(RELEASES):
        release = release_of(plan, domain, columns, {}, f"whole {number}")
        fitted = Nonnegative()(release)
        shown = Rounding()(fitted)
        for k, views in enumerate(zip(release.tables, fitted.tables, shown.tables, strict=True)):
            own = sums.setdefault(views[0].name, {"unbiased": 0.0, "top_down": 0.0, "whole": 0.0})
            for name, view in zip(own, views, strict=True):
                own[name] += float(np.abs(view.values - exact[k]).sum())
        cells = shown.tables[-1].values.reshape(blocks, 8)
        assert (cells >= 0).all() and (cells == np.rint(cells)).all()
        assert np.array_equal(cells.sum(axis=1), shown.tables[4].values)
        assert np.array_equal(cells.sum(axis=0), shown.tables[1].values)
        assert np.array_equal(cells.reshape(10, -1, 8).sum(axis=1).ravel(), shown.tables[2].values)
    return sums


def balanced(blocks: int) -> Domain:
    """Blocks in tracts of a hundred, in ten counties; sex and four ages."""
    place = np.arange(blocks)
    levels = tuple(
        Hierarchy(
            level=name,
            groups=tuple(f"{name} {k}" for k in range(count)),
            parent=tuple((place // (blocks // count)).tolist()),
        )
        for name, count in (("county", 10), ("tract", blocks // 100))
    )
    variables = {}
    for name, size in (("block", blocks), ("sex", 2), ("age", 4)):
        labels = tuple(f"{name} {k}" for k in range(size))
        categories = Categories(labels=labels, missing=labels[0], unseen=labels[0])
        own = levels if name == "block" else ()
        variables[name] = Variable(name=name, domain=categories, hierarchies=own)
    return Domain(
        name="example", population="example", version="1", variables=variables, neighbours=Neighbours(), is_public=True
    )
