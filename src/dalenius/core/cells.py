"""Classifications and the cells that they span, all of them declared.

An empty cell is a cell like any other; only a declared structural zero is not perturbed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import cast, overload

from dalenius.errors import ParameterError, TooLarge, UnknownName

MOST_CELLS = 50_000_000
MOST_HELD = 10_000
"""Numbers that stand for labels are held as texts up to so many."""


class Numbered(Sequence[str]):
    """The labels "0", "1", … of a very long array, without holding them."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        chosen = range(self._size)[place]
        return str(chosen) if isinstance(chosen, int) else tuple(map(str, chosen))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbered) and len(other) == len(self)

    def __hash__(self) -> int:
        return hash(self._size)


def numbered(size: int) -> tuple[str, ...]:
    """So many labels counted from 0; a very long list is not held."""
    return cast("tuple[str, ...]", Numbered(size)) if size > MOST_HELD else tuple(map(str, range(size)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """A classification of the units: declared labels, and how a variable's values map to them.

    For categories, `codes[c]` is the label index of category c, or -1 if rows with it are outside the table. For a
    numeric variable `cuts` (in steps) delimit the labels: cuts[j] <= x < cuts[j + 1]. With `has_rest` the last label
    holds every row that none of the others holds, rows without a value included.
    """

    variable: str
    labels: tuple[str, ...]
    codes: tuple[int, ...] = ()
    cuts: tuple[int, ...] = ()
    level: str = ""
    has_rest: bool = False

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def rest(self) -> int:
        """Position of the rows that no other label holds; -1 where they are outside the table."""
        return len(self.labels) - 1 if self.has_rest else -1

    @property
    def name(self) -> str:
        return f"{self.variable}.{self.level}" if self.level else self.variable

    @property
    def is_complete(self) -> bool:
        """Whether no declared value of the variable falls outside the labels."""
        return bool(self.codes) and -1 not in self.codes


@dataclass(frozen=True)
class CellSpace:
    """All cells of a table, in declared order (the last axis runs fastest).

    A virtual space is the cross behind a list of margins: it is never tabulated, so it may be as large as it is.
    """

    axes: tuple[Axis, ...]
    structural_zeros: frozenset[tuple[int, ...]] = field(default=frozenset())
    is_virtual: bool = False

    def __post_init__(self) -> None:
        if self.size > MOST_CELLS and not self.is_virtual:
            raise TooLarge(
                f"The table would have {self.size:,} cells; at most {MOST_CELLS:,} are served. Use fewer variables,"
                " coarser levels, or margins instead of the full cross.",
                received=self.size,
                limit=MOST_CELLS,
            )
        names = [axis.name for axis in self.axes]
        if len({axis.variable for axis in self.axes}) != len(names):
            raise ParameterError("A variable can stand on one axis of a table only.", received=names)

    @property
    def name(self) -> str:
        """Names of its axes, or "total" where there are none."""
        return " x ".join(axis.name for axis in self.axes) or "total"

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """Number of cells, structural zeros included."""
        return prod(self.shape)

    @property
    def possible(self) -> int:
        """Number of cells that can hold a row."""
        return self.size - len(self.structural_zeros)

    @cached_property
    def structural_indices(self) -> tuple[int, ...]:
        flat = []
        for cell in self.structural_zeros:
            index = 0
            for position, width in zip(cell, self.shape, strict=True):
                index = index * width + position
            flat.append(index)
        return tuple(sorted(flat))

    def labels(self) -> list[tuple[str, ...]]:
        return list(product(*(axis.labels for axis in self.axes)))

    def margin(self, names: tuple[str, ...]) -> "CellSpace":
        """The space over some of the axes, in this space's order."""
        for name in names:
            if name not in {axis.name for axis in self.axes}:
                raise UnknownName.among("axis", name, [axis.name for axis in self.axes])
        return CellSpace(tuple(axis for axis in self.axes if axis.name in names))
