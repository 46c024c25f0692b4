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
