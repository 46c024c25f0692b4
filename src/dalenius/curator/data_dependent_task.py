"""From a data-dependent request to the one measurement that answers it; looks at documents, never at data."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeVar

from dalenius.core.contracts import Measurement
from dalenius.core.conversions import rho_to_delta
from dalenius.core.domain import Bounds, Domain
from dalenius.core.neighbours import Neighbours, Scope
from dalenius.core.query import TableQuery
from dalenius.core.rationals import rational
from dalenius.definitions import _data_dependent as shared
from dalenius.errors import NotAllowed, ParameterError, UnknownName, Unsupported
from dalenius.measurements.bootstrap_totals import BootstrapTotals, Option
from dalenius.measurements.data_dependent_selection import DataDependentSelection
from dalenius.measurements.local_laplace import LocalLaplace, LocalStatistic
from dalenius.measurements.range_query import ACKNOWLEDGEMENT, Clamp, RangeQuery
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.request import RequestDocument
from dalenius.statistics.extreme import Extreme
from dalenius.statistics.interquartile import Interquartile
from dalenius.statistics.magnitude_table import MagnitudeTable, Membership
from dalenius.statistics.quantile import Quantile
from dalenius.statistics.value_range import ValueRange

PER_CELL, PUBLIC_MEMBERSHIP = "bootstrap_per_cell", "public_membership"
STATISTICS = (
    "quantile",
    "median",
    "maximum",
    "minimum",
    "second_maximum",
    "range",
    "interquartile",
    "largest_total",
)


E = TypeVar("E", bound=StrEnum)


def _choice(kind: type[E], value: object, name: str) -> E:
    if str(value) not in [str(member) for member in kind]:
        raise UnknownName.among(name, str(value), [str(member) for member in kind])
    return kind(str(value))


Planned = tuple[Measurement, str, Fraction, tuple[str, ...]]


@dataclass(frozen=True)
class Task:
    """One request on its way to a measurement: (measurement, measure, step, further warnings)."""

    domain: Domain
    request: RequestDocument
    policy: PolicyDocument
    neighbours: Neighbours
    query: TableQuery

    def measurement(self) -> Planned:
        """What answers the request, or a refusal."""
        measure, options = self.request.table.measure, self.request.privacy.options
        if "statistic" in options:
            return self._statistic(str(options["statistic"]), "statistic")
        if measure == "median":
            return self._statistic("quantile" if "q" in options else "median")
        if measure == "total":
            return self._totals()
        if measure == "count":
            return self._range()
        raise Unsupported(
            "A data-dependent mean is a total divided by a public or separately released count."
        )

    def _take(self, *known: str) -> None:
        """Refuse options that this task does not read: another spelling would be another, equal release."""
        for name in self.request.privacy.options:
            if name not in known:
                raise UnknownName.among("option", name, known)

    @property
    def _of(self) -> str:
        if self.request.table.of is None:
            raise ParameterError(
                'This statistic needs of = "variable" in [table], with measure = "median" or "total".'
            )
        return self.request.table.of

    @property
    def _bounds(self) -> Bounds:
        return self.domain.variable(self._of).bounds

    def _floor(self) -> int:
        """The declared least sensitivity, in steps, rounded up."""
        floors, name = self.policy.floors, self.request.privacy.definition
        found = floors.get(self._of, floors.get(name))
        if found is None:
            raise NotAllowed(
                f"The policy must declare a floor for {self._of!r} (or for {name!r}) in [floors]: a scale of zero would"
                " publish the truth, and refusing it would say so.",
                variable=self._of,
            )
        return max(1, -(-Fraction(found) // self._bounds.step))

    def _named(self, name: str, what: str) -> None:
        if name not in self.policy.allow.acknowledge:
            raise NotAllowed(
                f"{what} must be named by the custodian: acknowledge = [..., {name!r}] in the policy.",
                acknowledge=name,
            )

    def _totals(self) -> Planned:
        if self.neighbours.scope is not Scope.WITHIN_THE_DATA:
            raise Unsupported(
                "Totals are served under bootstrap privacy; for one table use definition = 'bootstrap'."
            )
        self._take("option", "membership", "declared")
        options, acknowledged = self.request.privacy.options, self.policy.allow.acknowledge
        default = Option.PER_CELL if PER_CELL in acknowledged else Option.ONE
        option = _choice(Option, options.get("option", default), "option")
        if option is not default:
            raise NotAllowed(
                f"The policy names the option {default.value!r}; the request asks for {option.value!r}."
            )
        membership = _choice(Membership, options.get("membership", Membership.PRIVATE), "membership")
        if membership is Membership.PUBLIC:
            self._named(PUBLIC_MEMBERSHIP, "Public membership of cells")
        budget = self.request.budget()
        pure = budget.epsilon if budget.rho is None and budget.delta is None else None
        measurement = BootstrapTotals(
            name=f"total of {self._of}",
            statistic=MagnitudeTable.of(self.domain, self._of, self.query.space, self.query.where),
            neighbours=self.neighbours,
            epsilon=pure,
            rho=None if pure is not None else self._rho(),
            option=option,
            membership=membership,
            floor=self._floor(),
            declared=self._declared(),
        )
        further = (shared.MEMBERSHIP,) if membership is Membership.PUBLIC else ()
        return measurement, "total", self._bounds.step, further

    def _rho(self) -> Fraction:
        """The largest rho (a multiple of 1/1000 of a coarse bound) within the budget."""
        budget = self.request.budget()
        if budget.rho is not None:
            return budget.rho
        assert budget.epsilon is not None and budget.delta is not None
        low, high = Fraction(0), budget.epsilon
        for _ in range(20):
            middle = (low + high) / 2
            fits = rho_to_delta(middle, budget.epsilon) <= budget.delta
            low, high = (middle, high) if fits else (low, middle)
        if not low:
            raise Unsupported("No normal noise fits so small an epsilon and delta.")
        return low

    def _declared(self) -> tuple[int, ...]:
        found = self.request.privacy.options.get("declared", ())
        texts = found if isinstance(found, tuple) else (str(found),)
        return tuple(round(rational(text, "declared") / self._bounds.step) for text in texts)

    def _range(self) -> Planned:
        if self.neighbours.scope is not Scope.AT_THE_DATA or self.query.space.size != 1:
            raise Unsupported(
                "Counts need no data-dependent noise: their sensitivity is known. Ask for them under differential privacy."
            )
        self._take("clamp")
        budget = self.request.budget()
        if budget.epsilon is None or budget.delta is not None:
            raise ParameterError("A range query needs epsilon alone.", name="epsilon")
        clamp = _choice(Clamp, self.request.privacy.options.get("clamp", Clamp.NONE), "clamp")
        if clamp is Clamp.DATA:
            self._named(ACKNOWLEDGEMENT, "The clamp to the data")
        measurement = RangeQuery(
            name="count",
            query=self.query,
            epsilon=budget.epsilon,
            clamp=clamp,
            size=self.domain.public_size,
            acknowledged=self.policy.allow.acknowledge,
        )
        return measurement, "count", Fraction(1), (shared.CLAMP,) if clamp is Clamp.DATA else ()

    def _statistic(self, name: str, *read: str) -> Planned:
        if name not in STATISTICS:
            raise UnknownName.among("statistic", name, STATISTICS)
        self._take(
            *read, *(() if name == "largest_total" else ("group",)), *(("q",) if name == "quantile" else ())
        )
        budget, floor = self.request.budget(), self._floor()
        if budget.epsilon is None or budget.delta is not None:
            raise ParameterError("This statistic needs epsilon alone.", name="epsilon")
        if name == "largest_total":
            table = MagnitudeTable.of(self.domain, self._of, self.query.space, self.query.where)
            selection = DataDependentSelection(
                name="largest total",
                statistic=table,
                epsilon=budget.epsilon,
                neighbours=self.neighbours,
                floor=floor,
            )
            return selection, "selection", Fraction(1), ()
        if self.query.space.axes:
            raise Unsupported(
                "An order statistic is served for one list of values; use where, not rows or columns."
            )
        measurement = LocalLaplace(
            name=f"{name} of {self._of}",
            statistic=self._order_statistic(name),
            epsilon=budget.epsilon,
            neighbours=self.neighbours,
            floor=floor,
            group=self._group(),
        )
        return measurement, name, self._bounds.step, ()

    def _group(self) -> int:
        size = rational(self.request.privacy.options.get("group", 1), "group")
        if size.denominator != 1 or not 1 <= size <= 1000:
            raise ParameterError("group must be a whole number from 1 to 1000.", name="group")
        return int(size)

    def _order_statistic(self, name: str) -> LocalStatistic:
        where = self.query.where
        q = rational(self.request.privacy.options.get("q", Fraction(1, 2)), "q")
        build: dict[str, Callable[[], LocalStatistic]] = {
            "quantile": lambda: Quantile.of(self.domain, self._of, q, where),
            "median": lambda: Quantile.of(self.domain, self._of, Fraction(1, 2), where),
            "maximum": lambda: Extreme.of(self.domain, self._of, where=where),
            "minimum": lambda: Extreme.of(self.domain, self._of, is_largest=False, where=where),
            "second_maximum": lambda: Extreme.of(self.domain, self._of, rank=2, where=where),
            "range": lambda: ValueRange.of(self.domain, self._of, where),
            "interquartile": lambda: Interquartile.of(self.domain, self._of, where),
        }
        return build[name]()
