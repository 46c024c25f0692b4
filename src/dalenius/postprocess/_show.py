"""What [show] asks for, as adjustments in a fixed order: agreement first, then what is possible, then whole numbers.

What cannot be shown as asked is refused before the charge (`curator.rules.rehearse`). After it nothing may fail: an
adjustment that fails all the same is left out, and a warning of the release says so in every product.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from dalenius.core.contracts import Adjustment
from dalenius.core.domain import Axis, Domain
from dalenius.core.release import ADDITIVE, Release
from dalenius.errors import DaleniusError, Unsupported
from dalenius.postprocess.additive import Consistent
from dalenius.postprocess.anchor import Anchor
from dalenius.postprocess.clamping import Clamping
from dalenius.postprocess.invariants import Invariants
from dalenius.postprocess.nonnegative import Nonnegative
from dalenius.postprocess.rounding import Rounding
from dalenius.spec.show import PublishedPart, ShowPart

NOT_ADJUSTED = "not adjusted"


def check_show(show: ShowPart, measure: str, margins: Sequence[Sequence[str]] | None) -> None:
    """Refuse before anything is charged what could not be shown so, from the request alone."""
    if show.is_plain:
        return
    if measure not in ADDITIVE:
        raise Unsupported(
            f"[show] adjusts numbers that add up ({', '.join(ADDITIVE)}); measure = {measure!r} is shown as it is.",
            measure=measure,
        )
    if any("." in name for margin in margins or () for name in margin):
        raise Unsupported("[show] adjusts tables of one level; several levels of one variable are asked for.")


def adjustments(show: ShowPart, published: Invariants | None = None, anchor: Release | None = None) -> list[Adjustment]:
    steps: list[Adjustment] = []
    if show.consistent:
        steps.append(Consistent())
    if published is not None:
        steps.append(published)
    if anchor is not None:
        steps.append(Anchor(anchor))
    if show.nonnegative:
        steps.append(Nonnegative())
    if show.least is not None or show.most is not None:
        lower = -inf if show.least is None else float(show.least)
        steps.append(Clamping(lower=lower, upper=inf if show.most is None else float(show.most)))
    if show.whole:
        steps.append(Rounding())
    return steps


def adds_up(release: Release) -> bool:
    """Whether [show] is about the numbers of a release: those that it was asked for add up."""
    return bool(release.tables) and release.tables[0].measure in ADDITIVE


def adjusted(release: Release, steps: Sequence[Adjustment]) -> Release:
    """The release after every adjustment; raises the refusal of the first that cannot be made."""
    for step in steps:
        release = _adjusted(release, step)
    return release


def _adjusted(release: Release, step: Adjustment) -> Release:
    """Tables that add up are moved together; others beside them, such as squared weights, stay as they are."""
    moved = tuple(table for table in release.tables if table.measure in ADDITIVE)
    if not release.tables or len(moved) in (0, len(release.tables)):
        return step(release) if release.tables else release
    part = step(release.with_(tables=moved))
    fresh = iter(part.tables)
    tables = (next(fresh) if table.measure in ADDITIVE else table for table in release.tables)
    return part.with_(tables=tuple(tables))


def shown(release: Release, steps: Sequence[Adjustment]) -> Release:
    """The release after every adjustment, for what is charged already: one that fails is left out, with a warning."""
    for step in steps:
        try:
            release = _adjusted(release, step)
        except DaleniusError as refusal:
            note = {"name": NOT_ADJUSTED, "adjustment": step.name, "reason": refusal.message}
            warning = f"[show] asked for {step.name!r}, which was not done: {refusal.message}"
            source = replace(release.provenance, warnings=(*release.provenance.warnings, warning))
            release = release.with_(adjustments=(*release.adjustments, note), provenance=source)
    return release


def declared_totals(
    parts: Sequence[PublishedPart], domain: Domain, axes: Sequence[Axis], *, has_conditions: bool
) -> Invariants:
    """The declared totals that a table over these axes can respect: of all records, in the declared cells."""
    if not parts:
        raise Unsupported("The dataset document declares no [[published]] totals.")
    parts_of_axes = [axis.variable for axis in axes if not _shows_all(axis, domain)]
    if has_conditions or parts_of_axes:
        reason = f"it shows a part of {', '.join(parts_of_axes)}." if parts_of_axes else "it has conditions."
        raise Unsupported(f"Published totals are of all records, and this table is of some of them: {reason}")
    whole = {axis.variable for axis in axes if _is_declared(axis, domain)}
    usable = [part for part in parts if set(part.over) <= whole]
    if not usable:
        raise Unsupported("No declared total is over axes that this table shows in the declared cells.")
    return Invariants(
        {part.over: [float(total) for total in part.totals] for part in usable},
        dataset=domain.name,
        version=domain.version,
        sources={part.over: part.source for part in usable},
    )


def _shows_all(axis: Axis, domain: Domain) -> bool:
    """Whether no declared value is left out; an axis that was read from a file is known by its labels."""
    variable = domain.variable(axis.variable)
    if axis.codes or axis.cuts or axis.has_rest:
        return variable.shows_every_value(axis)
    groups = [h.groups for h in variable.hierarchies if h.level == axis.level and axis.level]
    return _is_declared(axis, domain) or any(set(axis.labels) == set(labels) for labels in groups)


def _is_declared(axis: Axis, domain: Domain) -> bool:
    variable = domain.variable(axis.variable)
    return not variable.is_numeric and not axis.level and set(axis.labels) == set(variable.categories.labels)
