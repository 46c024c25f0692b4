"""Views made from the library's own types: declared data sets and priced requests."""

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any

from dalenius.core import registry
from dalenius.core.domain import Domain, Variable
from dalenius.core.neighbours import Scope
from dalenius.core.plan import margin_of_error
from dalenius.core.rationals import plain
from dalenius.plans.weighted import FIXED_WEIGHTS
from dalenius.server.operations import Quote, Served
from dalenius.server.views import DatasetView, LevelView, Preview, ReleaseView, VariableView
from dalenius.shown import speech
from dalenius.spec.derived_words import LANGUAGES, derivation
from dalenius.spec.guarantees import guarantee_of
from dalenius.spec.method import counts_records, is_offered
from dalenius.spec.policy import PolicyDocument


def variable_view(variable: Variable, domain: Domain) -> VariableView:
    sentences = {language: derivation(variable, domain, language) for language in LANGUAGES}
    view = VariableView(
        name=variable.name,
        label=variable.label or variable.name,
        is_numeric=variable.is_numeric,
        is_sensitive=variable.is_sensitive,
        derivation=sentences if any(sentences.values()) else {},
    )
    if variable.is_numeric:
        bounds = variable.bounds
        ends = plain(bounds.lower), plain(bounds.upper)
        return replace(view, bounds=ends, step=plain(bounds.step), unit=variable.unit)
    levels = tuple(LevelView(name=h.level, groups=h.groups) for h in variable.hierarchies)
    return replace(view, categories=variable.categories.labels, levels=levels)


def dataset_view(served: Served, most_cells: int) -> DatasetView:
    curator, entry = served.curator, served.entry
    domain, part = curator.domain, curator.document.dataset
    variables = tuple(variable_view(v, domain) for v in domain.variables.values() if v.is_confirmed)
    # A form offers measures of numeric variables only where there are some, and those of records first.
    with curator.planner.allowing():
        offered = [(m.takes_of, name) for name, m in registry.every("methods").items() if is_offered(name, domain)]
        definitions = _definitions(served)
    has_numbers = any(v.is_numeric for v in variables)
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
        measures=tuple(name for takes_of, name in sorted(offered) if has_numbers or not takes_of),
        weights=_weights(domain, curator.policy),
        draws=str(domain.draws),
        definitions=definitions,
        defaults={k: v for k, v in entry.defaults.model_dump().items() if v is not None},
        most_cells=min(most_cells, curator.policy.allow.most_cells),
        translations={code: words.model_dump() for code, words in curator.document.translations.items()},
    )


def _weights(domain: Domain, policy: PolicyDocument) -> tuple[str, ...]:
    """Variables that are declared as weights and confirmed, where the custodian declares that weights are fixed."""
    if FIXED_WEIGHTS not in policy.allow.acknowledge:
        return ()
    return tuple(name for name in domain.weights if domain.variable(name).is_confirmed)


def _definitions(served: Served) -> tuple[str, ...]:
    policy, domain = served.curator.policy, served.curator.domain

    def is_allowed(name: str, definition: Any) -> bool:
        is_weaker = Scope(definition.scope) is not Scope.ALL_DATA
        if is_weaker and name not in policy.allow.acknowledge:
            return False
        if definition.scope is Scope.GIVEN_THE_PUBLIC and not domain.public_attributes:
            return False
        return policy.allows("definitions", name, definition.evidence)

    return tuple(name for name, each in registry.every("definitions").items() if is_allowed(name, each))


def preview(quote: Quote, direct_cells: int, advice: tuple[str, ...] = (), **told: Any) -> Preview:
    """A priced request as it is shown, with what is said of its amount; `told` is what only the ledger and the lists
    know.
    """
    plan = quote.plan
    details = dict(plan.preview)
    has_error = "std_error" in details
    error = details.pop("std_error", None)
    # How far a chosen cell may fall short is no margin of error of a number: it stays in the sentence that says so.
    half_width = margin_of_error(plan.preview) if has_error else None
    if has_error:
        details.pop("half_width_95", None)
    return Preview(
        dataset=quote.charge.dataset,
        cells=quote.cells,
        cost=plan.reservation.to_dict(),
        definition=plan.definition,
        budget=plan.budget.to_dict(),
        mechanism=plan.mechanism,
        strategy=plan.strategy,
        std_error=float(error) if isinstance(error, int | float) else None,
        half_width_95=half_width,
        evidence=plan.evidence.to_dict(),
        guarantee=guarantee_of(plan).plain,
        warnings=(*advice, *plan.notes),
        is_queued=quote.cells > direct_cells,
        details=_finite(details),
        **told,
    )


def _finite(value: Any) -> Any:
    """Numbers as JSON has them: None where noise leaves no margin."""
    if isinstance(value, Mapping):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not isfinite(value) else value


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
    words += [speech.title_of(view.measure, language) for language in LANGUAGES]
    return "\n".join(words).casefold()


def may_anchor(earlier: ReleaseView, later: ReleaseView) -> bool:
    return (
        (earlier.dataset, earlier.version, earlier.measure) == (later.dataset, later.version, later.measure)
        and counts_records(later.measure)
        and bool(set(earlier.variables) & set(later.variables))
        and earlier.request.get("where") == later.request.get("where")
    )
