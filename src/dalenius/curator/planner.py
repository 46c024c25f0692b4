"""From a request and a policy to a plan: looks at documents, never at data.

Everything a plan says (cells, cost, law, expected error) is computable by anybody who holds the documents, so showing
it, and refusing it, costs nothing and tells nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, prod, sqrt

import numpy as np

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.domain import Domain
from dalenius.core.law import Additive
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.release import Block, Table
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator import dominance, properties, rules
from dalenius.curator.data_dependent import is_data_dependent, plan_data_dependent
from dalenius.curator.learned_bounds import plan_learned_bounds
from dalenius.curator.magnitudes import Choose, plan_mean, plan_total
from dalenius.curator.medians import plan_median
from dalenius.curator.order_statistics import asks_for_order_statistic, plan_order_statistic
from dalenius.curator.strategies import plan_margins
from dalenius.curator.weighted import plan_weighted
from dalenius.errors import NotAllowed, ParameterError, TooLarge, Unconfirmed, UnknownName, Unsupported
from dalenius.exact import effort
from dalenius.measurements.noisy import Noisy
from dalenius.spec.canonical import canonical
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.statistics.count import Count

# What a policy acknowledges to say that survey weights were fixed without looking at the sample.
FIXED_WEIGHTS = "fixed_weights"
# What [privacy] options may say, by measure.
OPTIONS = {"median": ("q",), "total": ("learn_bounds",), "dominance": dominance.OPTIONS}
# Members that the planner weighs against each other when a request names none.
CANDIDATES = ("discrete_laplace", "discrete_gaussian", "truncated_laplace")
# Under a probabilistic budget pure noise fails never and truncated noise sometimes, for hardly less variance: it is taken if named.
UNFAILING = ("discrete_laplace", "discrete_gaussian")


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Plans requests on one declared domain under one policy."""

    domain: Domain
    policy: PolicyDocument

    def plan(self, request: RequestDocument) -> TablePlan:
        """A priced plan, or a refusal that says what to change."""
        rules.check_weight(request)
        query = self._check(request)
        try:
            with effort.limited():
                if is_data_dependent(request.privacy.definition):
                    plan: TablePlan = plan_data_dependent(self.domain, request, self.policy)
                else:
                    plan = self._planned(request, query)
        except effort.Exhausted:
            raise TooLarge(
                "This request takes more arithmetic to price than a free preview may; narrower bounds, fewer rows to a unit"
                " or another mechanism take less."
            ) from None
        rules.check(plan, request, query.space, self.policy)
        return plan

    def _planned(self, request: RequestDocument, query: TableQuery) -> TablePlan:
        budget = request.budget()
        definition = self.definition(budget)
        _check_amounts(budget, definition)
        if asks_for_order_statistic(request):
            return plan_order_statistic(self.domain, request, query.where, budget, definition)
        _check_options(request)
        if request.table.of is not None:
            return self._magnitude(request, query, budget, definition)
        margins = request.margins(self.domain)
        if request.table.weight is not None:
            if margins is not None:
                raise Unsupported(
                    "Margins are planned for unweighted counts; ask for weighted tables one by one."
                )
            return plan_weighted(
                self.domain,
                query,
                request.table.weight,
                budget,
                definition,
                self._chooser(request, definition),
                is_fixed=FIXED_WEIGHTS in self.policy.allow.acknowledge,
            )
        if margins is not None or request.privacy.strategy is not None:
            return plan_margins(
                self.domain,
                query.space,
                margins if margins is not None else (tuple(axis.name for axis in query.space.axes),),
                query.where,
                budget,
                definition,
                weights=[float(w) for w in request.table.weights] or None,
                objective="maximum" if request.table.objective == "maximum" else "weighted",
                strategy=request.privacy.strategy,
                mechanism=request.privacy.mechanism or self._only_mechanism(),
            )
        return self._table(request, query, budget, definition)

    def _magnitude(
        self, request: RequestDocument, query: TableQuery, budget: Budget, definition: Definition
    ) -> TablePlan:
        of, options = str(request.table.of), request.privacy.options
        if request.margins(self.domain) is not None:
            raise Unsupported(
                "Margins are planned for counts; ask for totals, means and medians table by table."
            )
        if request.table.measure == "median":
            return plan_median(self.domain, query, of, budget, definition, options.get("q", "1/2"))
        if request.table.measure == "total" and "learn_bounds" in options:
            share = options["learn_bounds"]
            return plan_learned_bounds(self.domain, query, of, budget, definition, share=share)
        choose = self._chooser(request, definition)
        if request.table.measure == "dominance":
            return dominance.plan_dominance(
                self.domain, query, of, budget, definition, choose, request.privacy.options
            )
        planner = plan_total if request.table.measure == "total" else plan_mean
        return planner(self.domain, query, of, budget, definition, choose)

    def _chooser(self, request: RequestDocument, definition: Definition) -> Choose:
        def choose(sensitivity: Sensitivity, part: Budget) -> Mechanism:
            return self.choose(request.privacy.mechanism, sensitivity, part, definition)

        return choose

    def definition(self, budget: Budget) -> Definition:
        """The definition that a budget names, if the policy opens it."""
        definition: Definition = registry.get("definitions", budget.definition)()
        if not self.policy.allows_definition(budget.definition, definition.evidence):
            raise NotAllowed(
                f"The policy does not open the definition {budget.definition!r}.", received=budget.definition
            )
        return definition

    def _check(self, request: RequestDocument) -> TableQuery:
        """The exact table behind a request, if its names are confirmed and its size is allowed."""
        form = canonical(request, self.domain)
        query = TableQuery(space=form.space, where=form.filters)
        names = {axis.variable for axis in query.space.axes} | {f.variable for f in query.where}
        names |= {name for name in (request.table.of, request.table.weight) if name is not None}
        for name in sorted(names):
            if not self.domain.variable(name).is_confirmed:
                raise Unconfirmed(
                    f"The declaration of {name!r} was drafted from data and not confirmed; read it, then set"
                    " confirmed = true.",
                    variable=name,
                )
        limit, cells = self.policy.allow.most_cells, self._cells(request, query)
        if cells > limit:
            raise TooLarge(
                f"The table would have {cells:,} cells; the policy allows {limit:,}.",
                received=cells,
                limit=limit,
            )
        return query

    def _cells(self, request: RequestDocument, query: TableQuery) -> int:
        """Cells that would be shown: of the table, or of the listed margins."""
        margins = request.margins(self.domain)
        if margins is None or not query.space.is_virtual:
            return query.space.size
        width = {axis.name: len(axis) for axis in query.space.axes}
        return sum(prod(width.get(name, 1) for name in margin) for margin in margins)

    def _table(
        self, request: RequestDocument, query: TableQuery, budget: Budget, definition: Definition
    ) -> TablePlan:
        statistic = Count(query)
        sensitivity = statistic.sensitivity(self.domain.neighbours)
        mechanism = self._ruled(request, sensitivity, budget, definition)
        name = " x ".join(axis.name for axis in query.space.axes) or "total"
        measurement = Noisy(name, statistic, mechanism)
        profile = measurement.profile(self.domain.neighbours)
        law = measurement.law
        return TablePlan(
            measurements=(measurement,),
            assemble=show_blocks,
            law=law,
            reservation=definition.cost([profile]),
            budget=budget,
            mechanism=mechanism.name,
            strategy="table",
            evidence=mechanism.evidence,
            preview={
                "cells": query.space.size,
                "structural_zeros": len(query.space.structural_zeros),
                "std_error": law.std_error,
                "half_width_95": law.half_width(0.95),
                "law": law.to_dict(),
            },
        )

    def _ruled(
        self, request: RequestDocument, sensitivity: Sensitivity, budget: Budget, definition: Definition
    ) -> Mechanism:
        """The mechanism that the policy's table rules ask for, or the chosen one."""
        wanted = self.policy.table
        if wanted.maximum_entropy or wanted.truncation is not None:
            relation = self.domain.neighbours.relation
            return properties.mechanism_for(wanted, sensitivity, relation, definition, budget)
        return self.choose(request.privacy.mechanism, sensitivity, budget, definition)

    def choose(
        self, named: str | None, sensitivity: Sensitivity, budget: Budget, definition: Definition
    ) -> Mechanism:
        """The named mechanism, or the one with the least variance, calibrated to the budget."""
        if named is not None:
            if named not in registry.names("mechanisms"):
                raise UnknownName.among("mechanism", named, registry.names("mechanisms"))
            return self._calibrated(named, sensitivity, budget, definition)
        best: Mechanism | None = None
        allowed = self.policy.allow.mechanisms
        candidates = UNFAILING if budget.definition == "probabilistic" else CANDIDATES
        for name in candidates if allowed is None else allowed:
            try:
                candidate = self._calibrated(name, sensitivity, budget, definition)
            except Unsupported:
                continue
            if candidate.variance < (best.variance if best is not None else inf):
                best = candidate
        if best is None:
            raise Unsupported(f"No mechanism satisfies {budget.definition!r} for this request.")
        return best

    def _calibrated(
        self, name: str, sensitivity: Sensitivity, budget: Budget, definition: Definition
    ) -> Mechanism:
        family = registry.get("mechanisms", name)
        return calibrate(family, sensitivity, self.domain.neighbours.relation, definition, budget)

    def _only_mechanism(self) -> str | None:
        """The one mechanism that the policy allows for margins, if it allows a single one."""
        allowed = self.policy.allow.mechanisms
        return allowed[0] if allowed is not None and len(allowed) == 1 else None


def _check_amounts(budget: Budget, definition: Definition) -> None:
    """An amount that the definition does not read would be spent on nothing; it is refused."""
    optional = ("delta",) if definition.name == "zero_concentrated" else ()
    for name in ("epsilon", "delta", "rho"):
        if getattr(budget, name) is not None and name not in (*definition.amounts, *optional):
            raise ParameterError(
                f"The definition {definition.name!r} takes {' and '.join(definition.amounts)}; it does not use {name}.",
                name=name,
            )


def _check_options(request: RequestDocument) -> None:
    """Options are few and belong to a measure; an unknown one is refused."""
    known = OPTIONS.get(request.table.measure, ())
    for name in request.privacy.options:
        if name not in known:
            raise UnknownName.among(f"option of {request.table.measure!r}", name, known)


def show_blocks(blocks: Sequence[Block]) -> tuple[Table, ...]:
    """Each measured block as it is: unbiased, signed, with the variance of its law."""
    return tuple(_show(block) for block in blocks)


def _show(block: Block) -> Table:
    law = block.law
    if not isinstance(law, Additive):
        raise Unsupported("Only additive blocks are shown as they are.")
    values = block.values.astype(np.float64) * float(law.step)
    variance = np.full(len(values), law.variance)
    variance[list(block.space.structural_indices)] = 0.0
    return Table(name=block.name, space=block.space, values=values, variance=variance)


def root_mean_square(variances: Sequence[float]) -> float:
    """Expected error of a typical cell."""
    return sqrt(sum(variances) / len(variances)) if variances else 0.0
