"""O'Keefe & Charest (2018), Bootstrap differential privacy: Tables 1 to 4, Figures 1 to 3 (rice farms), 5.1, Theorem 4.

`ours` follows the paper, whose sensitivities hold when everybody knows who is in which cell; `corrected` is what
holds when cell membership is private. The farms are Indonesian, the totals are net output, the variety "Both" is
`mixed`. The figures print no numbers: quartiles of 1,000 replicates of our own mechanisms are given for the record.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dalenius.audit.black_box import bootstrap_sensitivity
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.query import Power, RowFunction, TableQuery
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.demo.tables import load
from dalenius.exact.accuracy import coverage, half_width
from dalenius.measurements.bootstrap_totals import BootstrapTotals, Option
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership
from dalenius_lab.reproductions.items import Row, corrected, pyplot, row, save

STATUS = ("mixed", "owner", "share")
VARIETIES = {"high": "High", "mixed": "Both", "trad": "Trad"}
CELLS = [f"{s.capitalize()} x {v}" for s in STATUS for v in VARIETIES.values()]
PRIVATE, PUBLIC = Membership.PRIVATE, Membership.PUBLIC
_NEAR = Neighbours(relation=Relation.REPLACE, scope=Scope.OBSERVED_ROWS)

_TABLE1 = {
    "n": "33 7 171 227 41 468 34 2 43",
    "total": "56965 11187 189528 416820 76917 436757 58669 1105 25236",
    "max": "900 3400 3200 17610 12000 8100 14520 705 2000",
    "min": "234 800 180 82 200 42 184 400 100",
}
_TABLE2 = "8766 2600 3020 17528 11800 8058 14336 305 1900"
_TABLE3 = "15.39 23.24 1.59 4.21 15.34 1.84 24.44 27.60 7.53"
_TABLE4 = "2.009 6.773 5.831 1.005 1.492 2.185 1.228 57.738 9.268"


@dataclass(frozen=True)
class Farms:
    """Owners (cells) and values of the 1,026 rows, and what follows cell by cell."""

    cell: IntArray
    value: IntArray

    def each(self, function: Callable[[IntArray], int]) -> IntArray:
        """A function of the values of each cell."""
        return np.array([function(self.value[self.cell == c]) for c in range(9)], dtype=np.int64)

    @property
    def totals(self) -> IntArray:
        """Net output by cell."""
        return self.each(lambda x: int(x.sum()))

    @property
    def extremes(self) -> tuple[IntArray, IntArray]:
        """Smallest and largest value by cell."""
        return self.each(lambda x: int(x.min())), self.each(lambda x: int(x.max()))


@cache
def farms() -> Farms:
    """The shipped rice farms, classified as in the paper."""
    rows = load("ricefarms").rows
    cell = [STATUS.index(r["status"]) * 3 + list(VARIETIES).index(r["varieties"]) for r in rows]
    return Farms(np.array(cell, dtype=np.int64), np.array([int(r["noutput"]) for r in rows], dtype=np.int64))


def magnitude_table() -> MagnitudeTable:
    """Status x Varieties, net output declared in [0, 20000]."""
    axes = (
        Axis(variable="status", labels=STATUS, codes=(0, 1, 2)),
        Axis(variable="varieties", labels=tuple(VARIETIES), codes=(0, 1, 2)),
    )
    query = TableQuery(space=CellSpace(axes), function=RowFunction.of(Power("noutput")))
    return MagnitudeTable(query=query, low=0, high=20_000, is_complete=True)


def mechanism(option: Option, membership: Membership, epsilon: Fraction = Fraction(1)) -> BootstrapTotals:
    """Our mechanism in one of its options."""
    return BootstrapTotals(
        name="net output",
        statistic=magnitude_table(),
        neighbours=_NEAR,
        epsilon=epsilon,
        option=option,
        membership=membership,
    )


def sensitivities(membership: Membership) -> list[int]:
    """Of single cell totals: the range of a cell, or with private membership the range together with zero."""
    minima, maxima = farms().extremes
    if membership is PUBLIC:
        return [int(b - a) for a, b in zip(minima, maxima, strict=True)]
    return [max(int(b), 0) - min(int(a), 0) for a, b in zip(minima, maxima, strict=True)]


def table1(full: bool = False) -> list[Row]:
    """Number, total, maximum and minimum of each cell."""
    data = farms()
    minima, maxima = data.extremes
    ours = {"n": data.each(len), "total": data.totals, "max": maxima, "min": minima}
    rows = []
    for name, printed in _TABLE1.items():
        for cell, text, value in zip(CELLS, printed.split(), ours[name].tolist(), strict=True):
            wrong = "misprint" if text != str(value) else None
            rows.append(row(f"{cell}: {name}", text, value, verdict=wrong))
    return rows


def _cells(printed: str, of: Callable[[int, int], float]) -> list[Row]:
    """One row a cell: the paper's number, ours with its sensitivity, and with that for private membership."""
    public, private = sensitivities(PUBLIC), sensitivities(PRIVATE)
    return [
        row(cell, text, of(i, public[i]), corrected=of(i, private[i]))
        for i, (cell, text) in enumerate(zip(CELLS, printed.split(), strict=True))
    ]


def table2(full: bool = False) -> list[Row]:
    """Sensitivities of single cells, and of the whole table (section 5.3.2)."""
    whole = {m: magnitude_table().bootstrap(farms().cell, farms().value, _NEAR, m) for m in (PUBLIC, PRIVATE)}
    return [*_cells(_TABLE2, lambda i, v: v), corrected("whole table", "17528", whole[PUBLIC], whole[PRIVATE])]


def table3(full: bool = False) -> list[Row]:
    """Sensitivity in per cent of the total."""
    totals = farms().totals
    return _cells(_TABLE3, lambda i, v: 100 * v / int(totals[i]))


def table4(full: bool = False) -> list[Row]:
    """Gain in accuracy over a declared maximum of 17,610."""
    largest = int(farms().value.max())
    return _cells(_TABLE4, lambda i, v: largest / v)


@cache
def replicates(option: Option, membership: Membership, epsilon: Fraction) -> NDArray[np.float64]:
    """1,000 tables of our mechanism, with a recorded source: the data are public."""
    step = mechanism(option, membership, epsilon)
    rng = RecordedRandomness(f"bdp {option} {membership} {epsilon}")
    exact = tuple(Sealed(a) for a in (farms().totals, *farms().extremes))
    estimates = []
    for _ in range(1000):
        outcome = step.run(exact, step.draw(rng), rng)
        estimates.append(outcome.values)  # type: ignore[union-attr]
    return np.array(estimates, dtype=np.float64)


def _quartiles(name: str, published: NDArray[np.float64], corrected: NDArray[np.float64]) -> list[Row]:
    rows = []
    for i, cell in enumerate(CELLS):
        for q, label in ((25, "lower quartile"), (50, "median"), (75, "upper quartile")):
            ours, better = (float(np.percentile(a[:, i], q)) for a in (published, corrected))
            rows.append(row(f"{name}{cell}: {label}", None, ours, corrected=better))
    return rows


def _single() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each cell by itself at epsilon 1: the range of the cell as published; its largest value if membership is private.

    Under option per_cell with private membership the scale is 2 M_i / epsilon, so epsilon 2 gives M_i for one cell.
    """
    one = Fraction(1)
    return (replicates(Option.PER_CELL, PUBLIC, one), replicates(Option.PER_CELL, PRIVATE, 2 * one))


def figure1(full: bool = False) -> list[Row]:
    """Totals of single cells."""
    return _quartiles("", *_single())


def figure2(full: bool = False) -> list[Row]:
    """Relative bias in per cent of single cells."""
    totals = farms().totals
    published, corrected = (100 * (a - totals) / totals for a in _single())
    return _quartiles("", published, corrected)


def figure3(full: bool = False) -> list[Row]:
    """The whole table by options (i) and (ii)."""
    one = Fraction(1)
    first = [replicates(Option.ONE, m, one) for m in (PUBLIC, PRIVATE)]
    second = [replicates(Option.PER_CELL, PUBLIC, one / 9), replicates(Option.PER_CELL, PRIVATE, one)]
    return [*_quartiles("(i) ", first[0], first[1]), *_quartiles("(ii) ", second[0], second[1])]


def _draw(name: str) -> Callable[[Path, bool], Path]:
    def draw(directory: Path, full: bool) -> Path:
        one = Fraction(1)
        if name == "bdp.figure3":
            pairs = [
                ("(i), membership public (as published)", replicates(Option.ONE, PUBLIC, one)),
                ("(i), membership private", replicates(Option.ONE, PRIVATE, one)),
                ("(ii), epsilon/9 (as published)", replicates(Option.PER_CELL, PUBLIC, one / 9)),
                ("(ii), membership private", replicates(Option.PER_CELL, PRIVATE, one)),
            ]
        else:
            pairs = list(zip(("membership public (as published)", "membership private"), _single(), strict=True))
        figure, axes = pyplot().subplots(1, len(pairs), figsize=(5 * len(pairs), 4.5), sharey=True)
        totals = farms().totals
        for axis, (title, values) in zip(axes, pairs, strict=True):
            shown = 100 * (values - totals) / totals if name == "bdp.figure2" else values
            axis.boxplot(shown, tick_labels=CELLS)
            axis.set_title(title)
            axis.tick_params(axis="x", rotation=60)
        axes[0].set_ylabel("relative bias (%)" if name == "bdp.figure2" else "net output (kg)")
        figure.tight_layout()
        return save(figure, directory, name)

    return draw


def counts(full: bool = False) -> list[Row]:
    """Bootstrap sensitivities of 5.1, each by enumeration of every data set made of the rows at hand.

    The examples of one count are right. A replaced row leaves one cell of a table and enters another: 2, not 1, unless
    everybody knows who is in which cell.
    """

    def odd(data: Sequence[int]) -> int:
        return sum(value % 2 for value in data)

    def table(data: Sequence[int]) -> tuple[int, int]:
        return odd(data), len(data) - odd(data)

    examples = {
        "odd numbers of {1, 2, 3}": ((1, 2, 3), "1"),
        "of {2, 4, 6}": ((2, 4, 6), "0"),
        "of {1, 3, 5}": ((1, 3, 5), "0"),
    }
    rows = [
        row(f"count: {name}", printed, int(bootstrap_sensitivity(odd, data).found))
        for name, (data, printed) in examples.items()
    ]
    change = int(bootstrap_sensitivity(table, (1, 2, 3)).found)
    return [*rows, corrected("table of odd and even", "1", 1, change)]


def accuracy(full: bool = False) -> list[Row]:
    """Theorem 4: the probability that every cell is within ln(k / gamma) scales; printed "at least gamma", it is (1 -
    gamma / k)^k.
    """
    rows = []
    for cells in (1, 4, 9):
        for gamma in ("0.05", "0.5"):
            # One Laplace variable is within t scales with probability 1 - exp(-t).
            inside = 1 - np.exp(-half_width(cells, float(gamma), sensitivity=1, epsilon=1))
            assert abs(inside**cells - coverage(cells, float(gamma))) < 1e-12
            rows.append(
                corrected(f"at least, k = {cells}, gamma = {gamma}", gamma, float(gamma), coverage(cells, float(gamma)))
            )
    return rows


PLOTS = {name: _draw(name) for name in ("bdp.figure1", "bdp.figure2", "bdp.figure3")}
