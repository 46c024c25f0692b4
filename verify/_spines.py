"""Generated hierarchies: recorded releases against planned covariances, and unions of leaves."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.algebra.tree_law import TreeLaw
from dalenius.core.domain import Categories, Domain, Hierarchy, Variable
from dalenius.core.law import FloatArray
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release, Table
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.testing.asking import plan_of
from verify._recorded import release_of

MARGINS = [
    [],
    ["sex", "age"],
    ["block.county", "sex"],
    ["block.tract", "sex", "age"],
    ["block"],
    ["block", "sex", "age"],
]
MOST_WHITENED = 60


def domain(blocks: int, relation: Relation = Relation.ADD_REMOVE) -> Domain:
    """An unbalanced spine: tracts of one to nine blocks, counties of one to seven tracts; sex and age inside."""
    tracts = np.repeat(np.arange(blocks), 1 + np.arange(blocks) * 5 % 9)[:blocks]
    counties = np.repeat(np.arange(blocks), 1 + np.arange(blocks) * 3 % 7)[: tracts[-1] + 1][tracts]
    levels = tuple(
        Hierarchy(
            level=name, groups=tuple(f"{name} {k}" for k in range(int(groups[-1]) + 1)), parent=tuple(groups.tolist())
        )
        for name, groups in (("county", counties), ("tract", tracts))
    )
    variables = {
        "sex": _variable("sex", 2),
        "block": Variable(name="block", domain=_variable("block", blocks).domain, hierarchies=levels),
        "age": _variable("age", 4),
    }
    return Domain(
        name="spine",
        population="spine",
        version="1",
        variables=variables,
        neighbours=Neighbours(relation=relation),
        is_public=True,
    )


def _variable(name: str, size: int) -> Variable:
    labels = tuple(f"{name} {k}" for k in range(size))
    return Variable(name=name, domain=Categories(labels=labels, missing=labels[0], unseen=labels[0]))


def planned(declared: Domain, objective: str = "cells", **privacy: Any) -> TablePlan:
    """The plan of the six tables."""
    asked = {"rows": ["block", "sex", "age"], "margins": MARGINS, "objective": objective}
    amount = privacy or {"definition": "zero_concentrated", "rho": "1/2"}
    return plan_of(declared, {"table": asked, "privacy": amount})


def released(plan: TablePlan, source: MemorySource, seed: str) -> tuple[Table, ...]:
    """What a recorded release shows."""
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
    return plan.assemble(passage.blocks)


def errors(plan: TablePlan, declared: Domain, runs: int) -> list[FloatArray]:
    """Return errors of every shown cell, one row per run, where everybody lives in the first block."""
    source = MemorySource(
        declared, {name: [v.categories.labels[0]] * 50 for name, v in declared.variables.items()}, b"spine"
    )
    drawn = [released(plan, source, f"spine {run}") for run in range(runs)]
    truth = [np.where(np.arange(len(t.values)) == 0, 50.0, 0.0) for t in drawn[0]]
    return [np.array([tables[k].values - truth[k] for tables in drawn]) for k in range(len(truth))]


def p_values(plan: TablePlan, sampled: list[FloatArray]) -> dict[str, float]:
    """For each table: whether whitened errors of some of its cells are standard normal in square, two-sided."""
    from scipy.stats import chi2

    law = TreeLaw.of(plan.law)  # type: ignore[arg-type]
    chances: dict[str, float] = {}
    for k, (margin, table) in enumerate(zip(MARGINS, sampled, strict=True)):
        cells = np.linspace(0, table.shape[1] - 1, min(MOST_WHITENED, table.shape[1])).astype(int)
        covariance = law.covariance(k, cells.tolist(), k, cells.tolist())
        whitened = np.linalg.solve(np.linalg.cholesky(covariance), table[:, cells].T)
        tail = float(chi2.cdf((whitened**2).sum(), whitened.size))
        chances[" x ".join(margin) or "total"] = 2 * min(tail, 1 - tail)
    return chances


def unions(plan: TablePlan, sampled: list[FloatArray], count: int) -> dict[str, float]:
    """Random unions of blocks by sex and age: mean squared standardised errors, and how many intervals cover."""
    law, generator = TreeLaw.of(plan.law), np.random.default_rng(15)  # type: ignore[arg-type]
    shown, blocks = law.table.shown[-1], law.table.tree.sizes[-1]
    inside = generator.random((blocks, count)) < generator.uniform(0.05, 0.9, count)
    cell = generator.integers(0, 8, count)
    variance = np.zeros(count)
    for a, factor in law.table.factors(shown).items():
        variance += law.solved.passes[a].squares(shown.level, inside.astype(np.float64)) * factor[cell]
    # The axes are shown in the order of the data set: sex, block, age.
    by_block = sampled[-1].reshape(-1, 2, blocks, 4).swapaxes(1, 2).reshape(-1, blocks, 8)
    sums = np.array([by_block[:, inside[:, j], cell[j]].sum(axis=1) for j in range(count)])
    squares = sums**2 / variance[:, None]
    runs = squares.shape[1]
    worst = float(np.abs(squares.mean(axis=1) - 1).max() / np.sqrt(2 / runs))
    return {"largest_deviation_in_standard_errors": worst, "pooled_coverage": float((squares < 1.959964**2).mean())}


def made_release(declared: Domain, margins: Sequence[Sequence[str]] = MARGINS) -> Release:
    """A recorded release of nine records in the first cell, as it comes back from its document."""
    asked = {"rows": ["block", "sex", "age"], "margins": [list(m) for m in margins], "objective": "tables"}
    plan = plan_of(declared, {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": "1/2"}})
    columns = {n: [v.categories.labels[0]] * 9 for n, v in declared.variables.items()}
    stated: dict[str, Any] = {"measure": "count", "mechanism": None, "options": {}}
    return release_of(plan, declared, columns, stated, "places")
