"""The empty table of a builder's state: headings and stub, before anything is released."""

from dataclasses import dataclass
from itertools import islice, pairwise, product
from math import ceil, prod

from dalenius.core.rationals import rational
from dalenius.errors import ParameterError
from dalenius.server.pages.state import AxisChoice, TableState
from dalenius.server.pages.wording import Wording
from dalenius.server.views import DatasetView, VariableView

_MOST_LINES, _MOST_COLUMNS = 14, 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    heads: tuple[tuple[tuple[str, int], ...], ...]
    lines: tuple[tuple[tuple[str, int], ...], ...]
    stub: int
    columns: int
    more_columns: int
    more_lines: int
    layers: tuple[str, ...]
    sheets: int
    cells: int


def labels_of(
    choice: AxisChoice, dataset: DatasetView, wording: Wording, ends: tuple[str, str] = ("", "")
) -> tuple[str, ...]:
    """Labels of an axis, as the request will have them; `ends` are those of a condition on its variable."""
    variable = dataset.variable(choice.variable)
    if variable is None:
        return ()
    if choice.cuts:
        limits = [wording.typed(cut) for cut in _limits(choice, variable, ends)]
        return tuple(f"{a} – {b}" for a, b in pairwise(limits))
    if choice.level == "*" and choice.groups:
        return tuple(name for name, _ in choice.groups)
    for level in variable.levels:
        if level.name == choice.level:
            return tuple(wording.translate_label(dataset, choice.variable, group) for group in level.groups)
    kept = choice.picks or variable.categories
    return tuple(wording.translate_label(dataset, choice.variable, label) for label in kept)


def shape_of(state: TableState, dataset: DatasetView, wording: Wording) -> Shape | None:
    """The shape of a state; nothing while no variable is placed."""
    if state.is_empty:
        return None
    rows, columns, sheets_of = (
        [labels_of(c, dataset, wording, state.ranges.get(c.variable, ("", ""))) for c in choices]
        for choices in (state.rows, state.columns, state.layers)
    )
    sheets = prod(map(len, sheets_of))
    all_columns, all_lines = prod(map(len, columns)), prod(map(len, rows))
    shown = min(all_columns, _MOST_COLUMNS)
    return Shape(
        heads=_heads(columns, shown),
        lines=_lines(rows) if rows else (((wording.t("builder.whole"), 1),),),
        stub=max(len(rows), 1),
        columns=shown,
        more_columns=all_columns - shown,
        more_lines=max(all_lines - _MOST_LINES, 0),
        layers=tuple(wording.label(dataset, c.variable) for c in state.layers),
        sheets=sheets,
        cells=all_columns * all_lines * sheets,
    )


def _heads(axes: list[tuple[str, ...]], most: int) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Column headings, cut after `most` columns."""
    heads = []
    repeat, below = 1, prod(map(len, axes))
    for labels in axes:
        below //= max(len(labels), 1)
        head = []
        for number, label in enumerate(label for _ in range(repeat) for label in labels):
            room = most - number * below
            if room <= 0:
                break
            head.append((label, min(below, room)))
        heads.append(tuple(head))
        repeat *= len(labels)
    return tuple(heads)


def _lines(axes: list[tuple[str, ...]]) -> tuple[tuple[tuple[str, int], ...], ...]:
    """The stub, cut after a few lines; a label spans the lines below that share it."""
    spans = [prod(len(labels) for labels in axes[i + 1 :]) for i in range(len(axes))]
    total = min(prod(map(len, axes)), _MOST_LINES)
    return tuple(
        tuple((label, min(span, total - n)) for label, span in zip(labels, spans, strict=True) if n % span == 0)
        for n, labels in enumerate(islice(product(*axes), total))
    )


def _limits(choice: AxisChoice, variable: VariableView, ends: tuple[str, str]) -> tuple[str, ...]:
    """Limits of the classes, with the declared bounds at ends that the condition on the variable leaves open."""
    if choice.is_closed or not variable.bounds:
        return choice.cuts
    (low, high), step = variable.bounds, rational(variable.step or "1")
    try:
        first, last = rational(choice.cuts[0]), rational(choice.cuts[-1])
        is_open_below = first > max(rational(low), ceil(rational(ends[0] or low) / step) * step)
        is_open_above = last < rational(high) and last <= rational(ends[1] or high)
    except ParameterError:
        # What was typed is no number; planning says so.
        return choice.cuts
    limits = (*((low,) if is_open_below else ()), *choice.cuts, *((high,) if is_open_above else ()))
    return limits if len(limits) > 1 else (low, high)
