"""Plans: what will be measured, reserved at its worst case before any data are read."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalenius.core.budget import MASTER, Budget, Cost
from dalenius.core.contracts import Measurement
from dalenius.core.evidence import Evidence
from dalenius.core.law import Law
from dalenius.core.neighbours import Neighbours
from dalenius.core.release import Block, Outcome, Table

Assemble = Callable[[tuple[Block, ...]], tuple[Table, ...]]


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """A fixed list of measurements, and the public map from what was measured to what is shown.

    The common plan. `neighbours` carries the scope of the promise, `page` the account that pays; both come from the
    definition. `limits` are what the values of the first table can be, by the declared
    bounds. `preview` holds what is known before any data are read: cells, expected error, strategy.
    """

    measurements: tuple[Measurement, ...]
    assemble: Assemble
    law: Law
    reservation: Cost
    budget: Budget
    mechanism: str
    strategy: str
    evidence: Evidence
    neighbours: Neighbours
    page: str = MASTER
    preview: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None

    @property
    def definition(self) -> str:
        """Name of the definition under which the plan was priced."""
        return self.budget.definition

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The measurements in order, whatever the answers."""
        for measurement in self.measurements:  # noqa: UP028 - outcomes are sent in, which a tuple cannot receive
            yield measurement
