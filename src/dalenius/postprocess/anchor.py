"""A later table reconciled with what is already published of the same population: the first publication wins.

Where the later release shares margins with an earlier one, its tables are moved by the least squares amount that makes those
margins equal the published ones. Nothing is measured, so nothing is charged; readers see one number for one fact. The anchored
cells keep their measured blocks, from which intervals are computed. Shown variances are those before anchoring: a cell tied to an
older, noisier number may be farther off than its own measurement was, and the adjustment says which tables were used.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from dalenius.core.adjusting import axis_names, has_levels, impose, restored, shaped
from dalenius.core.law import FloatArray
from dalenius.core.margins import Margin, sum_out
from dalenius.core.release import Release
from dalenius.errors import Conflict, Unsupported

__all__ = ["Anchor"]


@dataclass(frozen=True, eq=False)
class Anchor:
    """Tie shown tables to the tables of an earlier release."""

    published: Release
    name: ClassVar[str] = "anchor"

    def __call__(self, release: Release) -> Release:
        """A new release whose shared margins equal the published ones; measured blocks stay."""
        first, later = self.published.provenance, release.provenance
        if first.population != later.population:
            raise Conflict(
                "An earlier release of another population cannot be an anchor.", received=first.population
            )
        if dict(first.request).get("where") != dict(later.request).get("where"):
            raise Conflict("The two releases do not count the same rows: their conditions differ.")
        both = (*release.tables, *self.published.tables)
        names = axis_names(both)
        if has_levels(release) or has_levels(self.published):
            raise Unsupported("Several levels of one variable are shown; anchor a release of one level.")
        anchors = [shaped(t, names) for t in self.published.tables]
        tables, used = [], set()
        for table in release.tables:
            margin, array = shaped(table, names)
            known = _shared(margin, anchors)
            used |= set(known)
            moved = impose(array, margin, known) if known else array
            tables.append(
                replace(
                    table, values=restored(table, names, moved), is_unbiased=table.is_unbiased and not known
                )
            )
        note = {
            "name": self.name,
            "published": first.digest,
            "margins": [[names[a] for a in m] for m in sorted(used)],
            "method": "least squares subject to the published margins",
        }
        return release.with_(tables=tuple(tables), adjustments=(*release.adjustments, note))


def _shared(margin: Margin, anchors: list[tuple[Margin, FloatArray]]) -> dict[Margin, FloatArray]:
    """Published margins over axes that the table has: of each published table, the part it shares; earlier tables first."""
    known: dict[Margin, FloatArray] = {}
    for published, values in anchors:
        common = tuple(a for a in published if a in margin)
        if common not in known:
            known[common] = sum_out(values, published, common)
    return known
