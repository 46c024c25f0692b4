"""The second, guarded door: exact results for the custodian's own eyes.

What comes through here is `Confidential`: it prints under a banner, refuses pickle and JSON and every release format,
never reaches a public or an analyst's route, and each look is a ledger line. Nothing here is released, and choosing a
request after such a look is outside every guarantee.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.algebra.losses import compare
from dalenius.core import registry
from dalenius.core.conditions import Filter
from dalenius.core.contracts import Source
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery, ValuesQuery
from dalenius.core.release import Release
from dalenius.core.sealed import Confidential
from dalenius.curator.memo import plan_digest
from dalenius.curator.planner import Planner
from dalenius.curator.source import RegisteredSource
from dalenius.engines import scanned_cells
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.bootstrap_totals import BootstrapTotals
from dalenius.measurements.inspection import actual_data
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.spec.canonical import Canonical, canonical
from dalenius.spec.coding import DROPPED_NUMBER
from dalenius.spec.load import Given, load_request
from dalenius.spec.method import Method, counts_records
from dalenius.spec.request import RequestDocument

# Noise of the Cauchy law at the smooth sensitivity spends epsilon with this share of it as its smoothness.
SMOOTHNESS = 6

__all__ = ["Inspection", "Confidential", "inspect_plan", "rows_of", "dominated"]


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What only the custodian may see of one data set."""

    holding: RegisteredSource
    planner: Planner

    @property
    def _domain(self) -> Domain:
        return self.holding.domain

    def table(self, request: Given, *, by: str = "custodian") -> Confidential:
        """The exact table, for the custodian's eyes; a ledger line says that somebody looked."""
        _, form, query = self._asked(request)
        self._note({"request": form.content}, by)
        exact = self.holding.source.table(query).open_below_the_gate()
        cells = query.space.labels() or [()]
        counts = {" · ".join(labels) or "total": int(v) for labels, v in zip(cells, exact.tolist(), strict=True)}
        return Confidential(f"Exact counts of {self._domain.name} {self._domain.version}", counts)

    def plan(self, request: Given, *, record: int | None = None, by: str = "custodian") -> Confidential:
        """What a data-dependent plan would do to these data: scales, expected losses, claims, the true loss."""
        plan = self.planner.plan(self._read(request))
        if not plan.neighbours.scope.is_data_dependent:
            raise Unsupported("Only plans whose noise depends on the data have more to show than their preview.")
        self._note({"plan": plan_digest(plan, self.holding.policy)}, by)
        report = inspect_plan(plan, self.holding.source, record)
        return Confidential(f"What {plan.definition} would do to {self._domain.name}", report)

    def dominance(self, request: Given, *, by: str = "custodian") -> Confidential:
        """Which cells a few contributors dominate, exactly, by the rule of a method that judges cells."""
        document, form, query = self._asked(request)
        method = self._method(document)
        if method.judged is None:
            judging = [n for n, m in registry.every("methods").items() if m.judged is not None]
            raise Unsupported(
                f'Ask with measure = "{" or ".join(judging)}", of = "variable", and the rows and columns to judge.'
            )
        self._note({"request": form.content, "what": method.name}, by)
        rule = document.table.keys.get("rule")
        names, statistic = method.judged(query, str(document.table.of), dict(rule) if isinstance(rule, Mapping) else {})
        verdicts = dominated(self.holding.source, names, statistic)
        return Confidential(f"Dominated cells of {self._domain.name} {self._domain.version}", verdicts)

    def sensitivity(self, request: Given, *, by: str = "custodian") -> Confidential:
        """How far one record moves the statistic of a request: on any data, at these, and within these."""
        document, form, _ = self._asked(request)
        method = self._method(document)
        if method.statistic is None:
            stated = [n for n, m in registry.every("methods").items() if m.statistic is not None]
            raise Unsupported(f"Sensitivities at the data are known for {', '.join(stated)}.")
        question = self.planner.question(document)
        statistic = method.statistic(question)
        self._note({"request": form.content, "what": "sensitivity"}, by)
        epsilon = question.budget.epsilon
        beta = None if epsilon is None else epsilon / SMOOTHNESS
        report = actual_data.sensitivities(statistic, self._rows(statistic, question.where), question.neighbours, beta)
        return Confidential(f"Sensitivities of {method.name} in steps, {question.neighbours.relation}", report)

    def values(
        self, request: Given, look: Callable[[list[int]], Mapping[str, Any]], *, by: str = "custodian"
    ) -> Confidential:
        """Return what the custodian's function says of the values of `of`, in steps, under the conditions."""
        document, form, _ = self._asked(request)
        of = document.table.of
        if of is None or form.space.axes:
            raise Unsupported('A function sees one list of values: of = "variable", with where, not rows or columns.')
        self._note({"request": form.content, "what": "function"}, by)
        values = self.holding.source.values(ValuesQuery(value=of, where=form.filters)).open_below_the_gate()
        return Confidential(f"A function of {of}", look([int(v) for v in values]))

    def _rows(self, statistic: Any, where: tuple[Filter, ...]) -> tuple[Any, ...]:
        """What a statistic is computed of: values, cells, both, or pairs of values of the rows that have both."""
        query = statistic.query
        below = getattr(statistic, "denominator_query", None)
        if below is not None:
            both = [rows_of(self.holding.source, query.space, where, one.value) for one in (query, below)]
            has_both = (both[0][0] >= 0) & (both[1][0] >= 0)
            above, beneath = (values[has_both].tolist() for _, values in both)
            return (list(zip(above, beneath, strict=True)),)
        if isinstance(query, ValuesQuery):
            return (self.holding.source.values(query).open_below_the_gate(),)
        cells, values = rows_of(self.holding.source, query.space, query.where, query.value)
        return (cells,) if query.value is None else (cells, values)

    def compare(self, request: Given, release: Release, *, by: str = "custodian") -> Confidential:
        """How far a release is from the exact counts, in the losses of the literature."""
        document, form, query = self._asked(request)
        if not counts_records(document.method) or document.table.weight is not None:
            raise Unsupported("Losses are computed for tables of counts.")
        shown = release.find(*(axis.name for axis in query.space.axes)).values.reshape(query.space.shape)
        self._note({"request": form.content, "what": "utility"}, by)
        exact = self.holding.source.table(query).open_below_the_gate().reshape(query.space.shape)
        return Confidential(f"Utility of release {release.provenance.digest[:12]}", compare(exact, shown))

    def _read(self, request: Given) -> RequestDocument:
        with self.planner.allowing():
            return load_request(request)

    def _method(self, request: RequestDocument) -> Method:
        """The method of a request, if the policy of these data allows it."""
        with self.planner.allowing():
            method: Method = registry.get("methods", request.method)
            return method

    def _asked(self, request: Given) -> tuple[RequestDocument, Canonical, TableQuery]:
        document = self._read(request)
        form = canonical(document, self._domain)
        return document, form, TableQuery(space=form.space, where=form.filters)

    def _note(self, payload: Mapping[str, Any], by: str) -> None:
        """The line that says that somebody looks, written before the first row is read."""
        self.holding.registered_fingerprint()
        population = self._domain.population
        self.holding.ledger.declarations.note("inspection", {"population": population, **payload}, by, population)


def dominated(source: Source, names: Sequence[str], statistic: Any) -> dict[str, object]:
    """Which cells are dominated, exactly; for the custodian's eyes."""
    verdicts = [statistic.is_dominated(source.values(part).open_below_the_gate()) for part in statistic.queries]
    cells = [name for name, verdict in zip(names, verdicts, strict=True) if verdict]
    return {"cells": len(names), "dominated": len(cells), "which": cells}


def inspect_plan(plan: TablePlan, source: Source, record: int | None = None) -> dict[str, Any]:
    """Sensitivity, scales, expected losses, checklist, true delta; for a `record` (row number), what it can claim."""
    (measurement,) = plan.measurements
    if isinstance(measurement, BootstrapTotals):
        return _totals(measurement, source, record)
    if isinstance(measurement, LocalLaplace):
        return _order_statistic(measurement, source)
    raise Unsupported("There is a report for totals and for order statistics.")


def _totals(step: BootstrapTotals, source: Source, record: int | None) -> dict[str, Any]:
    _, minima, maxima = (_table(source, query) for query in step.needs)
    query = step.statistic.query
    cells, values = rows_of(source, query.space, query.where, str(query.value))
    report: dict[str, Any] = {
        "sensitivity of the whole table": step.statistic.bootstrap(cells, values, step.neighbours, step.membership),
        "checklist": actual_data.checklist(values[cells >= 0], step.statistic.low, step.statistic.high, step.floor),
        "dominance": actual_data.dominance(cells, values),
    }
    if step.epsilon is not None:
        report["scales"] = [float(s) for s in step.scales(minima, maxima)]
        report["expected losses"] = actual_data.compare_options(
            step.statistic, minima, maxima, step.epsilon, step.floor
        )
    if record is not None:
        if not 0 <= record < len(values):
            raise ParameterError("There is no such row.", name="record")
        report["claims"] = actual_data.plausible_deniability(cells, values, record, step.membership, step.declared)
    return report


def _order_statistic(step: LocalLaplace, source: Source) -> dict[str, Any]:
    values = source.values(step.statistic.query).open_below_the_gate()
    report: dict[str, Any] = {
        "exact answer": step.statistic.value(values),
        "sensitivity": step.sensitivity(values),
        "scale": float(max(step.floor, step.sensitivity(values)) / step.epsilon),
    }
    if step.neighbours.scope is Scope.ACTUAL_DATA:
        report["against an intruder who knows the algorithm"] = actual_data.true_delta(
            step.statistic, values, step.epsilon, step.floor, step.neighbours
        )
    return report


def _table(source: Source, query: object) -> IntArray:
    assert isinstance(query, TableQuery) and not isinstance(query, ValuesQuery)
    return source.table(query).open_below_the_gate()


def rows_of(
    source: Source, space: CellSpace, where: tuple[Filter, ...], value: str | None
) -> tuple[IntArray, IntArray]:
    """Return the flat cell (-1: outside) and the value (0: none asked for) of every row, in file order."""
    names = [*(a.variable for a in space.axes), *(f.variable for f in where), *([] if value is None else [value])]
    cells, values = [], []
    for batch in source.scan(list(dict.fromkeys(names)) or list(source.domain.variables)[:1]):
        rows = len(next(iter(batch.values()), ()))
        x = np.zeros(rows, dtype=np.int64) if value is None else np.asarray(batch[value], dtype=np.int64)
        flat, inside = scanned_cells(space, where, source.domain, batch, rows)
        inside &= x != DROPPED_NUMBER
        inside &= ~np.isin(flat, np.asarray(space.structural_indices, dtype=np.int64))
        cells.append(np.where(inside, flat, -1))
        values.append(np.where(x == DROPPED_NUMBER, 0, x))
    empty = np.array([], dtype=np.int64)
    return np.concatenate([empty, *cells]), np.concatenate([empty, *values])
