"""Shown tables made to respect public totals, outside the guarantee: docs/reference/postprocess/invariants.md."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from dalenius.algebra.adjusting import axis_names, has_levels, tied
from dalenius.algebra.margins import Margin, sum_out
from dalenius.core.law import FloatArray
from dalenius.core.release import Release
from dalenius.errors import Conflict, ParameterError, UnknownName, Unsupported
from dalenius.postprocess._moved import moved


@dataclass(frozen=True, eq=False)
class Invariants:
    """Public totals: axis names (none for the grand total) to exact numbers in declared order.

    `dataset`, `version` and `labels` (of each axis) are compared with the release where they are given; `sources` say
    where each total was published.
    """

    totals: Mapping[tuple[str, ...], Sequence[float]]
    measure: str = "count"
    dataset: str = ""
    version: str = ""
    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sources: Mapping[tuple[str, ...], str] = field(default_factory=dict)
    name: ClassVar[str] = "invariants"

    @classmethod
    def examples(cls, release: Release) -> "tuple[Invariants, ...]":
        return (cls(totals={(): (30.0,)}),)

    def __call__(self, release: Release) -> Release:
        """A new release that respects the totals; measured blocks stay, the guarantee names them."""
        if has_levels(release):
            raise Unsupported("Several levels of one variable are shown; adjust a release of one level.")
        self._compare(release)
        names = axis_names(release.tables)
        totals = self._known(release, names)

        def usable(margin: Margin) -> dict[Margin, FloatArray]:
            # A table that lacks an axis of a total has its sum, so that all tables still agree.
            shared = {m: tuple(a for a in m if a in margin) for m in totals}
            return {common: sum_out(totals[m], m, common) for m, common in shared.items()}

        adjusted = moved(
            release,
            tied(release, names, usable),
            name=self.name,
            totals=[list(a) for a in self.totals],
            method="least squares subject to the totals",
            intervals="from the measured blocks",
        )
        listed = "; ".join(self._named(axes) for axes in self.totals)
        guarantee = f"{release.provenance.guarantee} Outside the guarantee, public by declaration: {listed}.".strip()
        return adjusted.with_(provenance=replace(release.provenance, guarantee=guarantee))

    def _named(self, axes: tuple[str, ...]) -> str:
        """A total by its axes, with the place where it was published."""
        source = self.sources.get(axes, "")
        return (" x ".join(axes) or "total") + (f" (published in: {source})" if source else "")

    def _compare(self, release: Release) -> None:
        """Refuse totals of other data, of another measure, or over other labels."""
        about = release.provenance
        for name in ("dataset", "version"):
            declared, shown = getattr(self, name), getattr(about, name)
            if declared and declared != shown:
                raise Conflict(
                    f"The public totals are of another {name}.", name=name, declared=declared, received=shown
                )
        for table in release.tables:
            if table.measure != self.measure:
                raise Conflict(
                    f"The public totals are of the measure {self.measure!r}, the release shows {table.measure!r}.",
                    name="measure",
                )
            for axis in table.space.axes:
                if tuple(self.labels.get(axis.name, axis.labels)) != axis.labels:
                    raise Conflict(
                        f"The public totals over {axis.name!r} are in other labels than the release.", name=axis.name
                    )

    def _known(self, release: Release, names: Sequence[str]) -> dict[Margin, FloatArray]:
        sizes = {a.name: len(a) for t in release.tables for a in t.space.axes}
        totals: dict[Margin, FloatArray] = {}
        for axes, numbers in self.totals.items():
            for axis in axes:
                UnknownName.check("axis", axis, names)
            margin = tuple(sorted(names.index(a) for a in axes))
            array = np.asarray(numbers, dtype=np.float64)
            shape = tuple(sizes[a] for a in axes)
            if array.size != np.prod(shape, dtype=np.int64) or not np.isfinite(array).all():
                raise ParameterError(f"The public total over {list(axes)} needs {int(np.prod(shape))} finite numbers.")
            order = [list(axes).index(names[a]) for a in margin]
            totals[margin] = array.reshape(shape).transpose(order) if order else array.reshape(())
        _agree(totals, names)
        return totals


def _agree(truths: Mapping[Margin, FloatArray], names: Sequence[str]) -> None:
    """Refuse totals that contradict each other."""
    for first, values in truths.items():
        for second, others in truths.items():
            common = tuple(a for a in first if a in second)
            if not np.allclose(sum_out(values, first, common), sum_out(others, second, common), rtol=1e-9):
                raise ParameterError(
                    f"The public totals over {[names[a] for a in first]} and {[names[a] for a in second]} disagree."
                )
