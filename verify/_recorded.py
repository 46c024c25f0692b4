"""Releases with recorded noise, for tests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dalenius.core.domain import Domain
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator import gate
from dalenius.engines.memory import MemorySource
from dalenius.publish.to_json import from_json, write_json


def release_of(
    plan: TablePlan, domain: Domain, columns: Mapping[str, Sequence[Any]], request: Mapping[str, Any], seed: str
) -> Release:
    """A recorded release of the plan, as it comes back from its document."""
    source = MemorySource(domain, columns, b"x")
    passage = gate.run(plan, source, plan.neighbours, plan.reservation, RecordedRandomness(seed))
    provenance = plan.provenance(domain, request=request, digest="0", software="test")
    made = Release(
        tables=plan.assemble(passage.blocks),
        blocks=passage.blocks,
        law=plan.law,
        provenance=replace(provenance, warnings=(), is_tainted=True),
    )
    return from_json(write_json(made))
