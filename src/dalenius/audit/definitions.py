"""Privacy definitions checked exhaustively on finite mechanisms: who satisfies what, and who does not.

A mechanism is a function `law(data, fitted)`: the log-probabilities of its outputs on `data` when its noise was fitted
to `fitted`. What a custodian runs on D is law(D, D). Differential privacy and an intruder who knows the algorithm
compare law(D, D) with law(D', D'); individual and bootstrap differential privacy keep `fitted` at the data at hand.

Each function returns the smallest epsilon for which its definition holds (inf if none). `compare_definitions` lists
kinds of discrete Laplace noise beside them, for every multiset of three rows with values 0, 1 and 3 and every
replacement of one row. "Fitted" noise has the scale of the data at hand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, log, tanh
from random import Random
from typing import Any

from dalenius.audit.sensitivity import Data, local, multisets, neighbours_of
from dalenius.core.neighbours import Relation
from dalenius.errors import ParameterError

Output = Any
LogLaw = Mapping[Output, float]
Law = Callable[[Data, Data], LogLaw]
_ROWS, _SIZE = (0, 1, 3), 3
# Two lists of outputs: a loss that grows with the list has no bound.
_REACHES = (60, 90)


def loss(left: LogLaw, right: LogLaw) -> float:
    most = 0.0
    for output in left.keys() | right.keys():
        p, q = left.get(output, -inf), right.get(output, -inf)
        if p == q:
            continue
        most = max(most, inf if -inf in (p, q) else abs(p - q))
    return most


@dataclass(frozen=True)
class TinyUniverse:
    """All rows that can occur, data sets of one size (and of its neighbours), and the relation."""

    rows: tuple[Any, ...]
    size: int
    relation: Relation = Relation.REPLACE

    def pairs(self, rows: Sequence[Any] | None = None) -> Iterable[tuple[Data, Data]]:
        """Neighbouring data sets made of the given rows (all rows by default)."""
        own = sorted(set(self.rows if rows is None else rows))
        for data in multisets(own, self.size):
            for other in neighbours_of(data, own, self.relation):
                if other != data:
                    yield data, other

    def around(self, data: Data) -> Iterable[Data]:
        return (d for d in neighbours_of(data, self.rows, self.relation) if d != data)


def pure(law: Law, universe: TinyUniverse) -> float:
    """Differential privacy: every pair of neighbours, each with the noise fitted to itself."""
    return max((loss(law(a, a), law(b, b)) for a, b in universe.pairs()), default=0.0)


def finite(law: Law, universe: TinyUniverse, rows: Sequence[Any]) -> float:
    """Differential privacy over a declared finite list of rows: between bootstrap and the whole universe."""
    return max((loss(law(a, a), law(b, b)) for a, b in universe.pairs(rows)), default=0.0)


def individual(law: Law, universe: TinyUniverse, data: Data) -> float:
    """Individual differential privacy at the data: noise fitted to `data` on both sides."""
    here = law(data, data)
    return max((loss(here, law(other, data)) for other in universe.around(data)), default=0.0)


def bootstrap(law: Law, universe: TinyUniverse, data: Data, further: Sequence[Any] = ()) -> float:
    """Bootstrap differential privacy for the data: neighbours made of its rows (and of declared further ones)."""
    rows = {*data, *further}
    return max((loss(law(a, data), law(b, data)) for a, b in universe.pairs(sorted(rows))), default=0.0)


def random(law: Law, distribution: Mapping[Any, float], size: int, epsilon: float, *, draws: int) -> float:
    """Estimated probability that a pair drawn from a *declared* distribution keeps epsilon.

    (epsilon, gamma)-random differential privacy asks for at least 1 - gamma. The pair is n rows, and the same with the
    last one replaced by an (n+1)-st.
    """
    generator = Random(1)
    rows, weights = list(distribution), list(distribution.values())
    held, laws = 0, dict[Data, LogLaw]()
    for _ in range(draws):
        drawn = generator.choices(rows, weights, k=size + 1)
        left, right = (tuple(sorted(d)) for d in (drawn[:-1], (*drawn[:-2], drawn[-1])))
        p, q = (laws.setdefault(d, laws.get(d) or law(d, d)) for d in (left, right))
        held += loss(p, q) <= epsilon + 1e-12
    return held / draws


@dataclass(frozen=True, slots=True, kw_only=True)
class Guarantees:
    """One kind of noise, and the smallest epsilon (or the share of pairs) of each definition."""

    noise: str
    smallest: Mapping[str, float]

    def to_dict(self) -> dict[str, object]:
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
    def laplace(centre: int, change: Fraction | int) -> LogLaw:
        rate = epsilon / float(change)
        return {x: log(tanh(rate / 2)) - rate * abs(x - centre) for x in range(-reach, reach + 1)}

    return {
        "total, declared bounds": lambda data, _: laplace(sum(data), _ROWS[-1]),
        "total, range of the data": lambda data, fitted: laplace(sum(data), max(1, int(fitted[-1] - fitted[0]))),
        "median, declared bounds": lambda data, _: laplace(_median(data), _ROWS[-1]),
        "median, local sensitivity": lambda data, fitted: laplace(
            _median(data), max(Fraction(1), local(_median, fitted, _ROWS, Relation.REPLACE))
        ),
    }


def _judged(laws: Mapping[str, Law], distribution: Mapping[int, float], epsilon: float) -> dict[str, dict[str, float]]:
    universe, every = TinyUniverse(_ROWS, _SIZE), tuple(multisets(_ROWS, _SIZE))
    return {
        noise: {
            "pure": pure(law, universe),
            "finite": finite(law, universe, _ROWS[:2]),
            "individual": max(individual(law, universe, data) for data in every),
            "bootstrap": max(bootstrap(law, universe, data) for data in every),
            "random": random(law, distribution, _SIZE, epsilon, draws=300),
        }
        for noise, law in laws.items()
    }


def _median(data: Data) -> int:
    return int(data[len(data) // 2])
