"""The first table with bars between its columns, for a program that reads nothing else."""

import csv
from io import StringIO

from dalenius.core.release import Release
from dalenius.publish import Format, formats

__all__ = ["PSV"]


def to_psv(release: Release) -> str:
    """What the format `csv` writes, with bars."""
    rows = csv.reader(StringIO(formats()["csv"].content(release).decode()))
    text = StringIO()
    csv.writer(text, delimiter="|", lineterminator="\n").writerows(rows)
    return text.getvalue()


PSV = Format(name="psv", suffixes=(".psv",), media_type="text/plain", write=to_psv)
