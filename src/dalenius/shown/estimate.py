"""An estimate in a notebook."""

from math import isfinite
from typing import TYPE_CHECKING

from dalenius.core.estimate import Estimate, level, short
from dalenius.rendering import figure, finish, grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EstimateDisplay"]


class EstimateDisplay:
    """One estimate as a grid and as a picture."""

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def html(self) -> str:
        """Return the number, its standard error and its interval as HTML."""
        heads, line = (["Estimate", "Standard error"], [short(self._estimate.value), short(self._estimate.std_error)])
        notes = list(self._estimate.assumptions)
        if self._estimate.interval is not None:
            heads.append(f"{level(self._estimate.interval.confidence)} interval")
            line.append(f"{short(self._estimate.interval.lower)} – {short(self._estimate.interval.upper)}")
            notes.insert(0, f"Interval of the {self._estimate.interval.kind}.")
        return grid(self._estimate.name, heads, [line], labels=0, notes=notes)

    def plot(self, path: object = None) -> "Axes":
        """Draw the estimate with its interval on one line."""
        axes = figure(path, height=1.6)
        if self._estimate.interval is not None:
            ends = [
                e if isfinite(e) else self._estimate.value
                for e in (self._estimate.interval.lower, self._estimate.interval.upper)
            ]
            axes.hlines(0, *ends, linewidth=2)
        axes.plot([self._estimate.value], [0], "o")
        axes.set_yticks([])
        axes.set_xlabel(self._estimate.name)
        return finish(axes, path)
