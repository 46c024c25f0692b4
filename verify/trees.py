"""Lists of margins along hierarchies: planned covariances against recorded releases, level by level, and unions of leaves."""

from typing import Any

from dalenius.core.neighbours import Relation
from dalenius.testing.spines import domain, errors, p_values, planned, unions


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
    return {"ok": is_good, "runs": runs, "blocks": blocks, "cases": found}
