"""Several releases of the same numbers, their best weights, and their price: docs/reference/inference/combine.md."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Any

import numpy as np

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.estimate import short
from dalenius.core.law import FloatArray
from dalenius.core.release import Release
from dalenius.core.search import narrow
from dalenius.errors import ParameterError
from dalenius.inference.observation import refuse_censored
from dalenius.inference.observe import Seen, check_same_cells, check_together, observe
from dalenius.inference.parameters import AxisName
from dalenius.rendering import Axes, draw_cells, grid, two_lines


@dataclass(frozen=True, eq=False, kw_only=True)
class Combined:
    """The weighted mean of several releases, cell by cell."""

    axes: tuple[Axis, ...]
    values: FloatArray
    variance: FloatArray
    weights: FloatArray
    notes: tuple[str, ...] = ()

    @property
    def std_error(self) -> FloatArray:
        return np.sqrt(self.variance)

    def __str__(self) -> str:
        shares = ", ".join(f"{w:.3f}" for w in self.weights.reshape(len(self.weights), -1).mean(1))
        lines = [
            f"{len(self.weights)} releases of {' x '.join(a.name for a in self.axes)} combined by inverse variance",
            f"  mean weights {shares}; standard error {short(float(self.std_error.mean()))}",
        ]
        for labels, x in zip(CellSpace(self.axes).labels(), self.values.reshape(-1)[:200], strict=False):
            lines.append(f"  {' | '.join(labels):40s} {short(float(x)):>10s}")
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        return {
            "axes": [a.name for a in self.axes],
            "values": self.values.reshape(-1).tolist(),
            "variance": self.variance.reshape(-1).tolist(),
            "weights": self.weights.reshape(len(self.weights), -1).mean(1).tolist(),
            "notes": list(self.notes),
        }

    def __repr__(self) -> str:
        return two_lines(*(line.strip() for line in str(self).split("\n")[:2]))

    def _repr_html_(self) -> str:
        cells = zip(CellSpace(self.axes).labels(), self.values.reshape(-1), self.std_error.reshape(-1), strict=True)
        lines = [[*labels, short(float(x)), short(float(error))] for labels, x, error in cells]
        heads = [*(axis.name for axis in self.axes), "Value", "Standard error"]
        first, second = str(self).split("\n")[:2]
        return grid(first, heads, lines, labels=len(self.axes), notes=[second.strip(), *self.notes])

    def plot(self, path: object = None) -> Axes:
        """Combined values with two standard errors."""
        labels = [" | ".join(label) for label in CellSpace(self.axes).labels()]
        values, half = self.values.reshape(-1), 2 * self.std_error.reshape(-1)
        caption = "combined value, two standard errors"
        return draw_cells(labels, values, values - half, values + half, caption=caption, path=path)


def combine(releases: Sequence[Release | Seen] | Release, *axes: AxisName) -> Combined:
    """Mean of several releases of one table, weighted by their precision."""
    if not isinstance(releases, Sequence) or len(releases) < 2:
        raise ParameterError("At least two releases are needed to combine.")
    check_together(releases)
    observation = [observe(r, *axes, of_process=False) for r in releases]
    check_same_cells(observation)
    for one in observation:
        refuse_censored(one, "means of several releases")
    spread = np.stack([np.maximum(s.variance(np.maximum(s.guess, 0.0)), 1e-300) for s in observation])
    weights = 1 / spread
    variance = 1 / weights.sum(0)
    weights = weights * variance
    guesses = np.stack([s.guess for s in observation])
    return Combined(
        axes=observation[0].axes,
        # Relative to the first release, so that releases that agree are answered by the number they agree on.
        values=guesses[0] + (weights * (guesses - guesses[0])).sum(0),
        variance=variance,
        weights=weights,
        notes=tuple(dict.fromkeys(n for s in observation for n in s.notes)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipartition:
    """Variance of the mean of k equal parts of a budget, over the variance of one release with all of it."""

    parts: int
    epsilon: float
    delta: float
    pure: float
    advanced: float
    advanced_as_published: float
    zero_concentrated: float

    def __str__(self) -> str:
        return "\n".join(
            [
                f"One budget (epsilon {self.epsilon:g}, delta {self.delta:g}) cut into {self.parts} equal releases, "
                "averaged:",
                f"  pure (Laplace, epsilon/k)                     variance x {short(self.pure)}",
                f"  advanced composition (Laplace)                variance x {short(self.advanced)}",
                f"    its large-k form as published, ln(1/delta)  variance x {short(self.advanced_as_published)}",
                f"  zero-concentrated (Gaussian, rho/k)           variance x {short(self.zero_concentrated)}",
            ]
        )

    def to_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in self.__slots__}


def equipartition(parts: int, *, epsilon: float = 1.0, delta: float = 1e-6) -> Equipartition:
    """The three inflation factors for `parts` equal shares of a budget (docs/reference/inference/combine.md)."""
    if parts < 1 or epsilon <= 0 or not 0 < delta < 1:
        raise ParameterError("parts must be at least 1, epsilon positive, and delta strictly between 0 and 1.")

    def fits(each: float) -> bool:
        return sqrt(2 * parts * log(1 / delta)) * each + parts * each * (exp(each) - 1) <= epsilon

    share = max(narrow(fits, 0.0, epsilon, halvings=200).inside, epsilon / parts)
    return Equipartition(
        parts=parts,
        epsilon=epsilon,
        delta=delta,
        pure=float(parts),
        advanced=(epsilon / share) ** 2 / parts,
        advanced_as_published=log(1 / delta),
        zero_concentrated=1.0,
    )
