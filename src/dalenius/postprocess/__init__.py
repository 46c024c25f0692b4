"""Releases to release, without data; one file each."""

from dalenius.postprocess._show import adds_up, adjusted, adjustments, check_show, declared_totals, shown
from dalenius.postprocess._shown_counts import largest_error, shown_from, within

__all__ = [
    "adds_up",
    "adjusted",
    "adjustments",
    "check_show",
    "declared_totals",
    "largest_error",
    "shown",
    "shown_from",
    "within",
]
