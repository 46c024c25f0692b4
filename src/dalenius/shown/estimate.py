"""An estimate in a notebook."""

from math import isfinite

from dalenius.core.estimate import Estimate, level, short
from dalenius.rendering import Axes, figure, finish, grid

__all__ = ["EstimateDisplay"]


class EstimateDisplay:
    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def html(self) -> str:
        estimate, interval = self._estimate, self._estimate.interval
        heads, line = ["Estimate", "Standard error"], [short(estimate.value), short(estimate.std_error)]
        notes = list(estimate.assumptions)
        if interval is not None:
            heads.append(f"{level(interval.confidence)} interval")
            line.append(f"{short(interval.lower)} – {short(interval.upper)}")
            notes.insert(0, f"Interval of the {interval.kind}.")
        return grid(estimate.name, heads, [line], labels=0, notes=notes)

    def plot(self, path: object = None) -> Axes:
        """Draw the estimate with its interval on one line."""
        estimate, axes = self._estimate, figure(path, height=1.6)
        if estimate.interval is not None:
            ends = (estimate.interval.lower, estimate.interval.upper)
            axes.hlines(0, *(end if isfinite(end) else estimate.value for end in ends), linewidth=2)
        axes.plot([estimate.value], [0], "o")
        axes.set_yticks([])
        axes.set_xlabel(estimate.name)
        return finish(axes, path)
