"""Bootstrap, global and smooth sensitivities by going through every data set: what statements are compared with."""

from collections.abc import Sequence
from fractions import Fraction
from math import exp, inf

from dalenius.audit.definitions import LogLaw
from dalenius.audit.sensitivity import Data, Function, Row, local, multisets, neighbours_of
from dalenius.core.neighbours import Relation


def everywhere(function: Function, universe: Sequence[Row], size: int, relation: Relation) -> Fraction:
    """Largest change between any data set of this size and any of its neighbours.

    On the distinct rows of a data set D this is the bootstrap sensitivity for D; on all possible rows it is the
    global one at that size.
    """
    rows = sorted(set(universe))
    return max((local(function, d, rows, relation) for d in multisets(rows, size)), default=Fraction(0))


def smooth(
    function: Function,
    data: Data,
    universe: Sequence[Row],
    base: Fraction,
    relation: Relation,
    radius: int,
    memo: dict[Data, Fraction] | None = None,
) -> Fraction:
    """max over data sets within `radius` steps of base**distance times the local sensitivity there.

    `known` keeps local sensitivities between calls.
    """
    memo = {} if memo is None else memo
    earlier, layer, best = {data}, {data}, Fraction(0)
    for k in range(radius + 1):
        for d in layer:
            if d not in memo:
                memo[d] = local(function, d, universe, relation)
            best = max(best, base**k * memo[d])
        following = {e for d in layer for e in neighbours_of(d, universe, relation)} - earlier
        earlier |= following
        layer = following
        if not layer:
            break
    return best


def hockey_stick(left: LogLaw, right: LogLaw, epsilon: float) -> float:
    """Smallest delta of (epsilon, delta)-indistinguishability, in the worse direction."""
    sides = ((left, right), (right, left))
    return max(sum(max(0.0, exp(p) - exp(epsilon + b.get(o, -inf))) for o, p in a.items()) for a, b in sides)
