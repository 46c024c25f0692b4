"""The subject of a release, made in one place from the request and the dataset document."""

from dalenius.core import registry
from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, Domain
from dalenius.core.rationals import plain
from dalenius.core.release import Condition, Subject, measure_of, public_axis
from dalenius.errors import RequestError
from dalenius.spec.axis import condition_filter
from dalenius.spec.canonical import canonical
from dalenius.spec.keys import condition_of
from dalenius.spec.method import AnswerKind, find_method
from dalenius.spec.request import RequestDocument
from dalenius.spec.universe import universe_of


def subject_of(request: RequestDocument, domain: Domain, dataset: str = "") -> Subject:
    """Title, measure, unit, filter, labels and layout of what is asked for; `dataset` is the data set's title."""
    layout = request.layout(domain)
    of, weight = request.table.of or "", request.table.weight or ""
    filters = request.filters(domain)
    named = [axis.variable for axis in request.axes(domain)]
    named += [*(condition.variable for condition in filters), *filter(None, (of, weight)), *request.others]
    labels = {name: domain.variable(name).label or name for name in sorted(set(named))}
    measure, q = measure_of(request.table.measure, request.table.keys)
    is_selected = measure in registry.names("methods") and find_method(measure).answer is AnswerKind.CELL
    universe = universe_of(request, domain)
    return Subject(
        title=request.title,
        dataset=dataset or domain.name,
        measure=measure,
        of=of,
        unit=domain.variable(of).unit if of else "",
        weight=weight,
        other=", ".join(request.others),
        where=tuple(_condition(condition, domain) for condition in filters),
        labels=labels,
        rows=tuple(layout["rows"]),
        columns=tuple(layout["columns"]),
        layers=tuple(layout["layers"]),
        universe=universe.sentence(labels),
        parts=tuple(part.variable for part in universe.parts),
        q=q,
        within=_property(request, domain) if request.table.keys else (),
        per=str(request.table.keys.get("per") or ""),
        which=str(request.table.keys.get("which") or ""),
        codes={axis.variable: codes for axis in request.axes(domain) if (codes := _codes(axis, domain))},
        candidates=tuple(map(public_axis, canonical(request, domain).space.axes)) if is_selected else (),
    )


def _codes(axis: Axis, domain: Domain) -> dict[str, str]:
    """The declared code of each label that the axis shows, where the declaration tells them apart."""
    variable = domain.variable(axis.variable)
    if axis.level or variable.is_numeric or not variable.categories.values:
        return {}
    codes = dict(zip(variable.categories.labels, variable.categories.values, strict=True))
    return {label: codes[label] for label in axis.labels if label in codes}


def _property(request: RequestDocument, domain: Domain) -> tuple[Condition, ...]:
    """The range or the categories that the method's own keys name; none where they name nothing that is declared."""
    among, of = request.table.keys.get("among"), request.table.of
    if of is None or not among:
        return ()
    try:
        return (_condition(condition_filter(of, condition_of(among), domain), domain),)
    except RequestError:
        # What is wrong with it is said where it is planned.
        return ()


def _condition(condition: Filter, domain: Domain) -> Condition:
    variable = domain.variable(condition.variable)
    if not variable.is_numeric:
        kept = tuple(variable.categories.labels[code] for code in condition.codes)
        return Condition(variable=variable.name, kept=kept)
    step, ends = variable.bounds.step, (condition.low, condition.high)
    low, high = ("" if end is None else plain(end * step) for end in ends)
    return Condition(variable=variable.name, low=low, high=high)
