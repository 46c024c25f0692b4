"""Least noise for a list of margins: closed forms, or a small concave maximisation (docs/explanation/margins.md)."""

from collections.abc import Sequence

import numpy as np

from dalenius.algebra.margins import Margin, Workload
from dalenius.algebra.moves import ALONE, Move, move_lengths
from dalenius.core.law import FloatArray


def _distances(workload: Workload, components: Sequence[Margin], ways: Sequence[Move]) -> FloatArray:
    """k[S, A]: squared distance of the two records of a way S in the component A."""
    scale = np.array([float(workload.size(a)) ** 2 for a in components])
    columns = [move_lengths(workload.shape, (0, a), ways) for a in components]
    return np.asarray(np.array(columns, dtype=np.float64).T / scale)


def select(
    workload: Workload,
    cost: float,
    ways: Sequence[Move] = (ALONE,),
    *,
    objective: str = "weighted",
    without: frozenset[Margin] = frozenset(),
) -> dict[Margin, float]:
    """Component variances of least loss whose cost is `cost` (= 2 rho) for the worst way, in floats.

    `without` are components that are known (the public total): they get variance 0 and cost nothing.
    """
    names = [a for a in workload.components if a not in without]
    distance = _distances(workload, names, ways)
    keep = distance.max(axis=0) > 0
    if objective == "maximum":
        gains = np.array(
            [
                [workload.factors(m).get(a, 0.0) / w for a in names]
                for m, w in zip(workload.margins, workload.importance, strict=True)
            ]
        )
    else:
        gains = np.array([[workload.influence[a] for a in names]])
    weight = np.full(len(gains), 1 / len(gains))
    price = np.full(len(distance), 1 / len(distance))
    best: tuple[float, FloatArray] | None = None
    # Large problems stop earlier: every iterate is feasible, so this costs a little accuracy and no privacy.
    for step in range(min(20_000, max(200, 300_000_000 // max(gains.size + distance.size, 1)))):
        v, k = weight @ gains, price @ distance
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = np.where(keep & (v > 0), np.sqrt(k / v), 1.0)
        inverse = np.where(keep, 1 / np.maximum(variance, 1e-300), 0.0)
        costs, losses = distance @ inverse, gains @ variance
        # Scaled to the cost, every iterate is feasible; the dual value bounds the optimum from below.
        value, bound = costs.max() * losses.max(), np.sqrt(v * k)[keep].sum() ** 2
        if best is None or value < best[0]:
            best = (float(value), variance * costs.max() / cost)
        if (len(weight) == 1 and len(price) == 1) or (step % 10 == 0 and best[0] <= bound * (1 + 1e-8)):
            break
        weight = _renew(weight, losses)
        price = _renew(price, costs)
    assert best is not None
    variances = dict(zip(names, (float(s) for s in best[1]), strict=True))
    return {a: 0.0 if a in without else variances[a] for a in workload.components}


def _renew(weight: FloatArray, gain: FloatArray) -> FloatArray:
    """One step of the multiplicative algorithm: weight moves to where most is gained."""
    fresh: FloatArray = weight * gain / gain.max()
    total: float = fresh.sum()
    return fresh / total
