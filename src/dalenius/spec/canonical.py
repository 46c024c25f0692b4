"""One form for all spellings of a request, and its digest: docs/reference/documents.md.

Normalisation looks at the request and the declared domain only; the layout for readers is kept beside it.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dalenius.core.conditions import Filter
from dalenius.core.domain import Axis, CellSpace, Domain
from dalenius.core.rationals import plain
from dalenius.core.release import measure_of
from dalenius.spec.document import DEFAULT_MEASURE, Document
from dalenius.spec.noise import described
from dalenius.spec.remembered import remembered
from dalenius.spec.request import RequestDocument

FORMAT = "dalenius-request/1"


def canonical_json(content: object) -> str:
    """JSON with sorted keys, no spaces and no floats."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(content: Document | dict[str, Any]) -> str:
    """SHA-256 of the canonical JSON of a document or of plain content."""
    plain_content = content.to_dict() if isinstance(content, Document) else content
    return hashlib.sha256(canonical_json(plain_content).encode()).hexdigest()


@dataclass(frozen=True, eq=False)
class Canonical:
    """A request in canonical form: its content, its cells in canonical order, and the layout that was asked for."""

    content: dict[str, Any]
    space: CellSpace
    filters: tuple[Filter, ...]
    layout: dict[str, Any]

    @cached_property
    def digest(self) -> str:
        """Digest of the request as it was written, for provenance."""
        return digest(self.content)

    def decided(self, mechanism: str, strategy: str) -> str:
        """Digest of the request with what was left to the planner filled in: a default may be named or not."""
        chosen = {"mechanism": mechanism, "strategy": strategy}
        return digest(self.content | {name: self.content[name] or chosen[name] for name in chosen})


@remembered
def canonical(request: RequestDocument, domain: Domain) -> Canonical:
    request = request.in_order(domain)
    asked = request.space(domain)
    order = {name: position for position, name in enumerate(domain.variables)}
    # Where each category is a label of its own, in declared order, or cuts rise, there is nothing to do.
    ordered = (a if a.cuts or a.codes == tuple(range(len(a))) else _in_declared_order(a) for a in asked.axes)
    axes = tuple(sorted(ordered, key=lambda axis: order[axis.variable]))
    filters = request.filters(domain)
    zeros = asked.structural_zeros
    if zeros and axes != asked.axes:
        zeros = _moved_zeros(asked, axes)
    space, margins = CellSpace(axes, zeros, asked.is_virtual), request.margins(domain)
    content: dict[str, Any] = {
        "format": FORMAT,
        "dataset": domain.name,
        "population": domain.population,
        "version": domain.version,
        "neighbours": domain.neighbours.to_dict(),
        "axes": [describe_axis(axis, domain) for axis in axes],
        "where": [describe_condition(condition, domain) for condition in filters],
        "structural_zeros": [list(cell) for cell in sorted(space.structural_zeros)],
        "measure": request.table.measure,
        "of": request.table.of,
        "weight": request.table.weight,
        "margins": None if margins is None else _margins(request, margins, axes),
        "objective": request.table.objective,
        "privacy": request.privacy.budget().to_dict(),
        "mechanism": request.privacy.mechanism,
        "strategy": request.privacy.strategy,
        "keys": request.table.model_dump(mode="json", include={"keys"}),
    }
    stated = request.stated_noise
    noise = None if stated is None else described(stated)
    expected = request.table.expected
    written = {
        # What a method of a measure is given by default is not written.
        "noise": noise or (None if request.privacy.mechanism is None else noise),
        "group": request.privacy.group if request.privacy.group > 1 else None,
        "expected": None if expected is None else {"sha256": expected.sha256, "least": plain(expected.least)},
        "universe": request.table.universe,
        "in_cells_of": request.privacy.in_cells_of,
    }
    content |= {name: part for name, part in written.items() if part is not None}
    # What is measured is a number.
    of = None if request.parameters.takes_categories else request.table.of
    for name in filter(None, (of, *request.others, request.table.weight)):
        _ = domain.variable(name).bounds
    layout = request.layout(domain)
    layout["labels"] = {axis.name: list(axis.labels) for axis in asked.axes}
    return Canonical(content, space, filters, layout)


def method_of(content: Mapping[str, Any]) -> str:
    return measure_of(str(content.get("measure", DEFAULT_MEASURE)), content.get("keys", {}))[0]


def _in_declared_order(axis: Axis) -> Axis:
    """Labels in the declared order of the first category that each holds."""
    first = {label: code for code, label in reversed(list(enumerate(axis.codes)))}
    # The label of the rest holds no category and stays the last.
    rank = sorted(range(len(axis)), key=lambda label: first.get(label, len(axis.codes)))
    place = {old: new for new, old in enumerate(rank)}
    labels = tuple(axis.labels[old] for old in rank)
    return replace(axis, labels=labels, codes=tuple(place.get(code, -1) for code in axis.codes))


def _moved_zeros(asked: CellSpace, axes: tuple[Axis, ...]) -> frozenset[tuple[int, ...]]:
    """The structural zeros on axes in another order, or with labels in another order."""
    source = {axis.variable: number for number, axis in enumerate(asked.axes)}
    maps = [_places(asked.axes[source[axis.variable]].labels, axis.labels) for axis in axes]
    return frozenset(
        tuple(maps[n][cell[source[axis.variable]]] for n, axis in enumerate(axes)) for cell in asked.structural_zeros
    )


def _places(labels: tuple[str, ...], among: tuple[str, ...]) -> list[int]:
    """Where each label stands among others; of equal ones the first."""
    places = {label: place for place, label in reversed(list(enumerate(among)))}
    return [places[label] for label in labels]


def describe_axis(axis: Axis, domain: Domain) -> dict[str, Any]:
    """What the cells of an axis hold; the level's name is only a spelling of the groups."""
    if axis.has_rest:
        held = replace(axis, labels=axis.labels[:-1], has_rest=False)
        return {**describe_axis(held, domain), "rest": axis.labels[-1]}
    if axis.cuts:
        return {"variable": axis.variable, "cuts": list(axis.cuts)}
    texts = domain.variable(axis.variable).categories.labels
    cells = [[label] for label in axis.labels]
    for code, label in enumerate(axis.codes):
        if label >= 0:
            cells[label].append(texts[code])
    return {"variable": axis.variable, "cells": cells}


def describe_condition(condition: Filter, domain: Domain) -> dict[str, Any]:
    if domain.variable(condition.variable).is_numeric:
        return {"variable": condition.variable, "low": condition.low, "high": condition.high}
    labels = domain.variable(condition.variable).categories.labels
    return {"variable": condition.variable, "categories": [labels[code] for code in condition.codes]}


def _margins(request: RequestDocument, margins: Sequence[tuple[str, ...]], axes: tuple[Axis, ...]) -> Any:
    variable = {axis.name: axis.variable for axis in axes}
    order = [axis.variable for axis in axes]

    def place(name: str) -> tuple[int, str]:
        owner = variable.get(name) or next(v for v in order if name.startswith(f"{v}."))
        return order.index(owner), variable.get(name, name)

    weights = [plain(weight) for weight in request.table.weights] or ["1"] * len(margins)
    listed = [(sorted(place(name) for name in margin), weight) for margin, weight in zip(margins, weights, strict=True)]
    listed.sort(key=lambda pair: (len(pair[0]), pair[0], pair[1]))
    return [[[name for _, name in margin], weight] for margin, weight in listed]
