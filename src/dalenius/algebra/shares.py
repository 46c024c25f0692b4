"""How one budget is divided among independently measured margins: the least error is that after least squares."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dalenius.algebra.margins import Margin, Workload, subsets
from dalenius.core.law import FloatArray

NEGLIGIBLE = 1e-4
Key = TypeVar("Key")
"""What has a share."""
# Half of the largest exponent that is told apart: beyond it there is no noise left, and squares would overflow.
_STEEPEST = 80.0


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace at `epsilon` times the share, for tables that move by `sensitivity` in l1."""

    epsilon: float
    sensitivity: float = 1.0
    power: float = 1 / 3

    def precision(self, share: FloatArray) -> FloatArray:
        """(1-a)^2 / (2a) with a = e^-t is cosh(t) - 1."""
        half = np.minimum(np.asarray(share) * self.epsilon / self.sensitivity / 2, _STEEPEST)
        return np.asarray(2 * np.sinh(half) ** 2)

    def slope(self, share: FloatArray) -> FloatArray:
        rate = self.epsilon / self.sensitivity
        return np.asarray(np.sinh(np.minimum(np.asarray(share) * rate, 2 * _STEEPEST)) * rate)


@dataclass(frozen=True)
class GaussianNoise:
    """Discrete Gaussian at `rho` times the share, for tables whose squared l2 sensitivity is given."""

    rho: float
    sensitivity_squared: float = 1.0
    power: float = 1 / 2

    def precision(self, share: FloatArray) -> FloatArray:
        """1 / sigma^2 = 2 rho / l2^2."""
        return np.asarray(2 * self.rho * np.asarray(share) / self.sensitivity_squared)

    def slope(self, share: FloatArray) -> FloatArray:
        return np.full(np.shape(share), 2 * self.rho / self.sensitivity_squared)


NoisePrecision = LaplaceNoise | GaussianNoise
"""How precise a table becomes with a share of the budget: the `precision` 1 / variance of a cell, and its `slope`.
`power` is the exponent of the rule that is best without least squares.
"""


def root_shares(weights: Mapping[Key, float], power: float) -> dict[Key, float]:
    """Shares proportional to a power of what cells weigh: 1/3 for Laplace noise, 1/2 for Gaussian, 0 for equal ones."""
    raw = {key: weight**power for key, weight in weights.items()}
    total = sum(raw.values())
    return {key: r / total for key, r in raw.items()}


def optimise(
    workload: Workload, candidates: Sequence[Margin], noise: NoisePrecision, *, objective: str = "weighted"
) -> dict[Margin, float]:
    """Shares of the candidates of least error after least squares; negligible ones are dropped.

    With Gaussian noise the problem is convex. With Laplace noise it has local minima, so the search starts from
    the rules, from each of the largest candidates alone, and keeps the best.
    """
    search = _Search(workload, tuple(candidates), noise, objective)
    count = len(candidates)
    starts = [np.full(count, 1 / count)]
    rule = np.array([float(workload.size(m)) ** noise.power for m in candidates])
    starts.append(rule / rule.sum())
    order = sorted(range(count), key=lambda i: -workload.size(candidates[i]))
    for alone in order[: 1 if count > 200 else 3 if count > 20 else 8]:
        start = np.full(count, 0.02 / count)
        start[alone] += 0.98
        starts.append(start)
    results = [search.descend(start) for start in starts]
    best = min(results, key=lambda result: result[0])[1]
    best = np.where(best < NEGLIGIBLE, 0.0, best)
    best /= best.sum()
    return {m: float(s) for m, s in zip(candidates, best, strict=True) if s > 0}


class _Search:
    """Multiplicative descent on the simplex of shares."""

    def __init__(
        self, workload: Workload, candidates: tuple[Margin, ...], noise: NoisePrecision, objective: str
    ) -> None:
        self.noise, self.objective = noise, objective
        names = {a: k for k, a in enumerate(workload.components)}
        self.reach = np.zeros((len(candidates), len(names)))
        for row, margin in enumerate(candidates):
            for a in subsets(margin):
                if a in names:
                    self.reach[row, names[a]] = 1 / workload.outer(a, margin)
        if objective == "maximum":
            rows: list[Mapping[Margin, float]] = [
                {a: f / w for a, f in workload.factors(m).items()}
                for m, w in zip(workload.margins, workload.importance, strict=True)
            ]
        else:
            rows = [workload.influence]
        self.gains = np.array([[row.get(a, 0.0) for a in names] for row in rows])

    def descend(self, start: FloatArray) -> tuple[float, FloatArray]:
        """The best value met on the way down, and its shares."""
        shares, weight = start, np.full(len(self.gains), 1 / len(self.gains))
        best, where, idle = np.inf, start, 0
        for _ in range(400):
            total = self.noise.precision(shares) @ self.reach
            if not (total > 0).all():
                break
            losses = self.gains @ (1 / total)
            value = float(losses.max())
            idle = idle + 1 if value > best * (1 - 1e-10) else 0
            if value < best:
                best, where = value, shares
            if idle > 20:
                break
            gradient = self.noise.slope(shares) * (self.reach @ ((weight @ self.gains) / total**2))
            shares = shares * (gradient / gradient.max()) ** self.noise.power
            shares = shares / shares.sum()
            weight = weight * losses / losses.max()
            weight = weight / weight.sum()
        return best, where
