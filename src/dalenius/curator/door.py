"""The custodian's door: exact tables and what a plan would do to them, for eyes that may see the data anyway.

Every look is a line in the ledger. Nothing here is released, and what is chosen after a look is outside every
guarantee.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dalenius.core.contracts import Source
from dalenius.core.neighbours import Scope
from dalenius.core.query import TableQuery
from dalenius.core.release import Release
from dalenius.curator import utility
from dalenius.curator.data_dependent_report import inspect_plan
from dalenius.curator.holding import Holding
from dalenius.curator.inspection import Confidential
from dalenius.curator.memo import plan_digest
from dalenius.curator.planner import Planner
from dalenius.errors import Unsupported
from dalenius.methods.dominance import judged
from dalenius.spec import load
from dalenius.spec.canonical import canonical
from dalenius.spec.request import RequestDocument

RequestLike = str | Path | Mapping[str, Any] | RequestDocument


class CustodianDoor(Holding):
    """What only the custodian may see."""

    planner: Planner

    def request(self, request: RequestLike) -> RequestDocument:
        """Read a request document."""
        return request if isinstance(request, RequestDocument) else load.load_request(request)

    def inspect(self, request: RequestLike, *, by: str = "custodian") -> Confidential:
        """The exact table, for the custodian's eyes; a ledger line says that somebody looked."""
        document = self.request(request)
        form = canonical(document, self.domain)
        query = TableQuery(space=form.space, where=form.filters)
        self._registered_fingerprint()
        self.ledger.note("inspection", {"population": self.domain.population, "request": form.content}, by=by)
        exact = self.source.table(query).open_below_the_gate()
        cells = query.space.labels() or [()]
        table = {
            " · ".join(labels) or "total": int(v) for labels, v in zip(cells, exact.tolist(), strict=True)
        }
        return Confidential(f"Exact counts of {self.domain.name} {self.domain.version}", table)

    def inspect_plan(
        self, request: RequestLike, *, record: int | None = None, by: str = "custodian"
    ) -> Confidential:
        """What a data-dependent plan would do to these data: scales, expected losses, claims, the true loss.

        For the custodian's eyes. Choosing an option after such a look is outside every guarantee.
        """
        plan = self.planner.plan(self.request(request))
        if plan.neighbours.scope is Scope.EVERYWHERE:
            raise Unsupported(
                "Only plans whose noise depends on the data have more to show than their preview."
            )
        self._registered_fingerprint()
        note = {"population": self.domain.population, "plan": plan_digest(plan, self.policy)}
        self.ledger.note("inspection", note, by=by)
        report = inspect_plan(plan, self.source, record)
        return Confidential(f"What {plan.definition} would do to {self.domain.name}", report)

    def inspect_dominance(self, request: RequestLike, *, by: str = "custodian") -> Confidential:
        """Which cells of a request with `measure = "dominance"` a few contributors dominate, exactly."""
        document = self.request(request)
        if document.table.measure != "dominance":
            raise Unsupported(
                'Ask with measure = "dominance", of = "variable", and the rows and columns to judge.'
            )
        form = canonical(document, self.domain)
        query = TableQuery(space=form.space, where=form.filters)
        self._registered_fingerprint()
        note = {"population": self.domain.population, "request": form.content, "what": "dominance"}
        self.ledger.note("inspection", note, by=by)
        found = dominated(self.source, query, str(document.table.of), document.privacy.options)
        return Confidential(f"Dominated cells of {self.domain.name} {self.domain.version}", found)

    def compare(self, request: RequestLike, release: Release, *, by: str = "custodian") -> Confidential:
        """How far a release is from the exact counts, in the losses of the literature; for the custodian's eyes."""
        form = canonical(self.request(request), self.domain)
        query = TableQuery(space=form.space, where=form.filters)
        self._registered_fingerprint()
        note = {"population": self.domain.population, "request": form.content, "what": "utility"}
        self.ledger.note("inspection", note, by=by)
        exact = self.source.table(query).open_below_the_gate().reshape(query.space.shape)
        shown = release.find(*(axis.name for axis in query.space.axes)).values.reshape(query.space.shape)
        return Confidential(
            f"Utility of release {release.provenance.digest[:12]}", utility.compare(exact, shown)
        )


def dominated(source: Source, query: TableQuery, of: str, options: Mapping[str, object]) -> dict[str, object]:
    """Which cells are dominated, exactly; for the custodian's eyes."""
    names, statistic = judged(query, of, options)
    verdicts = [
        statistic.is_dominated(source.values(part).open_below_the_gate()) for part in statistic.queries
    ]
    found = [name for name, verdict in zip(names, verdicts, strict=True) if verdict]
    return {"cells": len(names), "dominated": len(found), "which": found}
