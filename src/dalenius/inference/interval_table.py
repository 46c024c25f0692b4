"""A released table with an interval for each cell: prints, draws and documents itself."""

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from dalenius.core.domain import Axis
from dalenius.core.estimate import Interval, Kind, figure, finish, level, short
from dalenius.core.law import FloatArray
from dalenius.errors import ParameterError


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalTable:
    """A value and an interval for each cell, flat in the order of the axes; structural zeros by position."""

    axes: tuple[Axis, ...]
    values: FloatArray
    lower: FloatArray
    upper: FloatArray
    confidence: float
    kind: Kind
    method: str
    is_simultaneous: bool
    notes: tuple[str, ...] = ()
    structural_zeros: frozenset[int] = frozenset()

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, labels: str | tuple[str, ...]) -> Interval:
        """The interval of the cell with these labels, one for each axis."""
        wanted = (labels,) if isinstance(labels, str) else labels
        place = 0
        for axis, label in zip(self.axes, wanted, strict=True):
            if label not in axis.labels:
                raise ParameterError(
                    f"There is no label {label!r} of {axis.name}; declared: {', '.join(axis.labels)}."
                )
            place = place * len(axis) + axis.labels.index(label)
        return self.at(place)

    def at(self, cell: int) -> Interval:
        """The interval of one cell by position."""
        return Interval(
            lower=float(self.lower[cell]),
            upper=float(self.upper[cell]),
            confidence=self.confidence,
            kind=self.kind,
            method=self.method,
        )

    def labels(self) -> list[tuple[str, ...]]:
        """Labels of every cell."""
        return list(product(*(axis.labels for axis in self.axes)))

    def __str__(self) -> str:
        together = ", all cells together" if self.is_simultaneous else ""
        lines = [
            f"{level(self.confidence)} intervals for each {self.kind}{together}",
            f"  method: {self.method}",
        ]
        cells = zip(self.labels(), self.values, self.lower, self.upper, strict=True)
        for place, (label, x, low, high) in enumerate(cells):
            ends = f"[{short(float(low))}, {short(float(high))}]"
            shown = "structural zero" if place in self.structural_zeros else ends
            lines.append(f"  {' | '.join(label):40s} {short(float(x)):>10s}  {shown}")
            if len(lines) > 202:
                lines.append(f"  … and {len(self) - 201} more")
                break
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def to_dict(self) -> dict[str, Any]:
        """For documents."""
        cells = zip(self.labels(), self.values, self.lower, self.upper, strict=True)
        return {
            "axes": [axis.name for axis in self.axes],
            "confidence": self.confidence,
            "kind": str(self.kind),
            "method": self.method,
            "is_simultaneous": self.is_simultaneous,
            "notes": list(self.notes),
            "structural_zeros": sorted(self.structural_zeros),
            "cells": [
                {"labels": list(label), "value": float(x), "lower": float(a), "upper": float(b)}
                for label, x, a, b in cells
            ],
        }

    def plot(self, path: object = None) -> Any:
        """Every cell with its interval."""
        drawn, axes = figure(path, height=1 + 0.2 * min(len(self), 100))
        place = np.arange(len(self))[::-1]
        axes.hlines(place, self.lower, self.upper, linewidth=1.5)
        axes.plot(self.values, place, "o", markersize=3)
        axes.set_yticks(place, [" | ".join(label) for label in self.labels()], fontsize="x-small")
        axes.set_xlabel(f"{level(self.confidence)} interval, {self.kind}", fontsize="small")
        return finish(drawn, path)
