"""Lists of margins: planning, release from 1.5 million rows, error against the plan, and OpenDP's independent margins.

Everything goes through the planner, the DuckDB engine and the measurements; noise is the operating system's. The
OpenDP comparison gives each margin an equal share of the same rho, which is what its users do.
"""

import resource
import time
from itertools import combinations
from typing import Any

import numpy as np

from dalenius.algebra.margins import all_margins
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.domain import Axis, Categories, Domain, Variable
from dalenius.core.neighbours import Neighbours
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import SystemRandomness
from dalenius.core.release import Table, Value
from dalenius.plans.margins.plan import plan_list

CENSUS = (11, 2, 21, 5, 12, 9, 5)
LETTERS = "abcdefghij"


def world(shape: tuple[int, ...]) -> tuple[Domain, tuple[Axis, ...]]:
    """A domain of as many categorical variables as the shape has axes."""
    variables, axes = {}, []
    for name, size in zip(LETTERS, shape, strict=False):
        labels = tuple(f"{name}{k}" for k in range(size))
        variables[name] = Variable(name=name, domain=Categories(labels=labels))
        axes.append(Axis(variable=name, labels=labels, codes=tuple(range(size))))
    neighbours = Neighbours()
    return Domain(name="b", population="b", version="1", variables=variables, neighbours=neighbours), tuple(axes)


def rows_of(shape: tuple[int, ...], rows: int, seed: int) -> tuple[dict[str, Any], list[np.ndarray]]:
    """Dependent categories with a fixed seed, as Arrow dictionary columns, and their codes."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    latent = rng.random(rows)
    codes, columns = [], {}
    for name, size in zip(LETTERS, shape, strict=False):
        code = np.minimum((0.6 * latent + 0.4 * rng.random(rows)) ** 1.5 * size, size - 1).astype(np.int32)
        codes.append(code)
        labels = pa.array([f"{name}{k}" for k in range(size)])
        columns[name] = pa.DictionaryArray.from_arrays(pa.array(code), labels)
    return columns, codes


def planned(shape: tuple[int, ...], margins: tuple[tuple[int, ...], ...], budget: Budget) -> tuple[TablePlan, float]:
    """The plan and the seconds it took."""
    domain, axes = world(shape)
    names = [tuple(LETTERS[a] for a in m) for m in margins]
    start = time.perf_counter()
    plan = plan_list(domain, axes, names, (), budget, registry.get("definitions", budget.definition)())
    return plan, time.perf_counter() - start


def released(plan: TablePlan, source: Any) -> tuple[Table, ...]:
    """What the gate does, without a ledger."""
    rng = SystemRandomness()
    blocks = []
    for step in plan.measurements:
        drawn = step.draw(rng)
        exact = tuple(source.table(query) for query in step.needs)
        outcome = step.run(exact, drawn, rng)
        assert isinstance(outcome, Value)
        blocks.append(step.block(outcome))
    return plan.assemble(tuple(blocks))


def _truth(shape: tuple[int, ...], codes: list[np.ndarray], margin: tuple[int, ...]) -> np.ndarray:
    flat = np.zeros(len(codes[0]), dtype=np.int64)
    for a in margin:
        flat = flat * shape[a] + codes[a]
    return np.bincount(flat, minlength=int(np.prod([shape[a] for a in margin], dtype=np.int64)))


def census(rows: int, runs: int) -> dict[str, Any]:
    """63 margins of the census shape: time of planning and release, error over several runs."""
    import pyarrow as pa

    from dalenius.engines.duckdb import DuckDBSource

    margins = all_margins(7, 3, 1)
    columns, codes = rows_of(CENSUS, rows, 1)
    source = DuckDBSource(world(CENSUS)[0], pa.table(columns))
    plan, planning = planned(CENSUS, margins, Budget.of("zero_concentrated", rho="1/2"))
    truth = [_truth(CENSUS, codes, m) for m in margins]
    errors, seconds = [], []
    for _ in range(runs):
        start = time.perf_counter()
        tables = released(plan, source)
        seconds.append(time.perf_counter() - start)
        errors.append(float(np.mean(np.concatenate([(t.values - x) ** 2 for t, x in zip(tables, truth, strict=True)]))))
    start = time.perf_counter()
    rival = _opendp(truth, len(margins), 0.5)
    rival_noise_seconds = time.perf_counter() - start
    start = time.perf_counter()
    for m in margins:
        _group_by(columns, m)
    rival_seconds = rival_noise_seconds + time.perf_counter() - start
    rmse = float(np.sqrt(np.mean(errors)))
    return {
        "rows": rows,
        "strategy": plan.strategy,
        "planning_seconds": round(planning, 3),
        "release_seconds_first": round(seconds[0], 3),
        "release_seconds_best": round(min(seconds), 3),
        "planned_rmse": plan.preview["rmse"],
        "mean_rmse": rmse,
        "relative_gap": rmse / float(plan.preview["rmse"]) - 1,
        "runs": runs,
        "opendp_rmse": rival,
        "opendp_seconds": round(rival_seconds, 3),
        "error_ratio_to_opendp": rmse / rival,
        "time_ratio_to_opendp": min(seconds) / rival_seconds,
        "cold_time_ratio_to_opendp": seconds[0] / rival_seconds,
    }


def _group_by(columns: dict[str, Any], margin: tuple[int, ...]) -> None:
    """A plain GROUP BY, as a user of OpenDP would count a margin."""
    import duckdb
    import pyarrow as pa

    rows = pa.table(columns)
    keys = ", ".join(LETTERS[a] for a in margin)
    counted = duckdb.sql(f"SELECT {keys}, count(*) FROM rows GROUP BY {keys}")
    assert counted is not None
    counted.arrow()
    del rows


def _opendp(truth: list[np.ndarray], parts: int, rho: float) -> float:
    """Root mean square error of independent discrete Gaussian margins at equal shares of rho, by OpenDP."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    scale = (parts / (2 * rho)) ** 0.5
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    gaussian = dp.m.make_gaussian(*space, scale=scale)
    squares, cells = 0.0, 0
    for exact in truth:
        noisy = np.array(gaussian(exact.tolist()))
        squares += float(((noisy - exact) ** 2).sum())
        cells += len(exact)
    return float(np.sqrt(squares / cells))


def three_way() -> dict[str, Any]:
    """All 120 three-way margins of ten variables of ten categories."""
    import pyarrow as pa

    from dalenius.engines.duckdb import DuckDBSource

    shape, margins = (10,) * 10, tuple(combinations(range(10), 3))
    columns, codes = rows_of(shape, 200_000, 2)
    source = DuckDBSource(world(shape)[0], pa.table(columns))
    plan, planning = planned(shape, margins, Budget.of("zero_concentrated", rho="1/2"))
    start = time.perf_counter()
    tables = released(plan, source)
    seconds = time.perf_counter() - start
    truth = [_truth(shape, codes, m) for m in margins]
    error = float(np.sqrt(np.mean([(t.values - x) ** 2 for t, x in zip(tables, truth, strict=True)])))
    return {
        "margins": len(margins),
        "strategy": plan.strategy,
        "planning_seconds": round(planning, 3),
        "release_seconds": round(seconds, 3),
        "planned_rmse": plan.preview["rmse"],
        "rmse": error,
    }


def million() -> dict[str, Any]:
    """A table of 1,000,000 cells with its margins: perturbed, made consistent and written."""
    import tempfile
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

    from dalenius.core.law import Joint
    from dalenius.core.release import Provenance, Release
    from dalenius.engines.duckdb import DuckDBSource
    from dalenius.postprocess.nonnegative import Nonnegative

    shape = (100, 100, 100)
    columns, _ = rows_of(shape, 1_000_000, 3)
    source = DuckDBSource(world(shape)[0], pa.table(columns))
    plan, planning = planned(shape, all_margins(3), Budget.of("zero_concentrated", rho="1/2"))
    start = time.perf_counter()
    tables = released(plan, source)
    assert isinstance(plan.law, Joint)
    provenance = Provenance(
        dataset="b", population="b", version="1", definition="zero_concentrated", budget={}, neighbours={}, cost={},
        mechanism="", strategy=plan.strategy, evidence={}, software="", request={}, digest="",
    )  # fmt: skip
    release = Nonnegative()(Release(blocks=(), tables=tables, law=plan.law, provenance=provenance))
    with tempfile.TemporaryDirectory() as folder:
        for k, table in enumerate(release.tables):
            content = {"value": table.values, "variance": table.variance}
            pq.write_table(pa.table(content), Path(folder) / f"{k}.parquet")
    return {
        "cells": int(max(len(t.values) for t in tables)),
        "strategy": plan.strategy,
        "planning_seconds": round(planning, 3),
        "seconds": round(time.perf_counter() - start, 3),
        "peak_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def run(quick: bool = False) -> dict[str, object]:
    """All comparisons; `quick` uses fewer rows and runs."""
    return {
        "million_cells": million(),
        "census": census(200_000 if quick else 1_500_000, 3 if quick else 20),
        "three_way": three_way(),
        "limits": {"planning_seconds": 1, "release_seconds": 10, "relative_gap": 0.005, "million_seconds": 10},
    }
