"""A release whose tables show other values, with a note of what was done; the measured blocks stay."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from dalenius.core.law import FloatArray
from dalenius.core.release import Release


def moved(release: Release, values: Iterable[FloatArray], **note: Any) -> Release:
    pairs = zip(release.tables, values, strict=True)
    tables = tuple(replace(table, values=shown, is_unbiased=False) for table, shown in pairs)
    return release.with_(tables=tables, adjustments=(*release.adjustments, note))
