"""Plans whose noise follows the data: bootstrap and individual privacy, on a ledger page of their own.

Everything is refused unless the policy names it in `acknowledge`, and everything that could be chosen by looking at the
data is named beforehand:

acknowledge               opens
bootstrap                 the definition; totals with one scale for the table, membership private
bootstrap_per_cell        a scale of its own for each cell (needs bootstrap)
public_membership         "everybody knows who is in which cell" (needs bootstrap)
individual                the definition; order statistics and range queries
clamp_to_the_data         range queries cut to the exact count plus or minus one (needs individual)

`[floors]` of the policy gives the least sensitivity, in units of the data, by variable or by definition; there must
be one. Nothing a plan says depends on the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from dalenius.core import registry
from dalenius.core.contracts import Definition
from dalenius.core.domain import Domain
from dalenius.core.law import FloatArray, Withheld
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.plan import TablePlan
from dalenius.core.query import TableQuery
from dalenius.core.release import Block, Table
from dalenius.curator.data_dependent_task import Task
from dalenius.definitions import _data_dependent as shared
from dalenius.errors import NotAllowed, ParameterError, TooLarge, Unconfirmed, Unsupported
from dalenius.spec.canonical import canonical
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument

MOST_CELLS = 100_000


@dataclass(frozen=True, kw_only=True)
class DataDependentPlan(TablePlan):
    """A plan charged to the data-dependent page; `neighbours` carries the scope of its promise."""

    neighbours: Neighbours
    page: str = shared.PAGE


def is_data_dependent(definition: str) -> bool:
    """Whether a definition makes its promise only at or within the data."""
    if definition not in registry.names("definitions"):
        return False
    return Scope(registry.get("definitions", definition).scope) is not Scope.EVERYWHERE


def plan_data_dependent(
    domain: Domain, request: RequestDocument, policy: PolicyDocument, neighbours: Neighbours | None = None
) -> DataDependentPlan:
    """A priced plan, or a refusal that comes before any data are read."""
    budget = request.budget()
    if not is_data_dependent(budget.definition):
        raise Unsupported(f"The definition {budget.definition!r} is planned without looking at data.")
    acknowledged = policy.allow.acknowledge
    if budget.definition not in acknowledged:
        raise NotAllowed(
            f"The definition {budget.definition!r} protects less than differential privacy; the policy must acknowledge it"
            " by name.",
            received=budget.definition,
            acknowledge=budget.definition,
        )
    definition: Definition = registry.get("definitions", budget.definition)()
    near = replace(neighbours or domain.neighbours, scope=definition.scope)
    form = canonical(request, domain)
    query = TableQuery(space=form.space, where=form.filters)
    _check(domain, request, policy, query)
    task = Task(domain, request, policy, near, query)
    measurement, measure, step, further = task.measurement()
    profile = measurement.profile(near)
    if not definition.fits([profile], budget):
        raise Unsupported(f"This request needs epsilon, or rho, under {budget.definition!r}.")
    warnings: tuple[str, ...] = (*getattr(definition, "warnings", ()), *further)
    return DataDependentPlan(
        measurements=(measurement,),
        assemble=_shown(measure, step),
        law=measurement.law,
        reservation=definition.cost([profile]),
        budget=budget,
        mechanism=type(measurement).__module__.rpartition(".")[2],
        strategy=budget.definition,
        evidence=measurement.evidence,
        preview={"cells": query.space.size, "law": {"kind": "withheld"}, "page": shared.PAGE},
        warnings=warnings,
        neighbours=near,
    )


def _check(domain: Domain, request: RequestDocument, policy: PolicyDocument, query: TableQuery) -> None:
    """What every plan is refused for, and what these methods do not take."""
    table, privacy = request.table, request.privacy
    names = {axis.variable for axis in query.space.axes} | {f.variable for f in query.where}
    for name in sorted(names | ({table.of} if table.of is not None else set())):
        if not domain.variable(name).is_confirmed:
            raise Unconfirmed(
                f"The declaration of {name!r} was drafted from data and not confirmed; read it, then set"
                " confirmed = true.",
                variable=name,
            )
    limit = min(policy.allow.most_cells, MOST_CELLS)
    if query.space.size > limit:
        raise TooLarge(
            f"The table would have {query.space.size:,} cells; data-dependent noise is drawn for at most {limit:,}.",
            received=query.space.size,
            limit=limit,
        )
    if privacy.rho is not None and (privacy.epsilon is not None or privacy.delta is not None):
        raise ParameterError("Give epsilon (and delta), or rho; not both.", name="rho")
    if table.weight is not None or table.margins != "none":
        raise Unsupported("Data-dependent tables take neither weights nor margins.")
    if privacy.mechanism is not None or privacy.strategy is not None:
        raise Unsupported(
            "Data-dependent methods choose their own noise; name neither mechanism nor strategy."
        )


def _shown(measure: str, step: Fraction) -> Callable[[tuple[Block, ...]], tuple[Table, ...]]:
    def assemble(blocks: tuple[Block, ...]) -> tuple[Table, ...]:
        return tuple(
            Table(
                name=block.name,
                space=block.space,
                values=np.asarray(block.values * float(step), dtype=np.float64),
                variance=_variance(block),
                measure=measure,
                is_unbiased=isinstance(block.law, Withheld) and block.role == "table",
            )
            for block in blocks
        )

    return assemble


def _variance(block: Block) -> FloatArray:
    """Unknown to readers wherever the law is withheld; zero at structural zeros."""
    variance = np.full(block.space.size, np.nan)
    variance[list(block.space.structural_indices)] = 0.0
    return variance
