"""Further definitions of privacy on finite mechanisms, which the tests compare with those of `dalenius.audit.definitions`."""

from math import exp, inf

from dalenius.audit.definitions import Law, LogLaw, TinyUniverse, loss
from dalenius.audit.sensitivity import Data
from dalenius_lab.brute import hockey_stick


def large_loss(left: LogLaw, right: LogLaw, epsilon: float) -> float:
    """Probability, under either law, of an output whose loss exceeds epsilon."""
    sides = ((left, right), (right, left))
    return max(sum(exp(p) for o, p in a.items() if p - b.get(o, -inf) > epsilon + 1e-12) for a, b in sides)


def approximate(law: Law, universe: TinyUniverse, epsilon: float) -> float:
    """delta of (epsilon, delta)-differential privacy."""
    return max((hockey_stick(law(a, a), law(b, b), epsilon) for a, b in universe.pairs()), default=0.0)


def probabilistic(law: Law, universe: TinyUniverse, epsilon: float) -> float:
    """delta of (epsilon, delta)-probabilistic differential privacy."""
    return max((large_loss(law(a, a), law(b, b), epsilon) for a, b in universe.pairs()), default=0.0)


def individual_group(law: Law, universe: TinyUniverse, data: Data, size: int) -> float:
    """Group individual differential privacy: up to `size` records of the data are changed."""
    reached, layer = {data}, {data}
    for _ in range(size):
        layer = {e for d in layer for e in universe.around(d)} - reached
        reached |= layer
    here = law(data, data)
    return max((loss(here, law(other, data)) for other in reached), default=0.0)


def conditional(law: Law, data: Data) -> float:
    """Conditional differential privacy: the data against the data without one record."""
    here = law(data, data)
    shorter = {(*data[:i], *data[i + 1 :]) for i in range(len(data))}
    return max((loss(here, law(other, data)) for other in shorter), default=0.0)


def against_the_informed(law: Law, universe: TinyUniverse, data: Data) -> float:
    """The true loss at the data against an intruder who knows the algorithm and refits it to each alternative."""
    here = law(data, data)
    return max((loss(here, law(other, other)) for other in universe.around(data)), default=0.0)


def delta_against_the_informed(law: Law, universe: TinyUniverse, data: Data, epsilon: float) -> float:
    """The same as a delta at epsilon, for laws whose loss is not bounded."""
    here = law(data, data)
    return max((hockey_stick(here, law(d, d), epsilon) for d in universe.around(data)), default=0.0)


# Read: whoever satisfies the left one, for a mechanism whose noise is not fitted to the data, satisfies the right one.
IMPLICATIONS: tuple[tuple[str, str], ...] = (
    ("pure", "probabilistic"),
    ("probabilistic", "approximate"),
    ("pure", "finite"),
    ("pure", "individual"),
    ("pure", "bootstrap"),
    ("finite", "bootstrap"),
    ("pure", "random"),
)
"""For a mechanism fitted to the data only the first two, pure => finite and pure => random remain."""
