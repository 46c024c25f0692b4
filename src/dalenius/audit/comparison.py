"""Kinds of noise beside kinds of guarantee, by enumeration of a universe that is small enough to list.

Every multiset of three rows with values 0, 1 and 3 and every replacement of one row; noise of the discrete Laplace
form. "Fitted" noise has the scale of the data at hand, as the individual and the bootstrap definitions allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, tanh

from dalenius.audit import definitions
from dalenius.audit.definitions import Law, LogLaw, TinyUniverse
from dalenius.audit.sensitivity import Data, local, multisets
from dalenius.core.neighbours import Relation
from dalenius.errors import ParameterError

_ROWS, _SIZE = (0, 1, 3), 3
# Two lists of outputs: a loss that grows with the list has no bound.
_REACHES = (60, 90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """One kind of noise, and the smallest epsilon (or the share of pairs) of each definition."""

    noise: str
    smallest: Mapping[str, float]

    def to_dict(self) -> dict[str, object]:
        """Plain values; an infinite epsilon is null."""
        return {"noise": self.noise, **{name: None if value == inf else value for name, value in self.smallest.items()}}


def compare_definitions(epsilon: float, weights: Sequence[float] | None = None) -> tuple[Guarantees, ...]:
    """Totals and medians with noise of epsilon for the declared bounds, and fitted to the data, under six definitions.

    `weights` is the declared distribution of the rows for random differential privacy, equal weights if left out.
    """
    weights = weights or (1.0,) * len(_ROWS)
    if len(weights) != len(_ROWS) or min(weights) < 0 or not 0 < sum(weights) < inf:
        raise ParameterError(f"A distribution has {len(_ROWS)} weights that are not negative.", name="weights")
    distribution = {row: weight / sum(weights) for row, weight in zip(_ROWS, weights, strict=True)}
    near, far = (_judged(_laws(epsilon, reach), distribution, epsilon) for reach in _REACHES)
    return tuple(
        Guarantees(noise=noise, smallest={n: v if abs(v - far[noise][n]) < 1e-9 else inf for n, v in smallest.items()})
        for noise, smallest in near.items()
    )


def _laws(epsilon: float, reach: int) -> dict[str, Law]:
    """Kinds of noise, each listed as far as `reach`."""

    def laplace(centre: int, change: Fraction | int) -> LogLaw:
        rate = epsilon / float(change)
        return {x: log(tanh(rate / 2)) - rate * abs(x - centre) for x in range(-reach, reach + 1)}

    return {
        "total, declared bounds": lambda data, _: laplace(sum(data), _ROWS[-1]),
        "total, range of the data": lambda data, fitted: laplace(sum(data), max(1, int(fitted[-1] - fitted[0]))),
        "median, declared bounds": lambda data, _: laplace(_median(data), _ROWS[-1]),
        "median, local sensitivity": lambda data, fitted: laplace(_median(data), max(Fraction(1), _local(fitted))),
    }


def _judged(laws: Mapping[str, Law], distribution: Mapping[int, float], epsilon: float) -> dict[str, dict[str, float]]:
    universe, every = TinyUniverse(_ROWS, _SIZE), tuple(multisets(_ROWS, _SIZE))
    return {
        noise: {
            "pure": definitions.pure(law, universe),
            "finite": definitions.finite(law, universe, _ROWS[:2]),
            "individual": max(definitions.individual(law, universe, data) for data in every),
            "bootstrap": max(definitions.bootstrap(law, universe, data) for data in every),
            "random": definitions.random(law, distribution, _SIZE, epsilon, draws=300).estimate,
        }
        for noise, law in laws.items()
    }


def _median(data: Data) -> int:
    return int(data[len(data) // 2])


def _local(data: Data) -> Fraction:
    return local(_median, data, _ROWS, Relation.REPLACE)
