"""What a statistic states beside its claim: tiny inputs on which the claim is checked exhaustively."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from dalenius.core.contracts import Statistic
from dalenius.core.domain import DROP, Axis, Bounds, Categories, CellSpace, Variable

Row = tuple[Any, ...]
Rows = Sequence[Row]


@dataclass(frozen=True, slots=True)
class Example:
    """A statistic on a tiny domain.

    `rows` are the raw rows of which data sets are made, in the order of the variables; `size` says that their number is
    public. `released` computes, from raw rows, the integers to which noise is added; without it they are the engine's
    answer to `query`. `arguments` turns raw rows into what `value`, `local` and `bootstrap` take; None where the value
    is undefined. `is_tight` claims that the l1 norm is reached.
    """

    statistic: Statistic
    variables: Mapping[str, Variable]
    rows: tuple[Row, ...]
    size: int | None = None
    released: Callable[[Rows], Sequence[int]] | None = None
    arguments: Callable[[Rows], tuple[Any, ...] | None] | None = None
    is_tight: bool = True


def group(*labels: str, missing: str = DROP) -> dict[str, Variable]:
    return {"g": Variable(name="g", domain=Categories(labels=labels, missing=missing))}


def number(low: int, high: int, *, name: str = "x", missing: str = DROP) -> dict[str, Variable]:
    """A numeric variable in whole steps; what lies outside is moved to the bounds."""
    bounds = Bounds(lower=Fraction(low), upper=Fraction(high), missing=missing, outside="clamp")
    return {name: Variable(name=name, domain=bounds)}


def cells(*labels: str, zeros: frozenset[tuple[int, ...]] = frozenset()) -> CellSpace:
    axis = Axis(variable="g", labels=labels, codes=tuple(range(len(labels))))
    return CellSpace((axis,), zeros)


def of_cells(
    made: Callable[[CellSpace], Statistic],
    places: Callable[[str], Callable[[Rows], tuple[Any, ...]]] | None = None,
    *,
    is_tight: bool = True,
) -> tuple[Example, ...]:
    """Three cells, one cell and a structural zero, each with rows that drop out; `places` of the labels of cells."""
    spaces = {"abc": cells(*"abc"), "a": cells("a"), "a c": cells(*"abc", zeros=frozenset({(1,)}))}
    return tuple(
        Example(
            made(space),
            group(*space.axes[0].labels),
            (*((label,) for label in space.axes[0].labels), (None,)),
            arguments=None if places is None else places(labels),
            is_tight=is_tight,
        )
        for labels, space in spaces.items()
    )


def first_column(rows: Rows) -> tuple[list[int]]:
    return ([int(row[0]) for row in rows],)


class _OfValues(Statistic, Protocol):
    def value(self, values: Sequence[int]) -> int:
        """The exact answer."""


def of_values(statistic: _OfValues) -> Example:
    return Example(
        statistic,
        number(0, 4),
        ((0,), (1,), (4,)),
        released=lambda rows: [statistic.value(*first_column(rows))],
        arguments=first_column,
    )
