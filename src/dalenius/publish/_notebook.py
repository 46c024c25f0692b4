"""Releases and plans where people work with them: two lines in a terminal, tables and pictures in a notebook."""

from functools import partial
from html import escape
from math import isfinite, nan
from typing import TYPE_CHECKING

from dalenius.core.budget import Budget
from dalenius.core.estimate import level
from dalenius.core.plan import TablePlan, margin_of_error
from dalenius.core.release import Release, Subject, Table
from dalenius.linear.answers import labelled_table
from dalenius.linear.display import displayed
from dalenius.linear.notebook import draw_cells, framed, grid, paragraphs, text_grid, two_lines
from dalenius.linear.tabulation import SELECTION, bounds, columns, errors_in_words, in_words, tidy
from dalenius.publish._crossed import crossed
from dalenius.spec.answer import as_read
from dalenius.spec.speech import (
    caption,
    classified,
    conditions,
    expectation,
    has_error,
    heading,
    is_margin_of_error,
    measured,
    name_of,
    title_of_release,
    unit_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_TABLES = 4
_MOST_ROWS = 40


def release_lines(release: Release) -> str:
    """What was released of which data, and how large the errors are."""
    release = as_read(release)
    source, subject = release.provenance, release.about
    if not release.tables:
        return two_lines(f"Release of {source.dataset} {source.version}", "the outcome was 'no reply'")
    title = subject.title or title_of_release(release)
    others = 0 if release.members else len(release.tables) - 1
    more = f" and {others} more table{'' if others == 1 else 's'}" if others else ""
    amounts = ", ".join(f"{name} {amount}" for name, amount in source.budget.items() if name != "definition")
    cells = f"{release.table.space.size:,} cells" if release.table.space.size > 1 else "1 cell"
    if release.members:
        size = f"{len(release.members)} tables charged as one"
    else:
        size = f"{cells}, {errors_in_words(release.table)}"
    return two_lines(
        f"Release of {source.dataset} {source.version}: {title}{more}",
        f"{size}, {source.definition} {amounts}, {release.status}",
    )


def release_text(release: Release, confidence: float = 0.95) -> str:
    """Every table as lines of plain text, up to a few, with universe and guarantee below; needs no extra."""
    release = as_read(release)
    every = [(part, table) for part in release.parts for table in part.tables]
    tables = [_text_of_table(part, table, confidence) for part, table in every[:_MOST_TABLES]]
    left_out = len(every) - _MOST_TABLES
    more = f"{left_out} more table{'' if left_out == 1 else 's'}: release.tables." if left_out > 0 else ""
    silent = "" if every else "The outcome was 'no reply'. It was charged like any other."
    subject, source = release.about, release.provenance
    only = f"Only {'; '.join(conditions(subject))}." if subject.where else ""
    notes = "\n".join(filter(None, (only, subject.universe, source.guarantee)))
    return "\n\n".join(filter(None, (subject.title, *tables, more, silent, notes)))


def _text_of_table(release: Release, table: Table, confidence: float) -> str:
    """Heading, one line per cell, and what the ends are; columns without a number are left out."""
    filled = {
        name: cells
        for name, cells in columns(release, table, confidence).items()
        if set(cells) - {None, "released"}
    }
    ends = f"lower and upper: {level(confidence)} interval for privacy noise."
    below = ends if "lower" in filled else "" if table.measure == SELECTION else caption(release, table)
    unit = unit_of(release, table)
    head = heading(release, table) + (f" ({unit})" if unit else "")
    return "\n".join(filter(None, (head, text_grid(filled), below)))


def release_html(release: Release, confidence: float = 0.95) -> str:
    """Every table crossed as it was asked for, up to a few, with the guarantee below."""
    release = as_read(release)
    source, subject = release.provenance, release.about
    title = f"<h2>{escape(subject.title)}</h2>" if subject.title else ""
    only = f"Only {'; '.join(conditions(subject))}." if subject.where else ""
    every = [(part, one) for part in release.parts for one in displayed(part)]
    tables = "".join(
        _of_batch(part, crossed(part, one, confidence, _MOST_ROWS))
        if release.members
        else crossed(part, one, confidence, _MOST_ROWS)
        for part, one in every[:_MOST_TABLES]
    )
    left_out = len(release.tables) - _MOST_TABLES
    where = "release.members" if release.members else "release.tables"
    more = f"{left_out} more table{'' if left_out == 1 else 's'}: {where}." if left_out > 0 else ""
    silent = "" if release.tables else "The outcome was 'no reply'. It was charged like any other."
    # A guarantee may say what a warning says.
    warnings = (warning for warning in source.warnings if warning not in source.guarantee)
    notes = (more, silent, only, subject.universe, source.guarantee, *warnings)
    return framed(title + tables + paragraphs(*dict.fromkeys(notes)))


def _of_batch(part: Release, table: str) -> str:
    """A table of a batch between its own words: the title above, whose records it counts below."""
    only = f"Only {'; '.join(conditions(part.about))}." if part.about.where else ""
    title = f"<h2>{escape(part.about.title)}</h2>" if part.about.title else ""
    return f'<div style="margin-bottom:1.2em">{title}{table}{paragraphs(only, part.about.universe)}</div>'


def draw_release(release: Release, table: Table, path: object, confidence: float) -> "Axes":
    """One table: every cell as a dot on its interval, where there is one."""
    stored, release = release, as_read(release)
    table = labelled_table(stored, release, table)
    lower, upper = bounds(release, table, confidence)
    # One number is named by the title.
    labels = [" | ".join(label) if classified(release, table) else "" for label in table.space.labels()]
    caption = f"value, {level(confidence)} margin of error (privacy noise)" if has_error(table) else "value"
    title = heading(release, table)
    if table.measure == SELECTION:
        labels, caption = [f"selected: {label}" for label in labels], ""
    return draw_cells(labels, table.values, lower, upper, title=title, caption=caption, path=path)


def plan_lines(plan: TablePlan) -> str:
    """What would be released, at which cost and with which error."""
    error = f"{_error_of(plan.error)} (95 %)" if _has_margin(plan) else "error not known before"
    return two_lines(
        f"Plan of {_title(plan.subject) or _kind(plan)}: {_cells(plan)}{plan.mechanism} ({plan.strategy})",
        f"{_amounts(plan.budget)}; cost {plan.cost}; {error}",
    )


def plan_html(plan: TablePlan) -> str:
    """The same as a table, with what to expect in words."""
    subject = plan.subject or Subject()
    said = expectation(subject.measure, plan.preview, in_words, label=partial(name_of, subject))
    # How many ranks a quantile stands off, or how far a chosen cell falls short, is said in words.
    is_margin = _has_margin(plan) or not isfinite(plan.error)
    lines = [
        ("Cells", f"{plan.preview['cells']:,}" if "cells" in plan.preview else "–"),
        ("Promise", _amounts(plan.budget)),
        ("Noise", f"{plan.mechanism} ({plan.strategy})"),
        ("Cost", str(plan.cost)),
        *(_tables_of(plan) or ([("Margin of error (95%)", _error_of(plan.error))] if is_margin else [])),
    ]
    notes = [*said, str(plan.preview.get("universe", "")), *plan.notes]
    return grid(
        f"Plan: {_title(plan.subject) or _kind(plan)}",
        ["", "Known before any data are read"],
        lines,
        labels=2,
        notes=notes,
    )


def _tables_of(plan: TablePlan) -> list[tuple[str, str]]:
    """What each table of a batch would be like."""
    lines = []
    for number, table in enumerate(plan.preview.get("tables", ()), start=1):
        # How far a chosen cell may fall short is no error of a number.
        error = margin_of_error(table) if "std_error" in table else nan
        size = f"{table['cells']:,} cell{'' if table['cells'] == 1 else 's'}, " if "cells" in table else ""
        lines.append((f"Table {number}", f"{size}{table['mechanism']}, margin of error {_error_of(error)}"))
    return lines


def _has_margin(plan: TablePlan) -> bool:
    """Whether the error of a plan is that of the numbers that it would show."""
    method = plan.subject.measure if plan.subject else ""
    return isfinite(plan.error) and (not method or is_margin_of_error(method))


def _error_of(error: float) -> str:
    return f"± {in_words(tidy(error))}" if isfinite(error) else "not known before"


def _title(subject: Subject | None) -> str:
    if subject is None or not subject.measure:
        return subject.title if subject else ""
    by = ", ".join(name_of(subject, axis) for axis in subject.order)
    return subject.title or f"{measured(subject)}{' by ' + by if by else ''}"


def _kind(plan: TablePlan) -> str:
    tables = plan.preview.get("tables")
    return f"a batch of {len(tables)} tables" if tables else "a table"


def _cells(plan: TablePlan) -> str:
    cells = plan.preview.get("cells")
    return "" if cells is None else f"{cells:,} cell{'' if cells == 1 else 's'}, "


def _amounts(budget: Budget) -> str:
    return " ".join(
        f"{name} {amount}" if name != "definition" else f"{amount},"
        for name, amount in budget.to_dict().items()
    )
