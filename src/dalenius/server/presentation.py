"""Views made from the library's own types: declared data sets, priced requests, saved tables."""

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dalenius.core import registry
from dalenius.core.domain import Domain, Variable
from dalenius.core.neighbours import Scope
from dalenius.core.plan import margin_of_error
from dalenius.core.rationals import plain
from dalenius.core.release import Release
from dalenius.errors import DaleniusError
from dalenius.plans.weighted import FIXED_WEIGHTS
from dalenius.server.operations import Quote, Served
from dalenius.server.store import StateStore
from dalenius.server.views import DatasetView, LevelView, Preview, QuotaView, ReleaseView, SavedTable, VariableView
from dalenius.shown import speech
from dalenius.spec.derived_words import LANGUAGES, derivation
from dalenius.spec.method import counts_records, is_offered
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument


def variable_view(variable: Variable) -> VariableView:
    """A declared variable."""
    label = variable.label or variable.name
    if variable.is_numeric:
        bounds = variable.bounds
        return VariableView(
            name=variable.name,
            label=label,
            is_numeric=True,
            bounds=(plain(bounds.lower), plain(bounds.upper)),
            step=plain(bounds.step),
            unit=variable.unit,
            is_sensitive=variable.is_sensitive,
        )
    return VariableView(
        name=variable.name,
        label=label,
        is_numeric=False,
        categories=variable.categories.labels,
        levels=tuple(LevelView(name=h.level, groups=h.groups) for h in variable.hierarchies),
        is_sensitive=variable.is_sensitive,
    )


def _derivation(variable: Variable, domain: Domain) -> dict[str, str]:
    """How a variable came about, in each language; nothing for a plain column."""
    said = {language: derivation(variable, domain, language) for language in LANGUAGES}
    return said if any(said.values()) else {}


def dataset_view(served: Served, most_cells: int) -> DatasetView:
    """A declared data set."""
    curator, entry = served.curator, served.entry
    domain, part = curator.domain, curator.document.dataset
    variables = tuple(
        replace(variable_view(v), derivation=_derivation(v, domain))
        for v in domain.variables.values()
        if v.is_confirmed
    )
    measures = _measures(domain, has_numbers=any(v.is_numeric for v in variables))
    return DatasetView(
        name=domain.name,
        title=part.title or domain.name,
        version=domain.version,
        population=domain.population,
        description=entry.description,
        mode=entry.mode,
        has_list=entry.list is not None,
        variables=variables,
        neighbours=domain.neighbours.sentence(),
        measures=measures,
        weights=_weights(domain, curator.policy),
        draws=str(domain.draws),
        definitions=_definitions(served),
        defaults={k: v for k, v in entry.defaults.model_dump().items() if v is not None},
        most_cells=min(most_cells, curator.policy.allow.most_cells),
        translations={code: words.model_dump() for code, words in curator.document.translations.items()},
    )


def _weights(domain: Domain, policy: PolicyDocument) -> tuple[str, ...]:
    """Variables that are declared as weights and confirmed, where the custodian declares that weights are fixed."""
    if FIXED_WEIGHTS not in policy.allow.acknowledge:
        return ()
    return tuple(name for name in domain.weights if domain.variable(name).is_confirmed)


def _measures(domain: Domain, *, has_numbers: bool) -> tuple[str, ...]:
    """Measures that a form may offer: of numeric variables only where there are some; those of records first."""
    offered = [(m.takes_of, name) for name, m in registry.every("methods").items() if is_offered(name, domain)]
    return tuple(name for takes_of, name in sorted(offered) if has_numbers or not takes_of)


def _definitions(served: Served) -> tuple[str, ...]:
    allowed = []
    for name in registry.names("definitions"):
        definition = registry.get("definitions", name)
        policy, domain = served.curator.policy, served.curator.domain
        is_weaker = Scope(definition.scope) is not Scope.ALL_DATA
        if is_weaker and name not in policy.allow.acknowledge:
            continue
        if definition.scope is Scope.GIVEN_THE_PUBLIC and not domain.public_attributes:
            continue
        if policy.allows_definition(name, definition.evidence):
            allowed.append(name)
    return tuple(allowed)


def preview(
    quote: Quote,
    *,
    digest: str,
    quota: QuotaView | None,
    already: ReleaseView | None,
    from_list: bool,
    refusal: Mapping[str, Any] | None,
    direct_cells: int,
) -> Preview:
    """What a request would do."""
    plan = quote.plan
    details = dict(plan.preview)
    return Preview(
        digest=digest,
        dataset=quote.charge.dataset,
        cells=quote.cells,
        cost=plan.reservation.to_dict(),
        definition=plan.definition,
        budget=plan.budget.to_dict(),
        mechanism=plan.mechanism,
        strategy=plan.strategy,
        std_error=_number(details.get("std_error")),
        half_width_95=margin_of_error(details) if "std_error" in details else None,
        evidence=plan.evidence.to_dict(),
        warnings=tuple(plan.notes),
        is_queued=quote.cells > direct_cells,
        quota=quota,
        already=already,
        from_list=from_list,
        refusal=None if already is not None or from_list else refusal,
        # How far a chosen cell may fall short is no margin of error of a number: it stays in the sentence that says so.
        details={
            k: v
            for k, v in details.items()
            if k != "std_error" and (k != "half_width_95" or "std_error" not in details)
        },
    )


def search_text(view: ReleaseView, dataset: DatasetView | None) -> str:
    """What a table is found by: its names and labels, of variables, categories and conditions, and its measure."""
    request = view.request
    named = [*view.variables, *([str(request["of"])] if request.get("of") else [])]
    named += [str(condition["variable"]) for condition in request.get("where", ())]
    words = [view.title, view.dataset, str(request.get("title", "")), *named]
    if dataset is not None:
        declared = [dataset.variable(name) for name in named]
        words += [dataset.title, *(variable.label for variable in declared if variable is not None)]
    for part in (*request.get("axes", ()), *request.get("where", ())):
        words += [str(label) for cell in part.get("cells", ()) for label in cell]
        words += [str(label) for label in part.get("categories", ())]
    words += [speech.title_of(view.measure, language) for language in registry.get("methods", view.measure).words]
    return "\n".join(words).casefold()


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def may_anchor(earlier: ReleaseView, later: ReleaseView) -> bool:
    """Whether two releases count the same rows and share a variable."""
    return (
        (earlier.dataset, earlier.version, earlier.measure) == (later.dataset, later.version, later.measure)
        and counts_records(later.measure)
        and bool(set(earlier.variables) & set(later.variables))
        and earlier.request.get("where") == later.request.get("where")
    )


def tied(release: Release, published: Release) -> Release | None:
    """The release anchored to an earlier one; None where the two cannot be reconciled."""
    try:
        return registry.get("postprocess", "anchor")(published)(release)  # type: ignore[no-any-return]
    except DaleniusError:
        return None


def without_analyst(view: ReleaseView) -> ReleaseView:
    """The view for readers who may not know who asked."""
    return replace(view, analyst="")


def saved_tables(store: StateStore, name: str) -> tuple[SavedTable, ...]:
    """A user's saved tables, newest first."""
    rows = store.read("SELECT title, dataset, request, created FROM saved WHERE name = ? ORDER BY created DESC", name)
    return tuple(
        SavedTable(title=title, dataset=dataset, request=json.loads(text), created=created)
        for title, dataset, text, created in rows
    )


def save_table(store: StateStore, name: str, title: str, dataset: str, request: RequestDocument) -> None:
    """Insert or replace."""
    text = json.dumps(request.to_dict(), sort_keys=True)
    store.write(
        "INSERT INTO saved (name, title, dataset, request, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name, title)"
        " DO UPDATE SET dataset = excluded.dataset, request = excluded.request, created = excluded.created",
        name, title, dataset, text, time.time(),
    )  # fmt: skip
