"""A release in the reader's language: labels, conditions and guarantee; numbers and distributions as they are."""

from dataclasses import replace

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.release import Release
from dalenius.server.pages.shown import Shown


def spoken_release(shown: Shown, release: Release) -> Release:
    """Translate a whole release; what the dataset document does not translate stays."""
    universe = shown.universe["text"]
    spoken = _spoken(shown, release)
    return spoken if release.members else spoken.with_(subject=replace(spoken.about, universe=universe))


def _spoken(shown: Shown, release: Release) -> Release:
    guarantee = shown.wording.guarantee(release.provenance)
    whole = release.with_(provenance=replace(release.provenance, guarantee=guarantee))
    if release.members:
        return whole.with_members([_spoken(shown, member) for member in release.members])
    subject = release.about
    names = {*subject.labels, *(condition.variable for condition in subject.where)}
    return whole.with_(
        tables=tuple(replace(table, space=_space(shown, table.space)) for table in release.tables),
        # A table finds what it was measured by through its cells, which must have the same names.
        blocks=tuple(replace(block, space=_space(shown, block.space)) for block in release.blocks),
        subject=replace(
            subject,
            dataset=shown.wording.dataset_title(release.provenance.dataset) or subject.dataset,
            labels={name: _label(shown, name, subject.label(name)) for name in names},
            where=tuple(shown.wording.condition(shown.dataset, condition) for condition in subject.where),
        ),
    )


def _space(shown: Shown, space: CellSpace) -> CellSpace:
    return replace(space, axes=tuple(_axis(shown, axis) for axis in space.axes))


def _axis(shown: Shown, axis: Axis) -> Axis:
    spoken = shown.spoken_axis(axis)
    # Two groups that a translation calls alike stay apart under their own words.
    return axis if len(set(spoken.labels)) < len(axis) else spoken


def _label(shown: Shown, name: str, stored: str) -> str:
    label = shown.wording.label(shown.dataset, name)
    return stored if label == name else label
