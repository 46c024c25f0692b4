"""What [show] asks for, as adjustments in a fixed order: agreement first, then what is possible, then whole numbers.

Every adjustment is arithmetic on released values, recorded in the release; measured blocks stay. After a charge nothing may fail:
an adjustment that the released values do not allow is left out, and the release says so.
"""

from collections.abc import Sequence
from math import inf

from dalenius.core.contracts import Adjustment
from dalenius.core.domain import Axis, Domain
from dalenius.core.release import Release
from dalenius.errors import DaleniusError, Unsupported
from dalenius.linear.tabulation import ADDITIVE
from dalenius.postprocess.additive import Consistent
from dalenius.postprocess.anchor import Anchor
from dalenius.postprocess.clamping import Clamping
from dalenius.postprocess.invariants import Invariants
from dalenius.postprocess.nonnegative import Nonnegative
from dalenius.postprocess.rounding import Rounding
from dalenius.spec.show import PublishedPart, ShowPart

NOT_ADJUSTED = "not adjusted"


def check(show: ShowPart, measure: str, margins: Sequence[Sequence[str]] | None) -> None:
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


def adjustments(
    show: ShowPart,
    published: Invariants | None = None,
    anchor: Release | None = None,
) -> list[Adjustment]:
    """The adjustments in their order."""
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


def shown(release: Release, steps: Sequence[Adjustment]) -> Release:
    """The release after every adjustment that its values allow; one that they do not is noted with its reason."""
    for step in steps:
        try:
            release = step(release)
        except DaleniusError as refusal:
            note = {"name": NOT_ADJUSTED, "adjustment": step.name, "reason": refusal.message}
            release = release.with_(adjustments=(*release.adjustments, note))
    return release


def declared_totals(
    parts: Sequence[PublishedPart], domain: Domain, axes: Sequence[Axis], *, has_conditions: bool
) -> Invariants:
    """The declared totals that a table over these axes can respect: of all records, in the declared cells."""
    if not parts:
        raise Unsupported("The dataset document declares no [[published]] totals.")
    if has_conditions:
        raise Unsupported("Published totals are of all records; this table is of some of them.")
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


def _is_declared(axis: Axis, domain: Domain) -> bool:
    variable = domain.variable(axis.variable)
    return not variable.is_numeric and not axis.level and set(axis.labels) == set(variable.categories.labels)
