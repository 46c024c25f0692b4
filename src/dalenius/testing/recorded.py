"""Releases with recorded noise, for tests."""

from collections.abc import Mapping, Sequence
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Provenance, Release
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.publish.to_json import from_json, to_json


def release_of(
    plan: TablePlan,
    domain: Domain,
    columns: Mapping[str, Sequence[Any]],
    request: Mapping[str, Any],
    seed: str,
) -> Release:
    """A recorded release of the plan, as it comes back from its document."""
    source = MemorySource(domain, columns, b"x")
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
    made = Release(
        tables=plan.assemble(passage.blocks),
        blocks=passage.blocks,
        law=plan.law,
        provenance=Provenance(
            dataset=domain.name,
            population=domain.population,
            version=domain.version,
            definition=plan.definition,
            budget=plan.budget.to_dict(),
            neighbours=plan.neighbours.to_dict(),
            cost=plan.reservation.to_dict(),
            mechanism=plan.mechanism,
            strategy=plan.strategy,
            evidence=plan.evidence.to_dict(),
            software="test",
            request=request,
            digest="0",
            is_tainted=True,
            draws=str(domain.draws),
        ),
    )
    return from_json(to_json(made))
