"""Ranges: the planned error of 100 random workloads beside cells alone and trees, and recorded releases against the plan."""

from typing import Any

import numpy as np

from dalenius.algebra.range_law import RangeLaw
from dalenius.core.domain import Categories, Domain, Variable
from dalenius.core.law import Joint
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.testing.asking import plan_of

BUDGETS: tuple[dict[str, Any], ...] = (
    {"definition": "zero_concentrated", "rho": "1/2"},
    {"definition": "pure", "epsilon": 1},
)
SUMS = 200


def run(quick: bool = False) -> dict[str, object]:
    """`ok` if no workload is planned worse than cells alone or a tree, and no plan is refuted at .0001 by its releases."""
    from scipy.stats import chi2

    generator = np.random.default_rng(1504)
    count, runs, checked = (12, 60, 4) if quick else (100, 200, 20)
    ratios: dict[str, list[list[float]]] = {}
    chances, coverage = [], []
    for number in range(count):
        domain, ranges, kind = _workload(generator)
        budget = BUDGETS[number % 2]
        asked = {"rows": list(domain.variables), "ranges": ranges}
        plan = plan_of(domain, {"table": asked, "privacy": budget})
        errors = {option["strategy"]: option["rmse"] for option in plan.preview["alternatives"]}
        best = plan.preview["range_std_error"]
        own = ratios.setdefault(f"{budget['definition']}, {kind}", [])
        own.append([best / errors["identity"], best / errors["hierarchical"]])
        if number < checked:
            standard = _standardised(plan, domain, generator, runs)
            tail = float(chi2.cdf((standard**2).sum(), standard.size))
            chances.append(2 * min(tail, 1 - tail))
            coverage.append(float((np.abs(standard) < 1.959964).mean()))
    worst = max(max(pair) for own in ratios.values() for pair in own)
    return {
        "ok": worst <= 1 and min(chances) > 1e-4,
        "workloads": count,
        "releases": runs,
        "mean_ratio_to_cells_and_to_trees": {k: np.mean(own, axis=0).tolist() for k, own in ratios.items()},
        "largest_ratio": worst,
        "smallest_p_value": min(chances),
        "coverage": float(np.mean(coverage)),
    }


def _workload(generator: np.random.Generator) -> tuple[Domain, Any, str]:
    """A domain of one or two ordered axes, and ranges of it."""
    kind = str(generator.choice(["all", "prefixes", "band", "listed", "boxes"]))
    two = kind == "boxes" or generator.random() < 0.3
    sizes = generator.integers(8, 40, 2).tolist() if two else [int(generator.integers(20, 150))]
    names = ["a", "b"][: len(sizes)]
    variables = {}
    for name, size in zip(names, sizes, strict=True):
        labels = tuple(str(k) for k in range(size))
        variables[name] = Variable(name=name, domain=Categories(labels=labels, missing="0", unseen="0"))
    relation = Relation.REPLACE if generator.random() < 0.25 else Relation.ADD_REMOVE
    domain = Domain(
        name="ranges",
        population="ranges",
        version="1",
        variables=variables,
        neighbours=Neighbours(relation=relation),
        is_public=True,
    )

    def pair(size: int) -> list[str]:
        return [str(end) for end in sorted(generator.integers(0, size, 2).tolist())]

    if kind == "boxes":
        boxes = range(int(generator.integers(3, 30)))
        return (domain, [{name: pair(size) for name, size in zip(names, sizes, strict=True)} for _ in boxes], kind)
    ranges: dict[str, Any] = {}
    for name, size in zip(names, sizes, strict=True):
        listed = [pair(size) for _ in range(int(generator.integers(3, 60)))]
        width = int(generator.integers(2, size // 2))
        ranges[name] = {"band": width, "listed": listed}.get(kind, kind)
    return domain, ranges, kind


def _standardised(
    plan: TablePlan, domain: Domain, generator: np.random.Generator, runs: int
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Whitened errors of random boxes over recorded releases of an empty file: noise does not look at data."""
    assert isinstance(plan.law, Joint)
    law = RangeLaw.of(plan.law)
    boxes = np.zeros((SUMS, *law.shape))
    for box in boxes:
        ends = [np.sort(generator.integers(0, size, 2)) for size in law.shape]
        box[tuple(slice(first, last + 1) for first, last in ends)] = 1
    flat = boxes.reshape(SUMS, -1)
    source = MemorySource(domain, {name: [] for name in domain.variables}, b"ranges")
    drawn = []
    for number in range(runs):
        noise = RecordedRandomness(f"ranges {number}")
        passage = gate.run(plan, source, plan.neighbours, plan.reservation, noise)
        drawn.append(flat @ plan.assemble(passage.blocks)[0].values)
    errors = np.array([law.square(0, row) ** 0.5 for row in flat])
    # Boxes overlap; some that share little are looked at, so that squares are nearly independent.
    kept = np.argsort(errors)[:: max(1, len(errors) // 12)]
    every = range(int(np.prod(law.shape)))
    covariance = flat[kept] @ law.covariance(0, every, 0, every) @ flat[kept].T
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(len(kept)) * covariance.diagonal().max())
    return np.asarray(np.linalg.solve(root, np.array(drawn)[:, kept].T))
