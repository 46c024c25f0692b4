"""Intervals for the counts of all records, from a secret sample of them: sampling and noise together."""

from dalenius.algebra.tabulation import bounds
from dalenius.core.estimate import Kind
from dalenius.core.release import Release
from dalenius.errors import Unsupported
from dalenius.inference.interval import simultaneous_confidence
from dalenius.inference.interval_table import IntervalTable
from dalenius.inference.observation import adjusted_note, find_table

METHOD = "binomial sampling with a known chance, and the published noise"


def sample_intervals(
    release: Release, names: tuple[str, ...], kind: str, confidence: float, together: bool
) -> IntervalTable:
    """Of every cell of the table, for the finite population alone."""
    table = find_table(release, names)
    if kind != "population" or set(names) not in (set(), {axis.name for axis in table.space.axes}):
        raise Unsupported(
            "Counts of a secret sample have intervals for the population, cell by cell; ask for those of the whole "
            "table."
        )
    zeros = table.space.structural_indices
    level = simultaneous_confidence(confidence, table.space.size - len(zeros)) if together else confidence
    lower, upper = bounds(release, table, level)
    return IntervalTable(
        axes=table.space.axes,
        values=table.values,
        lower=lower,
        upper=upper,
        confidence=confidence,
        kind=Kind.NOISE,
        method=METHOD,
        is_simultaneous=together,
        notes=adjusted_note(release),
        structural_zeros=frozenset(zeros),
    )
