"""Plans where people work with them: two lines in a terminal, a grid in a notebook."""

from collections.abc import Mapping
from functools import partial
from math import isfinite, nan
from typing import Any

from dalenius.algebra.tabulation import tidy
from dalenius.core.budget import Budget
from dalenius.core.plan import TablePlan, margin_of_error
from dalenius.core.release import Subject
from dalenius.rendering import grid, in_words, two_lines
from dalenius.shown.speech import expectation, is_margin_of_error, measured, name_of
from dalenius.shown.words import word
from dalenius.spec.guarantees import guarantee_of

__all__ = ["PlanDisplay"]


class PlanDisplay:
    def __init__(self, plan: TablePlan) -> None:
        self._plan = plan

    def lines(self) -> str:
        """Return what would be released, at which cost and with which error."""
        plan = self._plan
        error = f"{_error_of(plan.error)} (95 %)" if _has_margin(plan) else "error not known before"
        return two_lines(
            f"Plan of {_title(plan.subject) or _kind(plan)}: {_cells(plan.preview)}{plan.mechanism} ({plan.strategy})",
            f"{_amounts(plan.budget)}; cost {plan.cost}; {error}",
        )

    def html(self) -> str:
        plan, subject = self._plan, self._plan.subject or Subject()
        said = expectation(subject.measure, plan.preview, in_words, label=partial(name_of, subject))
        # How many ranks a quantile stands off, or how far a chosen cell falls short, is said in words.
        is_margin = _has_margin(plan) or not isfinite(plan.error)
        lines = [
            ("Cells", f"{plan.preview['cells']:,}" if "cells" in plan.preview else "–"),
            ("Guarantee", _amounts(plan.budget)),
            ("Noise", f"{plan.mechanism} ({plan.strategy})"),
            ("Cost", str(plan.cost)),
            *(_tables_of(plan) or ([("Margin of error (95%)", _error_of(plan.error))] if is_margin else [])),
        ]
        words = guarantee_of(plan)
        formal = f"{word('specialists')}: {words.formal}"
        notes = [words.plain, *said, str(plan.preview.get("universe", "")), *plan.notes, formal]
        heads = ["", "Known before any data are read"]
        return grid(f"Plan: {_title(plan.subject) or _kind(plan)}", heads, lines, labels=2, notes=notes)


def _tables_of(plan: TablePlan) -> list[tuple[str, str]]:
    lines = []
    for number, table in enumerate(plan.preview.get("tables", ()), start=1):
        # How far a chosen cell may fall short is no error of a number.
        error = margin_of_error(table) if "std_error" in table else nan
        size = _cells(table)
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


def _cells(preview: Mapping[str, Any]) -> str:
    cells = preview.get("cells")
    return "" if cells is None else f"{cells:,} cell{'' if cells == 1 else 's'}, "


def _amounts(budget: Budget) -> str:
    return " ".join(
        f"{name} {amount}" if name != "definition" else f"{amount}," for name, amount in budget.to_dict().items()
    )
