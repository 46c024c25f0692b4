"""Whether data have the columns that a document declares, said without a word of what the data hold."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dalenius.core.domain import Variable
from dalenius.errors import DocumentError, UnknownName

_MOST_NAMES = 12


def check_columns(
    declared: Sequence[str], present: Mapping[str, Any], is_nested: Callable[[Any], bool] = lambda _: False
) -> None:
    """Refuse data without a declared column, or with one of a kind that holds more than plain values.

    Names that stand in a file are its content: the first line of a file without a header is a person's record. So only
    declared names are shown, never one that was read.
    """
    missing = [name for name in declared if name not in present]
    if missing:
        shown = ", ".join(repr(name) for name in missing[:_MOST_NAMES])
        shown += ", …" if len(missing) > _MOST_NAMES else ""
        raise UnknownName(
            f"The data lack {len(missing)} of {len(declared)} declared columns: {shown}. Names must be equal letter by "
            "letter, and a CSV file begins with a header line that holds them.",
            kind="column",
            missing=missing,
        )
    for name in declared:
        if is_nested(present[name]):
            raise DocumentError(f"The column {name!r} is nested; a declared variable needs plain values.")


def check_pair(variable: Variable, prints_alike: Mapping[str, bool]) -> None:
    for column, is_plain in prints_alike.items():
        if not is_plain:
            raise DocumentError(
                f"The variable {variable.name!r} is looked up as of a day, so its columns hold texts, whole numbers "
                f"or dates; the column {column!r} holds something else.",
                column=column,
            )


def row_report(
    rows: int, *, kept: int, units: int, without: int, over: int, zeros: int, odd: Mapping[str, Any], skipped: int = 0
) -> dict[str, Any]:
    """What a source tells the custodian of its rows and, by variable, of odd values."""
    return {
        "rows": rows,
        "rows_skipped": skipped,
        "rows_kept": kept,
        "units": units,
        "rows_without_unit": without,
        "rows_over_max": over,
        "rows_in_structural_zeros": zeros,
        "variables": odd,
    }
