"""Weighted counts: sums of bounded, fixed survey weights in each cell, or of their squares."""

from dataclasses import dataclass

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.neighbours import Neighbours
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import ParameterError, Unsupported
from dalenius.statistics._example import Example, cells, group, number
from dalenius.statistics._moves import MOST_ROWS_FOR_PATTERNS, counted


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedCount:
    """Sum of w, or of w squared (`power` 2), over the rows of each cell, in declared steps of the weight.

    Guarantee: a unit with at most c rows moves the table by at most c times the largest declared weight (squared for
    `power` 2) in the l1 norm when it is added or removed, and twice that when it is replaced and there is a second
    cell. Requires: weights within declared bounds, not negative, and *fixed*: a weight that was calibrated on the
    sample changes for everybody when one unit changes, and is refused unless the custodian declares it fixed. Evidence:
    exhaustive neighbours in tests/statistics/test_weighted_count.py. References: Rinott et al. (2018), section 8; the
    squares are the material of the design-based variance.
    """

    query: TableQuery
    largest: int
    power: int = 1

    @classmethod
    def of(
        cls,
        domain: Domain,
        weight: str,
        space: CellSpace,
        where: tuple[Filter, ...] = (),
        *,
        power: int = 1,
        is_fixed: bool = False,
    ) -> "WeightedCount":
        if not is_fixed:
            raise Unsupported(
                f"The weights {weight!r} are not declared fixed. Weights calibrated on the sample change for everybody"
                " when one unit changes, so they have no bounded sensitivity. If these were fixed by the design, write"
                ' acknowledge = ["fixed_weights"] in [allow] of the policy.'
            )
        if power not in (1, 2):
            raise ParameterError("power is 1 for weights or 2 for their squares.")
        bounds = domain.variable(weight).bounds
        if bounds.low < 0:
            raise ParameterError(f"Weights must not be negative; the declared lower bound of {weight!r} is.")
        query = TableQuery(space=space, where=where, function=RowFunction.of(Power(weight, exponent=power)))
        return cls(query=query, largest=bounds.high**power, power=power)

    def sensitivity(self, neighbours: Neighbours) -> Sensitivity:
        rows = neighbours.max_rows
        cells = self.query.space.possible
        if cells and rows > MOST_ROWS_FOR_PATTERNS:
            raise Unsupported(f"Weighted counts are served for at most {MOST_ROWS_FOR_PATTERNS} rows to a unit.")
        return counted(rows, cells, is_replace=neighbours.is_replace).times(self.largest)

    @classmethod
    def examples(cls) -> tuple[Example, ...]:
        variables = group("a", "b") | number(0, 3, name="w", missing="0")
        rows = (("a", 3), ("b", 3), ("a", 1))
        space = cells("a", "b")
        squares = TableQuery(space=space, function=RowFunction.of(Power("w", exponent=2)))
        sums = TableQuery(space=space, function=RowFunction.of(Power("w")))
        made = (cls(query=sums, largest=3), cls(query=squares, largest=9, power=2))
        return tuple(Example(statistic, variables, rows) for statistic in made)
