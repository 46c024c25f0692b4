"""A later table reconciled with what is published of the same data: docs/reference/postprocess/anchor.md."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from dalenius.algebra.adjusting import axis_names, has_levels, shaped, tied
from dalenius.algebra.margins import Margin, sum_out
from dalenius.core.law import FloatArray
from dalenius.core.release import ADDITIVE, Release
from dalenius.errors import Conflict, Unsupported

# What must be equal for two numbers to be of one fact: parts of the provenance, and of the canonical request in it.
_SOURCE = ("population", "dataset", "version")
_ASKED = ("where", "measure", "of", "weight")


@dataclass(frozen=True, eq=False)
class Anchor:
    """Tie shown tables to the tables of an earlier release."""

    published: Release
    name: ClassVar[str] = "anchor"

    @classmethod
    def examples(cls, release: Release) -> "tuple[Anchor, ...]":
        return (cls(release),)

    def __call__(self, release: Release) -> Release:
        """A new release whose shared margins equal the published ones; measured blocks stay."""
        both = (*release.tables, *self.published.tables)
        names = axis_names(both)
        if has_levels(release) or has_levels(self.published):
            raise Unsupported("Several levels of one variable are shown; anchor a release of one level.")
        _compare(self.published, release)
        anchors = [shaped(t, names) for t in self.published.tables]
        used: set[Margin] = set()

        def known(margin: Margin) -> dict[Margin, FloatArray]:
            # Of each published table the part over axes that this one has, first come first.
            shared: dict[Margin, FloatArray] = {}
            for published, values in anchors:
                common = tuple(a for a in published if a in margin)
                if common not in shared:
                    shared[common] = sum_out(values, published, common)
            used.update(shared)
            return shared

        values = tied(release, names, known)
        tables = tuple(
            replace(table, values=moved, is_unbiased=table.is_unbiased and not used)
            for table, moved in zip(release.tables, values, strict=True)
        )
        note = {
            "name": self.name,
            "published": self.published.provenance.digest,
            "margins": [[names[a] for a in m] for m in sorted(used)],
            "method": "least squares subject to the published margins",
            "intervals": "from the measured blocks",
            "variables_of_one_release": sorted(_variables(self.published) ^ _variables(release)),
        }
        return release.with_(tables=tables, adjustments=(*release.adjustments, note))


def _compare(first: Release, later: Release) -> None:
    """Refuse an anchor that is not of the same data, the same measure, the same rows and the same cells."""
    for name in _SOURCE:
        _same(name, getattr(first.provenance, name), getattr(later.provenance, name))
    mine, other = later.provenance.request, first.provenance.request
    for name in _ASKED:
        _same(name, other.get(name), mine.get(name))
    measures = {table.measure for table in (*first.tables, *later.tables)}
    if len(measures) > 1:
        raise Conflict("An anchor must be of the same measure.", received=sorted(measures))
    if not measures <= set(ADDITIVE):
        raise Unsupported(f"A {measures.pop()} does not add up to margins; only {', '.join(ADDITIVE)} do.")
    cells, own = _cells(first), _cells(later)
    for variable in sorted(set(cells) & set(own)):
        if cells[variable] != own[variable]:
            raise Conflict(
                f"The two releases do not hold the same values behind the labels of {variable!r}.", variable=variable
            )


def _same(name: str, published: Any, received: Any) -> None:
    if (published or None) != (received or None):
        raise Conflict(
            f"The two releases do not show the same facts: they differ in {name!r}.",
            name=name,
            published=published,
            received=received,
        )


def _variables(release: Release) -> set[str]:
    described = {entry["variable"] for entry in release.provenance.request.get("axes") or ()}
    return described | {axis.variable for table in release.tables for axis in table.space.axes}


def _cells(release: Release) -> dict[str, Any]:
    """What is behind the labels of each shown variable: from the request, or from the axes themselves."""
    described: Mapping[str, Any] = {
        entry["variable"]: {k: _plain(v) for k, v in entry.items()}
        for entry in release.provenance.request.get("axes") or ()
    }
    shown = {axis.variable: axis for table in release.tables for axis in table.space.axes}
    return {name: described.get(name) or (_plain(axis.codes), _plain(axis.cuts)) for name, axis in shown.items()}


def _plain(value: Any) -> Any:
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
