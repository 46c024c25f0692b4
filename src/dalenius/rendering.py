"""How results show themselves where people work: two lines of text, a grid of HTML, data frames and a picture of cells.

Labels come from documents and are never markup: every text is escaped. Nothing here knows more than a result does.
"""

from collections.abc import Container, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.errors import MissingExtra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame as PandasFrame
    from polars import DataFrame as PolarsFrame

    FloatArray = np.ndarray[Any, np.dtype[np.float64]]
else:
    # Packages of extras are imported where they are used.
    Axes = PandasFrame = PolarsFrame = FloatArray = Any

# Types that other modules share; what is defined here needs no list.
__all__ = ["Axes", "PandasFrame", "PolarsFrame"]

MOST_CELLS = 60
_MOST_ROWS = 60
_UNBROKEN = 16
_WITHOUT_FRAMES = (
    "`print(release)` shows the same numbers, and `dalenius.save(release, folder)` writes them to table.csv."
)
STYLE = (
    "<style>.dalenius{font-variant-numeric:tabular-nums}.dalenius table{border-collapse:collapse}.dalenius "
    "th,.dalenius td{padding:.25em .6em;text-align:left;vertical-align:top;border-bottom:1px solid #8884}.dalenius "
    "td.n,.dalenius th.n{text-align:right;white-space:nowrap}.dalenius td.w{white-space:nowrap}.dalenius "
    "small{opacity:.7}.dalenius p{margin:.3em 0}.dalenius .note{font-size:smaller;opacity:.7}.dalenius td "
    "small{display:block}.dalenius h2{font-size:1.05em;margin:.4em 0}.dalenius .total{font-weight:600}</style>"
)


def in_words(value: object) -> str:
    """A cell of a table of texts: numbers for readers, nothing where there is none.

    >>> in_words(1234), in_words(0.123456), in_words(None), in_words("army")
    ('1,234', '0.1235', '', 'army')
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 10_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def figure(path: object = None, *, width: float = 6.0, height: float = 3.5) -> Any:
    """The empty axes of a new figure.

    With a `path` the figure is one that no window or notebook shows: the host's backend stays what it is.
    """
    try:
        from matplotlib import figure as figures
        from matplotlib import pyplot
    except ImportError:
        raise MissingExtra("plot", "matplotlib") from None
    make: Any = pyplot.figure if path is None else figures.Figure
    return make(figsize=(width, height), layout="constrained").subplots()


def finish(axes: Any, path: object = None) -> Axes:
    """The axes as they were drawn, as pandas returns them; with a `path` their figure is written there."""
    from matplotlib.text import Text

    drawn = axes.figure
    for text in drawn.findobj(Text):
        # A dollar sign in a label is a dollar sign: "$50 to $100" is no formula.
        text.set_parse_math(False)
    if path is not None:
        drawn.savefig(path)
    done: Axes = axes
    return done


def two_lines(first: str, second: str) -> str:
    """The representation of a result: what it is, and what it says.

    >>> print(two_lines("Table of 3 cells", "standard error 1.4"))
    <Table of 3 cells
     standard error 1.4>
    """
    return f"<{first}\n {second}>"


def text_grid(columns: Mapping[str, Sequence[object]]) -> str:
    """Columns as lines of plain text, texts to the left and numbers to the right; long grids are cut, and say so.

    >>> print(text_grid({"city": ["Aarhus", "Ribe"], "value": [1900, 11]}))
    city    value
    Aarhus  1,900
    Ribe       11
    """
    length = max((len(column) for column in columns.values()), default=0)
    texts = {n for n, column in enumerate(columns.values()) if any(isinstance(value, str) for value in column)}
    values = zip(*(column[:_MOST_ROWS] for column in columns.values()), strict=True)
    rows = [list(columns), *([in_words(value) for value in row] for row in values)]
    more = [f"{length - _MOST_ROWS:,} more rows."] if length > _MOST_ROWS else []
    return "\n".join([text_lines(rows, texts), *more])


def text_lines(lines: Sequence[Sequence[str]], texts: Container[int]) -> str:
    """Rows as lines in columns, those of texts to the left and numbers to the right."""
    columns = []
    for place, column in enumerate(zip(*lines, strict=True)):
        width = max(map(len, column))
        columns.append([cell.ljust(width) if place in texts else cell.rjust(width) for cell in column])
    return "\n".join("  ".join(line).rstrip() for line in zip(*columns, strict=True))


def framed(content: str) -> str:
    """A piece of HTML with the style that notebooks need."""
    return f'{STYLE}<div class="dalenius">{content}</div>'


def paragraphs(*texts: str) -> str:
    """Texts one below the other, small; empty ones are left out."""
    return "".join(f"<p><small>{escape(text)}</small></p>" for text in texts if text)


def grid(
    title: str, heads: Sequence[str], lines: Sequence[Sequence[object]], *, labels: int, notes: Sequence[str] = ()
) -> str:
    """Return rows of texts as HTML; the first `labels` columns name a row, and long grids are cut."""
    sides = [""] * labels + [' class="n"'] * (len(heads) - labels)
    top = "".join(f"<th{side}>{escape(head)}</th>" for head, side in zip(heads, sides, strict=True))
    body = "".join(
        f"<tr>{''.join(_cell(str(text), side) for text, side in zip(line, sides, strict=True))}</tr>"
        for line in lines[:_MOST_ROWS]
    )
    more = f"{len(lines) - _MOST_ROWS:,} more rows." if len(lines) > _MOST_ROWS else ""
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return framed(f"<h2>{escape(title[:1].upper() + title[1:])}</h2>{table}{paragraphs(more, *notes)}")


def _cell(text: str, side: str) -> str:
    """A cell; short words such as a date are not broken."""
    style = ' class="w"' if not side and len(text) <= _UNBROKEN else side
    return f"<td{style}>{escape(text)}</td>"


def pandas_frame(columns: Mapping[str, Sequence[object]]) -> PandasFrame:
    """Columns as a pandas data frame (needs the extra `formats`)."""
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtra("formats", "pandas", instead=_WITHOUT_FRAMES) from None
    return pd.DataFrame(dict(columns))


def polars_frame(columns: Mapping[str, Sequence[object]]) -> PolarsFrame:
    """Columns as a polars data frame (needs the extra `formats`); whole numbers beside others become floats."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtra("formats", "polars", instead=_WITHOUT_FRAMES) from None
    return pl.DataFrame({name: pl.Series(name, _of_one_type(values)) for name, values in columns.items()})


def _of_one_type(values: Sequence[object]) -> list[object]:
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return [None if value is None else float(str(value)) for value in values]
    return list(values)


def draw_cells(
    labels: Sequence[str],
    values: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    *,
    wider: Sequence[FloatArray] = (),
    title: str = "",
    caption: str = "",
    path: object = None,
) -> Axes:
    """Every cell as a dot on its interval, thin on a `wider` one; of many the largest, and the caption says so."""
    order = np.arange(len(values))
    if len(values) > MOST_CELLS:
        largest = np.argsort(-np.nan_to_num(np.asarray(values, dtype=float), nan=-np.inf), kind="stable")
        order = np.sort(largest[:MOST_CELLS])
        caption = f"{caption} (the {MOST_CELLS} largest of {len(values):,} cells)"
    axes: Any = figure(path, height=1.2 + 0.22 * len(order))
    place = np.arange(len(order))[::-1]
    axes.hlines(place, np.asarray(lower)[order], np.asarray(upper)[order], linewidth=1.5)
    if len(wider):
        axes.hlines(place, *(np.asarray(end)[order] for end in wider), linewidth=0.5)
    axes.plot(np.asarray(values)[order], place, "o", markersize=3)
    axes.set_yticks(place, [labels[i] for i in order.tolist()], fontsize="x-small")
    axes.set_ylim(-0.7, len(order) - 0.3)
    axes.set_title(title, fontsize="medium", loc="left", wrap=True)
    axes.set_xlabel(caption, fontsize="small")
    finite = np.abs(np.concatenate([np.asarray(ends, dtype=float)[order] for ends in (values, lower, upper)]))
    if not np.isfinite(finite).any():
        # Names that were chosen have no number to stand at.
        axes.set_xticks([])
    elif np.nanmax(finite) >= 1000 and np.ptp(axes.get_xlim()) >= 20:
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.locator_params(axis="x", nbins=5)
    return finish(axes, path)
