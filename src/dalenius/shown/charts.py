"""Charts as SVG text: bars with interval whiskers, and a heat table.

No script and no style attribute: colours come from the style sheet through classes, so that a strict content security
policy and the reader's dark mode both hold. The table beside a chart is its text alternative.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

MOST_BARS = 60
MOST_COLUMNS = 24
_WIDTH, _LABEL, _VALUE, _ROW = 760, 190, 84, 24

Format = Callable[[float], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One number to draw, with the ends of its interval where they are known."""

    group: str
    label: str
    value: float | None
    lower: float | None = None
    upper: float | None = None
    is_unreliable: bool = False


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers that cover [low, high].

    >>> ticks(0, 97)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    >>> ticks(-3, 3)
    [-4.0, -2.0, 0.0, 2.0, 4.0]
    """
    if high <= low:
        high = low + 1
    rough = (high - low) / (most - 1)
    power = 10.0 ** floor(log10(rough))
    step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= rough * 0.999)
    first, last = floor(low / step), ceil(high / step)
    return [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def bars(marks: Sequence[Mark], *, title: str, description: str, show: Format) -> str:
    """Horizontal bars with whiskers, grouped under headings; at most `MOST_BARS` of them."""
    shown = [m for m in marks if m.value is not None][:MOST_BARS]
    ends = [0.0] + [e for m in shown for e in (m.value, m.lower, m.upper) if e is not None]
    # A few negative values beside large ones would waste a whole tick's width; they are drawn at the axis.
    scale = ticks(min(ends) if -min(ends) > 0.03 * max(ends) else 0.0, max(ends))
    low, high = scale[0], scale[-1]
    room = _WIDTH - _LABEL - _VALUE

    def x(value: float) -> float:
        return _LABEL + (max(value, low) - low) / (high - low) * room

    y, parts, group = 26.0, [], ""
    for mark in shown:
        if mark.group and mark.group != group:
            group = mark.group
            parts.append(f'<text class="group" x="4" y="{y + 15:.1f}">{_clip(group, 70)}</text>')
            y += _ROW
        parts.append(_bar(mark, y, x, show))
        y += _ROW
    height = y + 8
    lines = "".join(
        f'<line class="{"axis" if t == 0 else "grid"}" x1="{x(t):.1f}" x2="{x(t):.1f}" y1="20" y2="{height - 6:.1f}"/>'
        f'<text class="tick" x="{x(t):.1f}" y="13" text-anchor="middle">{escape(show(t))}</text>'
        for t in scale
    )
    return _svg(_WIDTH, height, lines + "".join(parts), title, description)


def _bar(mark: Mark, y: float, x: Callable[[float], float], show: Format) -> str:
    value = mark.value or 0.0
    left, right = sorted((x(0.0), x(value)))
    kind = "bar unreliable" if mark.is_unreliable else "bar"
    middle = y + _ROW / 2
    parts = [
        f'<text x="{_LABEL - 8}" y="{middle + 4:.1f}" text-anchor="end">{_clip(mark.label, 28)}</text>',
        f'<rect class="{kind}" x="{left:.1f}" y="{y + 4:.1f}" width="{max(right - left, 0.5):.1f}"'
        f' height="{_ROW - 8}" rx="2"/>',
    ]
    end = right
    if mark.lower is not None and mark.upper is not None:
        a, b = x(mark.lower), x(mark.upper)
        end = max(end, b)
        parts.append(
            f'<path class="whisker" d="M{a:.1f} {middle:.1f}H{b:.1f}M{a:.1f} {middle - 4:.1f}v8'
            f'M{b:.1f} {middle - 4:.1f}v8"/>'
        )
    sign = "\u2009‡" if mark.is_unreliable else ""
    parts.append(f'<text x="{end + 7:.1f}" y="{middle + 4:.1f}">{escape(show(value))}{sign}</text>')
    return "".join(parts)


def heat(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Sequence[Sequence[Mark]],
    *,
    title: str,
    description: str,
    show: Format,
) -> str:
    """A heat table: darker is more, the number is written into the cell, `‡` marks an unreliable one."""
    columns = list(columns)[:MOST_COLUMNS]
    width = max((_WIDTH - _LABEL) / max(len(columns), 1), 56.0)
    tall, top = 30, 12 + 62 * (max((len(c) for c in columns), default=0) * 6.6 > width) + 18
    largest = max((m.value or 0.0 for line in cells for m in line), default=0.0) or 1.0
    parts = []
    for j, column in enumerate(columns):
        centre = _LABEL + (j + 0.5) * width
        if top > 40:
            place = f'transform="translate({centre - 4:.1f} {top - 8}) rotate(-40)" text-anchor="start"'
        else:
            place = f'x="{centre:.1f}" y="{top - 8}" text-anchor="middle"'
        parts.append(f'<text class="tick" {place}>{_clip(column, 16)}</text>')
    for i, (row, line) in enumerate(zip(rows, cells, strict=False)):
        y = top + i * tall
        parts.append(f'<text x="{_LABEL - 8}" y="{y + 19}" text-anchor="end">{_clip(row, 28)}</text>')
        for j, mark in enumerate(line[: len(columns)]):
            parts.append(_tile(mark, _LABEL + j * width, y, width, tall, largest, show))
    wide = _LABEL + width * len(columns) + (40 if top > 40 else 4)
    return _svg(wide, top + tall * len(rows) + 6, "".join(parts), title, description)


def _tile(mark: Mark, x: float, y: float, width: float, tall: float, largest: float, show: Format) -> str:
    centre = f'x="{x + width / 2:.1f}" y="{y + tall / 2 + 4:.1f}" text-anchor="middle"'
    if mark.value is None:
        return f'<text class="tick" {centre}>–</text>'
    share = max(0.0, min(1.0, mark.value / largest))
    # Between a light and a full tile neither ink is readable enough, so that range is skipped.
    strength = 0.06 + share * 0.34 if share < 0.6 else 0.94 + (share - 0.6) * 0.15
    sign = "\u2009‡" if mark.is_unreliable else ""
    ink = ' class="on-dark"' if share >= 0.6 else ""
    return (
        f'<rect class="heat" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{tall:.1f}"'
        f' fill-opacity="{strength:.3f}"/><text{ink} {centre}>{escape(show(mark.value))}{sign}</text>'
    )


def _clip(text: str, most: int) -> str:
    return escape(text if len(text) <= most else text[: most - 1].rstrip() + "…")


def _svg(width: float, height: float, body: str, title: str, description: str) -> str:
    return (
        f'<svg class="chart" role="img" viewBox="0 0 {width:.0f} {height:.0f}" xmlns="http://www.w3.org/2000/svg">'
        f"<title>{escape(title)}</title><desc>{escape(description)}</desc>{body}</svg>"
    )
