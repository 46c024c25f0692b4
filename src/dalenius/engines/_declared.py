"""Whether data have the columns that a document declares, said without a word of what the data hold."""

from collections.abc import Container, Sequence

from dalenius.errors import UnknownName

_MOST_NAMES = 12


def check_columns(declared: Sequence[str], present: Container[str]) -> None:
    """Refuse data without a declared column.

    Names that stand in a file are its content: the first line of a file without a header is a person's record. So only
    declared names are shown, never one that was read.
    """
    missing = [name for name in declared if name not in present]
    if not missing:
        return
    shown = ", ".join(repr(name) for name in missing[:_MOST_NAMES])
    shown += ", …" if len(missing) > _MOST_NAMES else ""
    raise UnknownName(
        f"The data lack {len(missing)} of {len(declared)} declared columns: {shown}. Names must be equal letter by letter,"
        " and a CSV file begins with a header line that holds them.",
        kind="column",
        missing=missing,
    )
