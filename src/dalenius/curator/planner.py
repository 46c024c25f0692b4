"""From a request and a policy to a plan: look up the method, check, plan, admit. Looks at documents, never at data.

Everything a plan says (cells, cost, law, expected error) is computable by anybody who holds the documents, so showing
it, and refusing it, costs nothing and tells nothing.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from math import prod, sqrt
from typing import Any

from dalenius import errors, limits
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Adjustment, Definition, Mechanism
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.neighbours import Neighbours, Relation, Scope
from dalenius.core.plan import BatchPlan, TablePlan
from dalenius.core.query import SizesQuery, TableQuery
from dalenius.core.rationals import plain
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator import rules
from dalenius.curator.gate import functions_of
from dalenius.curator.trade_off import too_fine, with_amount
from dalenius.exact.calibrations import calibrated
from dalenius.plans.batch import BatchAsked, MemberBudget, batch_of, member_plans
from dalenius.plans.ruled_noise import least_shown
from dalenius.postprocess import adjustments, check_show
from dalenius.spec.batch import Asked, BatchDocument, every_record, form_of, places_of
from dalenius.spec.canonical import Canonical, canonical
from dalenius.spec.document import Part
from dalenius.spec.method import Method
from dalenius.spec.noise import kinds_of_noise
from dalenius.spec.notes import note
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.question import Question
from dalenius.spec.request import RequestDocument
from dalenius.spec.universe import universe_of

# Functions that were seen to get ready in a process of their own on this machine.
_RUNNABLE: set[str] = set()
_TOO_MUCH = (
    "This request takes more arithmetic to price than a free preview may; narrower bounds, fewer rows to a unit or "
    "another mechanism take less."
)
_TOO_MUCH_TOGETHER = (
    "These tables take more arithmetic to price together than a free preview may; fewer tables, or definition ="
    ' "zero_concentrated", take less.'
)


@contextmanager
def bounded(atoms: int, sentence: str = _TOO_MUCH) -> Iterator[None]:
    """A free preview whose arithmetic is bounded, or a refusal; the tables of a batch are bounded together."""
    if limits.is_limited():
        yield
        return
    try:
        with limits.limited(atoms):
            yield
    except limits.Exhausted:
        raise errors.TooLarge(sentence) from None


@contextmanager
def _of_table(number: int) -> Iterator[None]:
    """A refusal that says which table of a batch it is about."""
    try:
        yield
    except errors.DaleniusError as refusal:
        refusal.message = f"Table {number}: {refusal.message}"
        refusal.args = (refusal.message,)
        refusal.detail["table"] = number
        raise


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Plans requests on one declared domain under one policy."""

    domain: Domain
    policy: PolicyDocument
    # The custodian's own functions of this process, by their digests; no document can add to them.
    functions: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        registry.admit(self._allowed)

    @cached_property
    def _allowed(self) -> registry.Allowed:
        return self.policy.extensions

    def allowing(self) -> AbstractContextManager[set[registry.Extension]]:
        """Inside, the extensions of other distributions are those that the policy allows."""
        return registry.allowing(self._allowed)

    def plan(self, request: Asked, adjust: Sequence[Adjustment] | None = None) -> TablePlan:
        """Plan a request and return its cost; raises a refusal that says what to change.

        `adjust` is what [show] asks for; without it, all of [show] that names no totals and no other release.
        """
        with self.allowing():
            request, advice = self.priced(request)
            plan = self.plan_stored(request)
            self.check_functions(plan)
            steps = adjustments(request.show) if adjust is None else adjust
            rules.rehearse(plan, form_of(request, self.domain), self.domain, self.policy, steps)
            return replace(plan, advice=(*advice, *plan.advice)) if advice else plan

    def completed(self, request: Asked) -> Asked:
        """Return the request with what it leaves out and is asked with: whose records margins count, and the amount
        for an accuracy.
        """
        return self.priced(request)[0]

    def priced(self, request: Asked) -> tuple[Asked, tuple[str, ...]]:
        """Return the completed request, and what is to be said of its amount."""
        with self.allowing():
            request = every_record(request, self.domain)
            if request.privacy.error_at_most is None:
                return request, ()
            request, found = with_amount(request, self.policy, self.plan_stored)
            return request, (found,)

    def check_functions(self, plan: TablePlan) -> None:
        """Refuse plans that need a function not registered in this process, or not runnable here."""
        for name in functions_of(plan):
            if name not in self.functions:
                raise errors.NotAllowed(
                    f"The function {name:.80} is not one of this process: only the custodian's own program runs "
                    "functions, after curator.function(…) gave them.",
                    received=name,
                )
            if name not in _RUNNABLE:
                from dalenius.measurements.blocks.runner import Runner

                Runner(function=self.functions[name]).check()
                _RUNNABLE.add(name)

    def plan_stored(self, request: Asked) -> TablePlan:
        """The plan by which an answer is looked up: also of a request that was answered before and is refused anew."""
        with self.allowing() as used:
            if not isinstance(request, BatchDocument):
                return self._sized(self._ruled(self._planned(request), request))
            with bounded(limits.BATCH * limits.ATOMS, _TOO_MUCH_TOGETHER):
                plan = self._sized(self._plan_batch(request))
            return rules.extended(plan, used, self.policy, "batch") if used else plan

    def _sized(self, plan: TablePlan) -> TablePlan:
        """Return the plan with its delta beside one over the public size, where one is declared."""
        delta, size = plan.budget.delta, self.domain.public_size
        if not delta or not size:
            return plan
        code = "delta_above_size" if delta * size > 1 else "delta_of_size"
        return replace(plan, warnings=(*plan.warnings, note(code, delta=plain(delta), size=size)))

    def _plan_batch(self, batch: BatchDocument) -> BatchPlan:
        """Every table planned and ruled as if it were asked for alone, and all of them priced as one event."""
        budget = batch.privacy.budget()
        definition = self.definition(budget)
        rules.check_amounts(budget, definition)
        # Two tables that are one are refused before anything is searched.
        _ = form_of(batch, self.domain)
        neighbours = replace(self.domain.neighbours, scope=definition.scope)
        places = places_of(batch, self.domain)
        members = [batch.members[place] for place in places]
        shares = [batch.shares[place] for place in places]
        asked = BatchAsked(shares=tuple(shares), budget=budget, definition=definition, neighbours=neighbours)

        def planned(number: int, allotment: MemberBudget) -> TablePlan:
            return _of_table(places[number] + 1)(self._planned)(members[number], allotment)

        plans = tuple(
            _of_table(places[number] + 1)(self._ruled)(plan, members[number])
            for number, plan in enumerate(member_plans(asked, planned))
        )
        self._check_size(sum(int(plan.preview.get("cells") or 0) for plan in plans))
        plan = batch_of(asked, plans)
        tables = [plan.preview["tables"][places.index(place)] for place in range(len(places))]
        return replace(plan, preview={**plan.preview, "tables": tables})

    def _planned(self, request: RequestDocument, allotment: MemberBudget | None = None) -> TablePlan:
        """The plan of a method, for the request's own budget or for a part of a batch's."""
        with self.allowing() as used:
            rules.check_weight(request, self.domain)
            check_show(request.show, request.method, request.margins(self.domain))
            if request.method not in registry.names("methods"):
                raise registry.unknown("methods", request.method, "measure")
            method: Method = registry.get("methods", request.method)
            question = self.question(request, allotment)
            if question.scope not in method.scopes:
                raise rules.not_served(method, question)
            with bounded(limits.ATOMS):
                plan = method.plan(question)
            # Sums that engines could not hold are refused by the declaration: after the charge nothing may fail.
            for need in (need for measurement in plan.measurements for need in measurement.needs):
                table = need.table if isinstance(need, SizesQuery) else need
                if isinstance(table, TableQuery):
                    table.largest(self.domain)
            if request.margins(self.domain) is None:
                # A method may show several numbers of each cell.
                self._check_size(int(plan.preview.get("cells") or 0))
            if universe_of(request, self.domain).unshown:
                _ = question.universe
            unread = question.unread()
            if unread:
                raise rules.not_used(method, unread[0])
            if request.privacy.group != 1 and not question.scope.is_data_dependent:
                plan = self._for_one(plan, request.privacy.group, question)
        return rules.extended(plan, used, self.policy, request.method) if used else plan

    def _ruled(self, plan: TablePlan, request: RequestDocument) -> TablePlan:
        """The plan as the policy's rules shape it, or a refusal."""
        rules.check_show(request.show, self.policy)
        rules.check(plan, request, canonical(request, self.domain).space, self.policy)
        least = least_shown(self.policy.table)
        if least is not None:
            plan = rules.shaped(plan, self.policy.table, least)
        # A sentence on whose records are counted.
        universe = universe_of(request, self.domain)
        labels = {name: self.domain.variable(name).label for name in universe.named}
        sentence = universe.sentence(labels)
        is_said = universe.unshown and request.table.universe is not None
        # The noises of two waves are independent: a change has the square root of two times the error of a level.
        level, waves = plan.error, request.privacy.waves
        series = {"waves": waves, "level_half_width_95": level, "change_half_width_95": sqrt(2) * level}
        parts = ", ".join(labels[part.variable] or part.variable for part in universe.parts)
        return replace(
            plan,
            advice=(
                *plan.advice,
                *([note("part", names=parts)] if parts else []),
                *(too_fine(plan, request, self.domain) if self.domain.public_size else ()),
            ),
            preview={**plan.preview, **(series if waves != 1 else {}), "universe": sentence},
            warnings=(*plan.warnings, sentence) if is_said else plan.warnings,
        )

    def _for_one(self, plan: TablePlan, size: int, question: Question) -> TablePlan:
        """Return the plan of a guarantee to groups, charged for one unit, whose loss is smaller."""
        if question.scope is not Scope.ALL_DATA:
            raise errors.Unsupported(
                f"A guarantee to groups is made under differential privacy, not under {question.definition.name!r}. "
                "Remove `group`.",
                received=size,
            )
        together = [measurement.profile(question.neighbours) for measurement in plan.measurements]
        if not question.definition.fits(together, question.budget):
            raise errors.InternalError("This plan is not priced for the group that was asked for.")
        one = self.domain.neighbours
        profiles = [measurement.profile(one) for measurement in plan.measurements]
        return replace(plan, reservation=question.definition.cost(profiles), neighbours=one, group=size)

    def question(self, request: RequestDocument, allotment: MemberBudget | None = None) -> Question:
        with self.allowing():
            if allotment is None:
                budget = request.privacy.budget()
                definition = self.definition(budget)
                rules.check_amounts(budget, definition)
            else:
                # A batch's own guarantee was checked; in which currency a part of it is spent is arithmetic.
                definition, budget = allotment
            form = canonical(request, self.domain)
            request = request.in_order(self.domain)
            self.check(request, form)
            neighbours = self._neighbours(definition, request.privacy.group)
            return Question(
                domain=self.domain,
                policy=self.policy,
                budget=budget,
                definition=definition,
                neighbours=neighbours,
                chooser=partial(self.choose, definition, neighbours.relation),
                _request=request,
                _form=form,
            )

    def _neighbours(self, definition: Definition, group: int) -> Neighbours:
        """The declared neighbours, of whom a guarantee may leave out what is publicly known."""
        # Where noise follows the data, a method proves groups of its own (`Question.group`).
        together = 1 if definition.scope.is_data_dependent else group
        neighbours = replace(self.domain.neighbours.grouped(together), scope=definition.scope)
        if definition.scope is not Scope.GIVEN_THE_PUBLIC:
            return neighbours
        public = self.domain.public_attributes
        if not public:
            raise errors.Unsupported(
                f"The definition {definition.name!r} leaves publicly known attributes out of its guarantee, and the "
                'dataset document declares none: public = "where everybody can read it" in [variables.…].',
                definition=definition.name,
            )
        return replace(neighbours, relation=Relation.REPLACE, public=public)

    def definition(self, budget: Budget) -> Definition:
        """The definition that a budget names, if the policy opens it."""
        with self.allowing():
            definition: Definition = registry.get("definitions", budget.definition)()
        is_weaker = definition.scope is not Scope.ALL_DATA
        if is_weaker and budget.definition not in self.policy.allow.acknowledge:
            raise errors.NotAllowed(
                f"The definition {budget.definition!r} protects less than differential privacy; the policy must "
                "acknowledge it by name.",
                received=budget.definition,
                acknowledge=budget.definition,
            )
        if not self.policy.allows("definitions", budget.definition, definition.evidence):
            raise errors.NotAllowed(
                f"The policy does not open the definition {budget.definition!r}.", received=budget.definition
            )
        return definition

    def check(self, request: RequestDocument, form: Canonical) -> None:
        """Refuse names that are not confirmed, and more cells than the policy allows."""
        for name in sorted(request.variables(self.domain)):
            if not self.domain.variable(name).is_confirmed:
                raise errors.Unconfirmed(
                    f"The declaration of {name!r} was drafted from data and not confirmed; read it, then set"
                    " confirmed = true.",
                    variable=name,
                )
        self._check_size(self._cells(request, form.space) if form.space.is_virtual else form.space.size)

    def _check_size(self, cells: int) -> None:
        limit = self.policy.allow.most_cells
        if cells > limit:
            raise errors.TooLarge(
                f"The table would have {cells:,} cells; the policy allows {limit:,}.", received=cells, limit=limit
            )

    def _cells(self, request: RequestDocument, space: CellSpace) -> int:
        """Cells that would be shown of listed margins."""
        width = {axis.name: len(axis) for axis in space.axes}
        for axis in space.axes:
            levels = self.domain.variable(axis.variable).hierarchies if axis.codes else ()
            width |= {f"{axis.variable}.{level.level}": len(level.groups) + axis.has_rest for level in levels}
        return sum(prod(width[name] for name in margin) for margin in request.margins(self.domain) or ())

    def choose(
        self,
        definition: Definition,
        relation: Relation,
        named: str | None,
        noise: Part | None,
        sensitivity: Sensitivity,
        budget: Budget,
    ) -> Mechanism:
        """The named mechanism, or the default one with the least variance, calibrated to the budget."""
        with self.allowing():
            if named is not None:
                if named not in registry.names("mechanisms"):
                    if named not in kinds_of_noise():
                        raise registry.unknown("mechanisms", named)
                    raise errors.Unsupported(
                        f"The mechanism {named!r} is for one plain table of counts: no margins, weights or other "
                        "measures.",
                        received=named,
                    )
                if noise is not None:
                    return _stated(named, noise, sensitivity, budget, definition, relation)
                return calibrated(registry.get("mechanisms", named), sensitivity, relation, definition, budget)
            best: tuple[float, int, Mechanism] | None = None
            # Those of the policy, or those that offer themselves; the one that may be narrowest first.
            offered = (name for name, family in registry.own("mechanisms").items() if family.is_default)
            names = [name for name in offered if name not in definition.by_name_only]
            if self.policy.allow.mechanisms is not None:
                names = [name for name in self.policy.allow.mechanisms if name in registry.names("mechanisms")]
            bounds = (getattr(registry.get("mechanisms", name), "least_variance", lambda *_: 0.0) for name in names)
            weighed = zip((bound(sensitivity, budget) for bound in bounds), range(len(names)), names, strict=True)
            for bound, number, name in sorted(weighed):
                # Noise that is known to be wider than another is not calibrated: that takes the longest where it is
                # widest.
                if best is not None and bound > best[0]:
                    continue
                with suppress(errors.Unsupported):
                    made = calibrated(registry.get("mechanisms", name), sensitivity, relation, definition, budget)
                    if best is None or (made.variance, number) < best[:2]:
                        best = (made.variance, number, made)
        if best is None:
            raise errors.Unsupported(
                f"No mechanism satisfies {budget.definition!r} for this request: one unit can move what is measured by "
                f"{float(sensitivity.l1):.3g} steps, which needs wider noise at this budget than is drawn. More "
                'budget, narrower bounds or fewer rows to a unit help, and for estimates error = "noise".'
            )
        return best[2]


def _stated(
    name: str, noise: Part, sensitivity: Sensitivity, budget: Budget, definition: Definition, relation: Relation
) -> Mechanism:
    """Return the mechanism with the request's parameters, or the best one in which they hold."""
    stated = registry.get("mechanisms", name).stated(noise)
    keys = ", ".join(f"{key} = {value}" for key, value in noise.model_dump(mode="json").items() if value)
    if not isinstance(stated, Mechanism):
        try:
            return calibrate(stated, sensitivity, relation, definition, budget)
        except errors.Unsupported:
            raise errors.Unsupported(
                f"No rate of {name} with {keys:.200} fits this budget. Noise on a finite range gives a count away "
                "with the mass at its ends: a wider range or a larger delta hides it.",
                mechanism=name,
            ) from None
    profile = stated.profile(sensitivity, relation)
    if definition.fits([profile], budget):
        return stated
    loss = "unbounded" if profile.epsilon is None else f"{float(profile.epsilon):.4g}"
    raise errors.Unsupported(
        f"{name} with {keys:.200} does not fit this budget: its largest finite loss is {loss}, and it gives a "
        f"count away with probability {float(profile.delta):.3g}.",
        mechanism=name,
        delta=float(profile.delta),
    )
