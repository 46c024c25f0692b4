"""A released table with an interval for each cell: prints, draws and documents itself."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from dalenius.algebra.tabulation import cells_in_order, header, tidy_list
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.estimate import Interval, Kind, level, p_words, short
from dalenius.core.law import FloatArray
from dalenius.core.release import Table
from dalenius.errors import ParameterError
from dalenius.rendering import Axes, PandasFrame, PolarsFrame, draw_cells, grid, pandas_frame, polars_frame, two_lines


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalTable:
    """A value and an interval for each cell, flat in the order of the axes; structural zeros by position.

    Of comparisons also the p-values of equality, adjusted by Holm's steps.
    """

    axes: tuple[Axis, ...]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    kind: Kind
    method: str
    is_simultaneous: bool
    title: str = ""
    notes: tuple[str, ...] = ()
    structural_zeros: frozenset[int] = frozenset()
    p_values: FloatArray | None = None

    @classmethod
    def of(cls, table: Table, ends: tuple[FloatArray, FloatArray], **stated: Any) -> "IntervalTable":
        """The cells of a shown table between their ends; `stated` are the other fields."""
        zeros, (lower, upper) = frozenset(table.space.structural_indices), ends
        given: dict[str, Any] = {"values": table.values, "is_simultaneous": False} | stated
        return cls(axes=table.space.axes, lower=lower, upper=upper, structural_zeros=zeros, **given)

    def in_order(self, order: Sequence[int]) -> "IntervalTable":
        if list(order) == list(range(len(self.axes))):
            return self
        places = cells_in_order(CellSpace(self.axes), order)
        zeros = frozenset(place for place, cell in enumerate(places.tolist()) if cell in self.structural_zeros)
        columns = {name: getattr(self, name)[places] for name in ("values", "lower", "upper")}
        return replace(self, axes=tuple(self.axes[axis] for axis in order), structural_zeros=zeros, **columns)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, labels: str | tuple[str, ...]) -> Interval:
        """The interval of the cell with these labels, one for each axis."""
        return self.at(self.place(*((labels,) if isinstance(labels, str) else labels)))

    def place(self, *labels: str) -> int:
        """The position of the cell with these labels, one for each axis."""
        place = 0
        for axis, label in zip(self.axes, labels, strict=True):
            if label not in axis.labels:
                raise ParameterError(f"There is no label {label!r} of {axis.name}; declared: {', '.join(axis.labels)}.")
            place = place * len(axis) + axis.labels.index(label)
        return place

    def at(self, cell: int) -> Interval:
        stated: dict[str, Any] = {"confidence": self.confidence, "kind": self.kind, "method": self.method}
        return Interval(lower=float(self.lower[cell]), upper=float(self.upper[cell]), **stated)

    def labels(self) -> list[tuple[str, ...]]:
        return list(product(*(axis.labels for axis in self.axes)))

    def _shown(self, between: str) -> list[tuple[str, str, str]]:
        """The value, the interval and the p-value of each cell in words."""
        p_values = [""] * len(self) if self.p_values is None else [p_words(p) for p in self.p_values.tolist()]
        words = [
            (short(x), between.format(short(low), short(high)), p)
            for x, low, high, p in zip(*(c.tolist() for c in self._numbers), p_values, strict=True)
        ]
        for place in self.structural_zeros:
            words[place] = (words[place][0], "structural zero", "")
        return words

    @property
    def _numbers(self) -> tuple[FloatArray, ...]:
        return self.values, self.lower, self.upper

    def __str__(self) -> str:
        together = ", all cells together" if self.is_simultaneous else ""
        lines = [self.title] if self.title else []
        lines += [f"{level(self.confidence)} intervals for each {self.kind}{together}", f"  method: {self.method}"]
        for label, (x, ends, p) in zip(self.labels(), self._shown("[{}, {}]"), strict=True):
            lines.append(f"  {' | '.join(label):40s} {x:>10s}  {ends}{p and f'  p = {p}'}")
            if len(lines) > 203:
                lines.append(f"  … and {len(self) - 201} more")
                break
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        p_values = [{}] * len(self) if self.p_values is None else [{"p_value": p} for p in self.p_values.tolist()]
        cells = zip(self.labels(), *(column.tolist() for column in self._numbers), p_values, strict=True)
        return {
            **({"title": self.title} if self.title else {}),
            "axes": [axis.name for axis in self.axes],
            "confidence": self.confidence,
            "kind": str(self.kind),
            "method": self.method,
            "is_simultaneous": self.is_simultaneous,
            "notes": list(self.notes),
            "structural_zeros": sorted(self.structural_zeros),
            "cells": [
                {"labels": list(label), "value": x, "lower": low, "upper": high, **p_value}
                for label, x, low, high, p_value in cells
            ],
        }

    def __repr__(self) -> str:
        together = " together" if self.is_simultaneous else ""
        names = " x ".join(axis.name for axis in self.axes) or "total"
        return two_lines(
            self.title or f"Intervals of {len(self)} cells: {names}",
            f"{level(self.confidence)}{together}, {self.kind}, by {self.method}",
        )

    def _columns(self) -> dict[str, list[object]]:
        """One list a column: labels, value, and the ends of the interval."""
        table = CellSpace(self.axes)
        numbers = (tidy_list(column) for column in self._numbers)
        labels = list(zip(*self.labels(), strict=True)) or []
        status = ["structural zero" if i in self.structural_zeros else "released" for i in range(len(self))]
        heads = [name for name in header(table) if name != "std_error"]
        columns = dict(zip(heads, [*map(list, labels), *numbers, status], strict=True))
        return columns if self.p_values is None else columns | {"p_value": self.p_values.tolist()}

    def to_frame(self) -> PandasFrame:
        """A pandas data frame, one row a cell (needs the extra `formats`)."""
        return pandas_frame(self._columns())

    def to_polars(self) -> PolarsFrame:
        """A polars data frame, one row a cell (needs the extra `formats`)."""
        return polars_frame(self._columns())

    def _repr_html_(self) -> str:
        shown = zip(self.labels(), self._shown("{} – {}"), strict=True)
        tests = [] if self.p_values is None else ["p by Holm"]
        lines = [[*label, *words[: 2 + len(tests)]] for label, words in shown]
        heads = [*(axis.name for axis in self.axes), "Value", f"{level(self.confidence)} interval", *tests]
        together = " All intervals hold together." if self.is_simultaneous else ""
        notes = [f"Intervals of each {self.kind}, by {self.method}.{together}", *self.notes]
        return grid(self.title or "Intervals of each cell", heads, lines, labels=len(self.axes), notes=notes)

    def plot(self, path: object = None) -> Axes:
        """Every cell with its interval; of many cells the largest."""
        labels = [" | ".join(label) for label in self.labels()]
        caption = f"{level(self.confidence)} interval, {self.kind}"
        return draw_cells(labels, self.values, self.lower, self.upper, caption=caption, path=path)
