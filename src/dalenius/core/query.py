"""The closed grammar of exact aggregates that a measurement may need and an engine must fetch.

Integers only: what a row adds is a product of powers of declared steps. The grammar is small on purpose: each member
has a sensitivity that can be stated and brute-forced, and limits that follow from the declaration alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from itertools import product
from math import isqrt, prod

import numpy as np

from dalenius.core.conditions import Filter
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.law import IntArray
from dalenius.errors import ParameterError, TooLarge, Unsupported

LIMIT = 2**62
"""Answers of engines are clamped to this size, which moves no two of them further apart."""
WIDEST = 2**90
"""What one row may add before a sum is halved stays below this: 2^36 such rows have fewer than 39 digits, which is what
the narrowest of the wide types of engines holds (DECIMAL(38, 0) of Spark)."""
MOST_STEPS = 10**18
"""Parts of a step that all rows of a clipped unit may add to a cell stay below this: their square has 37 digits."""

Ranges = Mapping[str, tuple[int, int]]


class Aggregate(StrEnum):
    SUM = "sum"
    PERSONS = "persons"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    LARGEST_ABSOLUTE = "largest absolute"


@dataclass(frozen=True, slots=True)
class Power:
    """(slope * x + offset) ** exponent of a numeric variable in steps, cut to `cut` first where that is given.

    With `halvings` what is raised is floor((slope * x + offset + c / 2) / c), c = 2**halvings: row by row, so that high
    powers of fine steps can be held. With the exponent 0 a power is 1 for every row that has the variable.
    """

    variable: str
    _: KW_ONLY
    exponent: int = 1
    slope: int = 1
    offset: int = 0
    cut: tuple[int, int] | None = None
    halvings: int = 0

    def __post_init__(self) -> None:
        if min(self.exponent, self.halvings) < 0:
            raise ParameterError("Exponents and halvings are never negative.", name="exponent")

    def base(self, steps: int) -> int:
        low, high = self.cut or (steps, steps)
        return (self.slope * min(max(steps, low), high) + self.offset + (1 << self.halvings) // 2) >> self.halvings

    def ends(self, low: int, high: int) -> tuple[int, int]:
        """The least and the largest value, of steps in [low, high]; never narrower than that."""
        ends = sorted((self.base(low), self.base(high)))
        values = [end**self.exponent for end in ends]
        if self.exponent % 2 == 0 and self.exponent and ends[0] < 0 < ends[1]:
            values.append(0)
        return min(values), max(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFunction:
    """What a row adds: `multiple` times the product of its powers; the constant 1 without any.

    A row that lacks the variable of a power adds nothing and is not counted. Powers of the same base are one, in the
    order of their variables, so that equal products are equal.
    """

    powers: tuple[Power, ...] = ()
    multiple: int = 1

    def __post_init__(self) -> None:
        exponents: dict[Power, int] = {}
        for power in self.powers:
            base = Power(power.variable) if power.exponent == 0 else replace(power, exponent=1)
            exponents[base] = exponents.get(base, 0) + power.exponent
        raised = {base.variable for base, exponent in exponents.items() if exponent}
        kept = (replace(b, exponent=e) for b, e in exponents.items() if e or b.variable not in raised)
        ordered = sorted(kept, key=lambda p: (p.variable, p.exponent, p.slope, p.offset, p.halvings, p.cut or ()))
        object.__setattr__(self, "powers", tuple(ordered))

    @classmethod
    def of(cls, *powers: Power, multiple: int = 1) -> "RowFunction":
        return cls(powers=powers, multiple=multiple)

    @classmethod
    def present(cls, *variables: str) -> "RowFunction":
        """One for each row that has all of these variables."""
        return cls(powers=tuple(Power(name, exponent=0) for name in variables))

    @property
    def variables(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(power.variable for power in self.powers))

    def value(self, steps: Mapping[str, int]) -> int:
        value = self.multiple
        for power in self.powers:
            value *= int(power.base(steps[power.variable]) ** power.exponent)
        return value

    def ends(self, ranges: Ranges) -> tuple[int, int]:
        """Between which numbers every value is; both are values where no variable is in two powers and slopes are 1."""
        low = high = self.multiple
        for power in self.powers:
            corners = [a * b for a, b in product((low, high), power.ends(*ranges[power.variable]))]
            low, high = min(corners), max(corners)
        return low, high

    def reach(self, ranges: Ranges) -> int:
        """A bound on the size of every product of some of its powers."""
        ends = (power.ends(*ranges[power.variable]) for power in self.powers)
        return abs(self.multiple) * prod(max(1, abs(low), abs(high)) for low, high in ends)


class Norm(StrEnum):
    L1 = "l1"
    L2 = "l2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Clip:
    """What a unit adds to all cells together is scaled down until its norm is at most `limit`; both in parts of a step.

    A step has `fineness` parts. With x_i steps in cell i, the norm over all cells of the space (impossible ones too),
    and z = |x_i| * fineness: a unit whose norm is within the limit adds x_i * fineness, any other floor(z * limit /
    norm) with the sign of x_i. The floor takes each cell towards zero, so that the norm of what is added never exceeds
    the limit.
    """

    norm: Norm
    limit: int
    fineness: int = 1

    def __post_init__(self) -> None:
        if self.limit < 1 or self.fineness < 1:
            raise ParameterError("A clip is at least one part of a step.", name="clip")

    def size(self, steps: Iterable[int]) -> int:
        """The norm of a unit in steps: the sum of absolute values, or the sum of squares."""
        return sum(abs(x) if self.norm is Norm.L1 else x * x for x in steps)

    @property
    def most(self) -> int:
        """The largest size of a unit that is left as it is."""
        if self.norm is Norm.L1:
            return self.limit // self.fineness
        return self.limit**2 // self.fineness**2

    def clipped(self, steps: int, size: int) -> int:
        """What a unit of this size adds to a cell in which it has so many steps."""
        if size <= self.most:
            return steps * self.fineness
        if self.norm is Norm.L1:
            parts = abs(steps) * self.limit // size
        else:
            # The floor of a root is the root of the floor.
            parts = isqrt(steps * steps * self.limit**2 // size)
        return parts if steps > 0 else -parts


@dataclass(frozen=True, slots=True, kw_only=True)
class TableQuery:
    """One exact aggregate for every cell of a space, empty cells included, in declared order.

    A sum is that of the row function less `shift`, over the rows that have its variables: exact in the engine and
    answered as floor((sum + c / 2) / c) with c = 2**halvings, so that it has 64 bits. The number of persons counts each
    unit once in a cell, however many rows it has there; where rows are units, it is their number. `clip` bounds what a
    unit adds to all cells of a sum together; the sum is then in parts of a step.
    """

    space: CellSpace
    where: tuple[Filter, ...] = ()
    aggregate: Aggregate = Aggregate.SUM
    function: RowFunction = RowFunction()
    shift: int = 0
    halvings: int = 0
    clip: Clip | None = None

    @property
    def variables(self) -> tuple[str, ...]:
        names = [axis.variable for axis in self.space.axes] + [f.variable for f in self.where]
        return tuple(dict.fromkeys([*names, *self.function.variables]))

    @property
    def value(self) -> str | None:
        """The variable of the row function, if it has one and no more."""
        names = self.function.variables
        return names[0] if len(names) == 1 else None

    @property
    def is_plain_count(self) -> bool:
        """Whether each row that passes adds one."""
        return (self.aggregate, self.function, self.shift) == (Aggregate.SUM, RowFunction(), 0)

    def ranges(self, domain: Domain) -> Ranges:
        bounds = {name: domain.variable(name).bounds for name in self.function.variables}
        return {name: (each.low, each.high) for name, each in bounds.items()}

    def empty_cell(self, domain: Domain) -> int:
        """The answer for a cell without rows: 0 for sums; for extremes the declared end on the far side."""
        if self.aggregate not in (Aggregate.MINIMUM, Aggregate.MAXIMUM):
            return 0
        low, high = self.function.ends(self.ranges(domain))
        return (high if self.aggregate is Aggregate.MINIMUM else low) - self.shift

    def largest(self, domain: Domain) -> int:
        """A bound on what one row adds to a cell, from the declaration alone.

        Raises `TooLarge` where engines could not hold the sum, and `Unsupported` or `ParameterError` where it has no
        meaning; what does not raise is answered by every engine, whatever the data hold.
        """
        for name in self.variables:
            domain.variable(name)
        is_sum, is_persons = self.aggregate is Aggregate.SUM, self.aggregate is Aggregate.PERSONS
        if is_persons and replace(self, space=CellSpace(()), where=()) != TableQuery(
            space=CellSpace(()), aggregate=Aggregate.PERSONS
        ):
            raise Unsupported("Persons are counted once each: without a value, and without weights.")
        if not is_sum and (self.halvings or self.clip is not None):
            raise Unsupported(f"A {self.aggregate} is neither halved nor clipped.")
        if not is_sum and not is_persons and not self.function.variables:
            raise ParameterError(f"A {self.aggregate} needs the numeric variable that it is taken of.")
        ranges = self.ranges(domain)
        size = self.function.reach(ranges) + abs(self.shift)
        if self.clip is not None and size * domain.neighbours.max_rows * self.clip.fineness >= MOST_STEPS:
            raise TooLarge(
                "All rows of a person together could add 10^18 parts of a step or more to a cell. Use a coarser step, "
                "narrower bounds or a smaller max_rows.",
                limit=MOST_STEPS,
            )
        limit = min(LIMIT << self.halvings, WIDEST) if is_sum else LIMIT
        steps = [abs(p.slope * end) + abs(p.offset) for p in self.function.powers for end in ranges[p.variable]]
        halvings = max((power.halvings for power in self.function.powers), default=0)
        if size >= limit or max(abs(self.function.multiple), 1 << halvings, *steps) >= LIMIT:
            raise TooLarge(
                f"One row could add 2^{limit.bit_length() - 1} steps or more to a cell. Use a coarser step or narrower "
                "bounds.",
                limit=limit,
            )
        return size


@dataclass(frozen=True, slots=True, kw_only=True)
class ValuesQuery:
    """The values of one numeric variable, in steps, sorted, one for each row that passes the filters."""

    value: str
    where: tuple[Filter, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsQuery:
    """Several numeric variables, in steps: a line for each row that passes the filters and has them all, sorted.

    With `space` each line begins with the number of the row's cell, and rows outside the table are left out.
    """

    variables: tuple[str, ...]
    where: tuple[Filter, ...] = field(default=())
    space: CellSpace | None = None

    def by_cell(self, lines: IntArray) -> list[IntArray]:
        """Return the lines of every cell, in declared order, without the number of the cell."""
        assert self.space is not None, "lines without cells are those of one list"
        return np.split(lines[:, 1:], np.searchsorted(lines[:, 0], np.arange(1, self.space.size)))


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelsQuery:
    """The undeclared texts of a variable with numbers of units; a unit counts in at most `most` of them.

    The one aggregate whose cells come from the data. It may feed a selection that is priced for this, and nothing else.
    """

    variable: str
    most: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SizesQuery:
    """How many units each of several clips, smallest first, is the first to leave as they are, and how many none does.

    A unit with no row that counts in the table is in none of these numbers. All clips have the norm of the table's own.
    """

    table: TableQuery
    clips: tuple[Clip, ...]


# Texts in the order of their code points, each with a number of units.
Labels = tuple[tuple[str, int], ...]
Query = TableQuery | ValuesQuery | RowsQuery | LabelsQuery | SizesQuery
