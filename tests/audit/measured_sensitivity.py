"""Sensitivities by brute force: every small data set beside every neighbour of it, against what a statistic declares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from dalenius.audit.sensitivity import DataSet, RawRow, columns_of, covers, units
from dalenius.core.contracts import Statistic
from dalenius.core.domain import Domain
from dalenius.core.query import Query
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator.gate import fetched
from dalenius.engines.memory import MemorySource
from dalenius_lab.attackers.exhaustive import neighbouring_pairs


def data_sets(rows: Sequence[RawRow], most: int, max_rows: int = 1) -> Iterator[DataSet]:
    """Every data set of at most `most` units."""
    everyone = units(rows, max_rows)
    for size in range(most + 1):
        yield from combinations_with_replacement(everyone, size)


@dataclass(frozen=True, slots=True)
class Move:
    """How far one pair of neighbours is apart."""

    l0: int
    l1: Fraction
    l2_squared: Fraction
    linf: Fraction

    @classmethod
    def of(cls, first: Any, second: Any) -> "Move":
        """Between two exact answers."""
        shifts = [abs(int(a) - int(b)) for a, b in zip(first.tolist(), second.tolist(), strict=True)]
        return cls(
            sum(s != 0 for s in shifts),
            Fraction(sum(shifts)),
            Fraction(sum(s * s for s in shifts)),
            Fraction(max(shifts, default=0)),
        )


def measured_sensitivity(
    query: Query, domain: Domain, rows: Sequence[RawRow], most: int = 4, *, given_rows: int | None = None
) -> Sensitivity:
    """Largest change of a query's answers between neighbours, by brute force.

    `rows` are tuples in the order of the domain's variables.
    """
    names = [variable.source_column for variable in domain.variables.values()]
    cache: dict[DataSet, Any] = {}

    def exact(data: DataSet) -> Any:
        if data not in cache:
            source = MemorySource(domain, columns_of(data, names, domain.unit_id), b"a secret of the enumeration")
            cache[data] = np.asarray(fetched(source, query).open_below_the_gate())
        return cache[data]

    pairs = neighbouring_pairs(rows, most, domain.neighbours, given_rows)
    moves = {Move.of(exact(first), exact(second)) for first, second in pairs}
    return Sensitivity(
        l0=max((m.l0 for m in moves), default=0),
        l1=max((m.l1 for m in moves), default=Fraction(0)),
        l2_squared=max((m.l2_squared for m in moves), default=Fraction(0)),
        linf=max((m.linf for m in moves), default=Fraction(0)),
    )


def check_statistic(
    statistic: Statistic, domain: Domain, rows: Sequence[RawRow], most: int = 4, given_rows: int | None = None
) -> Sensitivity:
    """Assert that a statistic declares at least what brute force finds; returns what was found."""
    declared = statistic.sensitivity(domain.neighbours)
    measured = measured_sensitivity(statistic.query, domain, rows, most, given_rows=given_rows)
    assert covers(declared, measured), (declared, measured)
    return measured
