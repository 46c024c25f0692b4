"""The outcome of a test in a notebook."""

from dalenius.core.estimate import TestResult, short
from dalenius.rendering import Axes, figure, finish, grid

__all__ = ["SignificanceDisplay"]


class SignificanceDisplay:
    def __init__(self, test: TestResult) -> None:
        self._test = test

    def html(self) -> str:
        """Return statistic, degrees of freedom and p-value as HTML."""
        freedom = "–" if self._test.degrees_of_freedom is None else str(self._test.degrees_of_freedom)
        line = [short(self._test.statistic), freedom, self._test.p_text]
        notes = [f"By {self._test.method}.", *self._test.assumptions]
        return grid(self._test.name, ["Statistic", "Degrees of freedom", "p-value"], [line], labels=0, notes=notes)

    def plot(self, path: object = None) -> Axes:
        """Draw the statistic against its simulated null distribution, where there is one."""
        axes = figure(path)
        simulated = self._test.details.get("simulated")
        if simulated is not None and len(simulated):
            axes.hist(simulated, bins=40, color="0.75", label="simulated under the null model")
        axes.axvline(self._test.statistic, linewidth=2, label=f"observed, p-value {self._test.p_text}")
        axes.set_xlabel("test statistic")
        axes.set_title(self._test.name, fontsize="medium")
        axes.legend(frameon=False, fontsize="small")
        return finish(axes, path)
