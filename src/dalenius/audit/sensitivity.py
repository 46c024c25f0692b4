"""Sensitivities by exhaustive enumeration, independent of every closed form: the reference on tiny data."""

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from dalenius.core.neighbours import Relation

Row = Any
Data = tuple[Row, ...]
Function = Callable[[Data], Any]


def distance(left: Any, right: Any) -> Fraction:
    """l1 distance of two answers, numbers or vectors."""
    if isinstance(left, tuple | list):
        return sum((abs(Fraction(a) - Fraction(b)) for a, b in zip(left, right, strict=True)), Fraction(0))
    return abs(Fraction(left) - Fraction(right))


def neighbours_of(data: Data, universe: Sequence[Row], relation: Relation) -> Iterator[Data]:
    """Every neighbour as a multiset (sorted); repetitions are possible."""
    if relation is Relation.REPLACE:
        for i in range(len(data)):
            for row in universe:
                yield tuple(sorted((*data[:i], row, *data[i + 1 :])))
        return
    for i in range(len(data)):
        yield (*data[:i], *data[i + 1 :])
    for row in universe:
        yield tuple(sorted((*data, row)))


def multisets(universe: Sequence[Row], size: int) -> Iterator[Data]:
    """Every data set of a size, as sorted tuples."""
    return combinations_with_replacement(sorted(universe), size)


def local(function: Function, data: Data, universe: Sequence[Row], relation: Relation) -> Fraction:
    """Largest change from this data set to any neighbour."""
    here = function(data)
    return max((distance(function(d), here) for d in neighbours_of(data, universe, relation)), default=Fraction(0))


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
