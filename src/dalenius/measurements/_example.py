"""What a private step states beside its claim: tiny inputs on which the claim is checked."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dalenius.algebra.amounts import Amounts
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Axis, Bounds, Categories, CellSpace, Variable
from dalenius.core.law import IntArray
from dalenius.core.query import Power, RowFunction, TableQuery, ValuesQuery
from dalenius.core.randomness import RandomSource
from dalenius.core.release import Outcome
from dalenius.core.sealed import Sealed
from dalenius.statistics.magnitude_table import MagnitudeTable
from dalenius.statistics.quantile import Quantile

Exact = tuple[Sealed[IntArray], ...]
RunAt = Callable[[Exact, Exact, Any, RandomSource], Outcome]

CELLS = CellSpace((Axis(variable="g", labels=("a", "b"), codes=(0, 1)),))
COUNTS = TableQuery(space=CELLS)
TOTALS = MagnitudeTable(
    query=TableQuery(space=CELLS, function=RowFunction.of(Power("x"))), low=-1, high=2, keeps_values=True
)
AMOUNTS = Amounts(function=RowFunction.of(Power("x")), low=-1, high=2)
LISTS = tuple(ValuesQuery(value="x", where=(Filter(variable="g", codes=(code,)),)) for code in (0, 1))
VARIABLES = {
    "g": Variable(name="g", domain=Categories(labels=("a", "b"))),
    "x": Variable(name="x", domain=Bounds(lower=Fraction(-1), upper=Fraction(2), missing="0", outside="clamp")),
}
MEDIAN = Quantile(query=ValuesQuery(value="x"), low=-1, high=2)
UNLISTED = Variable(name="text", domain=Categories(labels=("a", "other"), unseen="other"), is_unlisted=True)
ROWS = (("a", 2), ("b", 2), ("a", -1))


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasurementExample:
    """A step on data sets made of a few raw rows, in the order of the variables.

    `size` says that the number of rows is public. `fresh` makes the same step anew where its noise is a function of a
    secret. `run_at(at, there, drawn, rng)` answers from the content `there` with noise that follows the content `at`;
    steps that are private at the data or within the data state it. `told` writes an outcome as a row of numbers, where
    its length follows the data.
    """

    step: Measurement
    variables: Mapping[str, Variable]
    rows: tuple[tuple[Any, ...], ...]
    size: int | None = None
    fresh: Callable[[int], Measurement] | None = None
    run_at: RunAt | None = None
    told: Callable[[Outcome], Sequence[int]] | None = None


def on_cells(step: Measurement, **more: Any) -> MeasurementExample:
    return MeasurementExample(step=step, variables=VARIABLES, rows=ROWS, **more)


def on_values(step: Measurement, **more: Any) -> MeasurementExample:
    return MeasurementExample(step=step, variables={"x": VARIABLES["x"]}, rows=((-1,), (0,), (2,)), **more)


def on_weights(step: Measurement, **more: Any) -> MeasurementExample:
    weight = Variable(name="w", domain=Bounds(lower=Fraction(0), upper=Fraction(40), missing="0", outside="clamp"))
    rows = ((2, 40), (2, 3), (-1, 40))
    return MeasurementExample(step=step, variables={"x": VARIABLES["x"], "w": weight}, rows=rows, **more)


def on_labels(step: Measurement, **more: Any) -> MeasurementExample:
    return MeasurementExample(step=step, variables={UNLISTED.name: UNLISTED}, rows=(("x",), ("y",), ("a",)), **more)
