"""One table by itself: its labels, values and standard errors, without the words of a release."""

from dalenius import rendering
from dalenius.algebra import tabulation
from dalenius.core.release import Table

__all__ = ["TableDisplay"]


class TableDisplay:
    def __init__(self, table: Table) -> None:
        self._table = table

    def lines(self) -> str:
        """Return what is in the table, and how large its errors are."""
        size = self._table.space.size
        cells = "1 cell" if size == 1 else f"{size:,} cells"
        errors = tabulation.errors_in_words(self._table)
        return rendering.two_lines(f"Table of {cells}: {self._table.space.name}", f"{self._table.measure}, {errors}")

    def html(self) -> str:
        columns = tabulation.plain_columns(self._table)
        lines = list(zip(*(map(rendering.in_words, column) for column in columns.values()), strict=True))
        title = f"{self._table.measure.capitalize()}: {self._table.space.name}"
        return rendering.grid(title, list(columns), lines, labels=len(self._table.space.axes))

    def pandas(self) -> rendering.PandasFrame:
        return rendering.pandas_frame(tabulation.plain_columns(self._table))

    def polars(self) -> rendering.PolarsFrame:
        return rendering.polars_frame(tabulation.plain_columns(self._table))

    def plot(self, path: object = None) -> rendering.Axes:
        """Draw every cell with two standard errors of the noise."""
        table = self._table
        labels, half = [" | ".join(label) or "total" for label in table.space.labels()], 2 * table.std_error
        return rendering.draw_cells(
            labels,
            table.values,
            table.values - half,
            table.values + half,
            title=table.name,
            caption=f"{table.measure}, two standard errors of the noise",
            path=path,
        )
