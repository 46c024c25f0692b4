"""The reference page of what can be combined: estimators, modifiers and shapes, each planned here and now.

`python tools/combinations_page.py` writes it; a test compares it with what is planned.
"""

from collections.abc import Iterable
from pathlib import Path

from dalenius.core import registry
from dalenius.testing.combinations import SHAPES
from dalenius_lab.combinations import Combination, combined, matrix

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "combinations.md"
HEAD = """# What can be combined

Every estimator with every modifier, as one number, as a table, and as a list with margins, in this order: ✓ is planned, a number is the reason below
for which it is refused. Made from the registry by `python tools/combinations_page.py`, by planning each of them; a test compares the page with the
plans, and the refusals with the list of those that are meant.

Modifiers can be combined with one another too, unless a reason below says otherwise or both are values of one key, as the two errors are; but bounds
are not learned for weighted rows, and weighted proportions are not resampled. A public size is used for one number of all rows, and a declared one is
left aside elsewhere.
"""
CLIPPED = "a person who is scaled down no longer has the squares of its values; totals of clipped persons are the measure `clipped_total`"


def made(cells: Iterable[Combination]) -> str:
    """The page of these cells."""
    by_name: dict[tuple[str, str], list[str]] = {}
    reasons: list[str] = []
    for cell in cells:
        mark = "✓"
        if cell.refusal:
            reasons += [] if cell.refusal in reasons else [cell.refusal]
            mark = str(reasons.index(cell.refusal) + 1)
        by_name.setdefault((cell.estimator, cell.modifiers[0]), []).append(mark)
    names = [modifier.name for modifier in combined()]
    clipped = str(len(reasons) + 1)
    lines = [f"| estimator | {' | '.join(name.replace('_', ' ') for name in names)} | clipped persons |"]
    lines.append("|---|" + "---|" * (len(names) + 1))
    for estimator in sorted({name for name, _ in by_name}):
        marks = [" ".join(by_name[estimator, name]) for name in names]
        is_sum = registry.get("estimators", estimator).degree == 1
        by_person = "✓ ✓ " + clipped if is_sum else " ".join([clipped] * len(SHAPES))
        lines.append(f"| {estimator.replace('_', ' ')} | {' | '.join(marks)} | {by_person} |")
    notes = [f"{place}. {reason}" for place, reason in enumerate([*reasons, f"Persons are clipped by measures of their own: {CLIPPED}."], 1)]  # fmt: skip
    return "\n".join([HEAD, *lines, "", "## Reasons", "", *notes]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(made(matrix()), encoding="utf-8")
