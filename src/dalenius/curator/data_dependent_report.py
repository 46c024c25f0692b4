"""All that the custodian may want to know about one data-dependent plan, from the data: for `inspection` only.

The result holds exact sensitivities, losses and claims. It must be wrapped as `Confidential`, noted in the ledger, and
never shown to anybody else; choosing a request after reading it is outside every guarantee.
"""

from typing import Any

import numpy as np

from dalenius.core.contracts import Source
from dalenius.core.domain import CellSpace
from dalenius.core.law import IntArray
from dalenius.core.neighbours import Scope
from dalenius.core.query import Filter, TableQuery, ValuesQuery
from dalenius.curator.custodian_reports import (
    checklist,
    compare_options,
    dominance,
    plausible_deniability,
    true_delta,
)
from dalenius.curator.data_dependent import DataDependentPlan
from dalenius.engines._tally import axis_positions, passes
from dalenius.errors import ParameterError, Unsupported
from dalenius.measurements.bootstrap_totals import BootstrapTotals
from dalenius.measurements.local_laplace import LocalLaplace
from dalenius.spec.coding import DROPPED_NUMBER


def inspect_plan(plan: DataDependentPlan, source: Source, record: int | None = None) -> dict[str, Any]:
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
        "sensitivity of the whole table": step.statistic.bootstrap(
            cells, values, step.neighbours, step.membership
        ),
        "checklist": checklist(values[cells >= 0], step.statistic.low, step.statistic.high, step.floor),
        "dominance": dominance(cells, values),
    }
    if step.epsilon is not None:
        report["scales"] = [float(s) for s in step.scales(minima, maxima)]
        report["expected losses"] = compare_options(step.statistic, minima, maxima, step.epsilon, step.floor)
    if record is not None:
        if not 0 <= record < len(values):
            raise ParameterError("There is no such row.", name="record")
        report["claims"] = plausible_deniability(cells, values, record, step.membership, step.declared)
    return report


def _order_statistic(step: LocalLaplace, source: Source) -> dict[str, Any]:
    values = source.values(step.statistic.query).open_below_the_gate()
    report: dict[str, Any] = {
        "exact answer": step.statistic.value(values),
        "sensitivity": step.sensitivity(values),
        "scale": float(max(step.floor, step.sensitivity(values)) / step.epsilon),
    }
    if step.neighbours.scope is Scope.AT_THE_DATA:
        report["against an intruder who knows the algorithm"] = true_delta(
            step.statistic, values, step.epsilon, step.floor, step.neighbours
        )
    return report


def _table(source: Source, query: object) -> IntArray:
    assert isinstance(query, TableQuery) and not isinstance(query, ValuesQuery)
    return source.table(query).open_below_the_gate()


def rows_of(
    source: Source, space: CellSpace, where: tuple[Filter, ...], value: str
) -> tuple[IntArray, IntArray]:
    """Flat cell (-1: outside the table) and value of every row, in the order of the file."""
    names = list(dict.fromkeys([*(a.variable for a in space.axes), *(f.variable for f in where), value]))
    cells, values = [], []
    for batch in source.scan(names):
        x = np.asarray(batch[value], dtype=np.int64)
        inside = x != DROPPED_NUMBER
        flat = np.zeros(len(x), dtype=np.int64)
        for axis in space.axes:
            place = axis_positions(axis, np.asarray(batch[axis.variable], dtype=np.int64))
            inside &= place >= 0
            flat = flat * len(axis) + np.maximum(place, 0)
        for condition in where:
            codes = np.asarray(batch[condition.variable], dtype=np.int64)
            inside &= passes(condition, source.domain.variable(condition.variable), codes)
        inside &= ~np.isin(flat, np.asarray(space.structural_indices, dtype=np.int64))
        cells.append(np.where(inside, flat, -1))
        values.append(np.where(x == DROPPED_NUMBER, 0, x))
    empty = np.array([], dtype=np.int64)
    return np.concatenate([empty, *cells]), np.concatenate([empty, *values])
