"""Plans: what will be measured, reserved at its worst case before any data are read."""

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from statistics import NormalDist
from typing import Any

from dalenius.core import registry
from dalenius.core.budget import MASTER, Budget, Cost
from dalenius.core.contracts import Measurement
from dalenius.core.domain import Domain
from dalenius.core.evidence import Evidence
from dalenius.core.law import Law
from dalenius.core.neighbours import Neighbours
from dalenius.core.release import Block, Outcome, Provenance, Subject, Table, Value

Assemble = Callable[[tuple[Block, ...]], tuple[Table, ...]]
# A later step made of its worst case and of what was released before it; None where nothing is left to measure.
Then = Callable[[Any, tuple[Block, ...]], Measurement | None]


def margin_of_error(preview: Mapping[str, Any]) -> float:
    """The 95 % margin of error of a preview; from its standard error where the law is not one of whole numbers."""
    if preview.get("half_width_95") is not None:
        return float(preview["half_width_95"])
    error = preview.get("std_error", preview.get("largest_std_error"))
    return nan if error is None else NormalDist().inv_cdf(0.975) * float(error)


def largest_error(errors: Iterable[float]) -> float:
    """The largest of several errors; NaN where one of them is not known.

    >>> largest_error([1.0, float("nan")]), largest_error([2.0, 1.0])
    (nan, 2.0)
    """
    every = tuple(errors)
    return nan if any(map(isnan, every)) else max(every)


@dataclass(frozen=True, kw_only=True)
class TablePlan:
    """A fixed list of measurements, and the public map from what was measured to what is shown.

    The common plan. `neighbours` carries the scope of the guarantee, `account` the account that is charged; both come
    from the definition. `limits` are what the values of the first table can be, by the declared bounds. `group`
    says for how many units together the budget's guarantee holds. `preview` holds what is known before any data are
    read: cells, expected error, strategy. `subject` are the words of what was asked, where somebody will read the
    plan. `warnings` stand in a release too, `advice` is for who asks; `noted` are the notes that measured blocks
    add, which stand first in the release. `extensions` are those of other distributions that took part.
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
    account: str = MASTER
    preview: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None
    group: int = 1
    subject: Subject | None = None
    noted: Callable[[tuple[Block, ...]], tuple[str, ...]] = lambda _: ()
    extensions: tuple[registry.Extension, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.warnings, *self.advice)

    @property
    def definition(self) -> str:
        """Name of the definition under which the plan was priced."""
        return self.budget.definition

    @property
    def cost(self) -> Cost:
        return self.reservation

    def provenance(self, domain: Domain, *, request: Mapping[str, Any], digest: str, software: str) -> Provenance:
        """What a release of the plan says of itself, but for the ledger's line and the words of the guarantee."""
        return Provenance(
            dataset=domain.name,
            population=domain.population,
            version=domain.version,
            definition=self.definition,
            budget=self.budget.to_dict(),
            neighbours=self.neighbours.to_dict(),
            cost=self.reservation.to_dict(),
            mechanism=self.mechanism,
            strategy=self.strategy,
            evidence=self.evidence.to_dict(),
            software=software,
            request=request,
            digest=digest,
            warnings=self.warnings,
            draws=str(domain.draws),
            extensions=tuple(extension.to_dict() for extension in self.extensions),
        )

    @property
    def error(self) -> float:
        """The expected 95 % margin of error of a cell, the largest of several; NaN where it depends on the data."""
        margins = self.preview.get("margins")
        return largest_error(map(margin_of_error, margins or (self.preview,)))

    def __repr__(self) -> str:
        return str(registry.view("plan", self).lines())

    def _repr_html_(self) -> str:
        return str(registry.view("plan", self).html())

    def steps(self) -> Generator[Measurement, Outcome, None]:
        """The measurements in order, whatever the answers."""
        for measurement in self.measurements:  # noqa: UP028 - outcomes are sent in, which a tuple cannot receive
            yield measurement


@dataclass(frozen=True, kw_only=True, repr=False)
class TwoStepPlan(TablePlan):
    """The only plan whose later steps depend on answers.

    The first `first` measurements are fixed, those after them stand at their worst case. `then` makes each of these of
    the released blocks before it. It must be pure, and whatever was released, the steps cost at most the reservation
    (`tests/conformance/two_step_kit.py`). A step without a reply ends the plan, and nothing is refunded.
    """

    then: Then
    first: int = 1

    def steps(self) -> Generator[Measurement, Outcome, None]:
        released: list[Block] = []
        for place, worst in enumerate(self.measurements):
            step = worst if place < self.first else self.then(worst, tuple(released))
            outcome = None if step is None else (yield step)
            if step is None or not isinstance(outcome, Value):
                return
            released.append(step.block(outcome))


@dataclass(frozen=True, kw_only=True, repr=False)
class BatchPlan(TablePlan):
    """Several plans that are all fixed in advance, reserved as one event.

    `parts` are the plans of the tables in canonical order, `single` what they would cost one by one.
    """

    parts: tuple[TablePlan, ...]
    single: Cost

    @property
    def error(self) -> float:
        """The largest of the tables' margins of error; NaN where one depends on the data."""
        return max((part.error for part in self.parts), key=lambda error: (isnan(error), error))
