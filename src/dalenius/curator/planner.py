"""From a request and a policy to a plan: look up the method, check, plan, admit. Looks at documents, never at data.

Everything a plan says (cells, cost, law, expected error) is computable by anybody who holds the documents, so showing
it, and refusing it, costs nothing and tells nothing.
"""

from dataclasses import dataclass, replace
from math import inf, prod

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.neighbours import Scope
from dalenius.core.plan import TablePlan
from dalenius.core.sensitivity import Sensitivity
from dalenius.curator import rules
from dalenius.errors import (
    InternalError,
    NotAllowed,
    ParameterError,
    TooLarge,
    Unconfirmed,
    UnknownName,
    Unsupported,
)
from dalenius.exact import effort
from dalenius.postprocess._show import check as check_show
from dalenius.spec.canonical import Canonical, canonical
from dalenius.spec.document import Part
from dalenius.spec.method import Method
from dalenius.spec.noise import kinds_of_noise
from dalenius.spec.policy import PolicyDocument
from dalenius.spec.question import Question
from dalenius.spec.request import RequestDocument
from dalenius.spec.universe import universe_of

HINTS = {
    "margins": " Margins are planned for counts; ask for totals, means and medians table by table.",
    "universe": " No record can be lost from these tables.",
    "rows": " It is one number of one list of records: use where, not rows or columns.",
}


@dataclass(frozen=True, kw_only=True)
class Planner:
    """Plans requests on one declared domain under one policy."""

    domain: Domain
    policy: PolicyDocument

    def plan(self, request: RequestDocument) -> TablePlan:
        """A priced plan, or a refusal that says what to change."""
        plan = self.plan_stored(request)
        rules.check_universe(request, self.domain)
        return plan

    def plan_stored(self, request: RequestDocument) -> TablePlan:
        """The plan by which an answer is looked up: also of a request that was answered before and is refused anew."""
        rules.check_weight(request)
        check_show(request.show, request.method, request.margins(self.domain))
        method = self._method(request)
        question, form = self._question(request)
        _check_scope(method, question)
        try:
            with effort.limited():
                plan = method.plan(question)
        except effort.Exhausted:
            raise TooLarge(
                "This request takes more arithmetic to price than a free preview may; narrower bounds, fewer rows to a unit"
                " or another mechanism take less."
            ) from None
        if request.margins(self.domain) is None:
            # A method may show several numbers of each cell.
            self._check_size(int(plan.preview.get("cells") or 0))
        plan = self._for_one(plan, request, question)
        rules.check_show(request.show, self.policy)
        if universe_of(request, self.domain).unshown:
            _ = question.universe
        _check_read(question)
        rules.check(plan, request, form.space, self.policy)
        return self._said(rules.shaped(plan, self.policy.table), request)

    def _for_one(self, plan: TablePlan, request: RequestDocument, question: Question) -> TablePlan:
        """The plan of a promise to groups, charged for one unit: the account is about units, whose loss is smaller."""
        size = request.privacy.group
        if size == 1:
            return plan
        if question.scope is not Scope.EVERYWHERE:
            raise Unsupported(
                f"A promise to groups is made under differential privacy; {question.definition.name!r} knows groups of its own"
                " in [table], where they are proved.",
                received=size,
            )
        together = [measurement.profile(question.neighbours) for measurement in plan.measurements]
        if not question.definition.fits(together, question.budget):
            raise InternalError("This plan is not priced for the group that was asked for.")
        one = self.domain.neighbours
        profiles = [measurement.profile(one) for measurement in plan.measurements]
        return replace(plan, reservation=question.definition.cost(profiles), neighbours=one, group=size)

    def _said(self, plan: TablePlan, request: RequestDocument) -> TablePlan:
        """The plan with a sentence on whose records it counts; a release keeps it as a note where margins leave some out."""
        universe = universe_of(request, self.domain)
        labels = {name: self.domain.variable(name).label for name in universe.needs}
        sentence = universe.sentence(labels)
        is_said = universe.unshown and request.table.universe is not None
        return replace(
            plan,
            preview={**plan.preview, "universe": sentence},
            warnings=(*plan.warnings, sentence) if is_said else plan.warnings,
        )

    def _method(self, request: RequestDocument) -> Method:
        """The method that a request names, whose keys it may write."""
        name = request.method
        if name not in registry.names("methods"):
            raise UnknownName.among("measure", name, registry.names("methods"))
        method: Method = registry.get("methods", name)
        keys = method.Parameters.model_fields
        for key in request.privacy.options:
            if key not in keys and key != "statistic":
                raise UnknownName.among(f"option of {name!r}", key, list(keys))
        return method

    def _question(self, request: RequestDocument) -> tuple[Question, Canonical]:
        budget = request.budget()
        definition = self.definition(budget)
        _check_amounts(budget, definition)
        form = canonical(request, self.domain)
        self.check(request, form)

        def choose(
            named: str | None, noise: Part | None, sensitivity: Sensitivity, part: Budget
        ) -> Mechanism:
            return self.choose(named, sensitivity, part, definition, noise)

        question = Question(
            domain=self.domain,
            policy=self.policy,
            budget=budget,
            definition=definition,
            neighbours=replace(self.domain.neighbours.grouped(request.privacy.group), scope=definition.scope),
            chooser=choose,
            _request=request,
            _form=form,
        )
        return question, form

    def definition(self, budget: Budget) -> Definition:
        """The definition that a budget names, if the policy opens it."""
        definition: Definition = registry.get("definitions", budget.definition)()
        is_weaker = definition.scope is not Scope.EVERYWHERE
        if is_weaker and budget.definition not in self.policy.allow.acknowledge:
            raise NotAllowed(
                f"The definition {budget.definition!r} protects less than differential privacy; the policy must acknowledge it"
                " by name.",
                received=budget.definition,
                acknowledge=budget.definition,
            )
        if not self.policy.allows_definition(budget.definition, definition.evidence):
            raise NotAllowed(
                f"The policy does not open the definition {budget.definition!r}.", received=budget.definition
            )
        return definition

    def check(self, request: RequestDocument, form: Canonical) -> None:
        """Refuse names that are not confirmed, and more cells than the policy allows."""
        for name in sorted(request.variables(self.domain)):
            if not self.domain.variable(name).is_confirmed:
                raise Unconfirmed(
                    f"The declaration of {name!r} was drafted from data and not confirmed; read it, then set"
                    " confirmed = true.",
                    variable=name,
                )
        self._check_size(self._cells(request, form.space))

    def _check_size(self, cells: int) -> None:
        limit = self.policy.allow.most_cells
        if cells > limit:
            raise TooLarge(
                f"The table would have {cells:,} cells; the policy allows {limit:,}.",
                received=cells,
                limit=limit,
            )

    def _cells(self, request: RequestDocument, space: CellSpace) -> int:
        """Cells that would be shown: of the table, or of the listed margins."""
        margins = request.margins(self.domain)
        if margins is None or not space.is_virtual:
            return space.size
        width = {axis.name: len(axis) for axis in space.axes}
        for axis in space.axes:
            levels = self.domain.variable(axis.variable).hierarchies if axis.codes else ()
            width |= {f"{axis.variable}.{level.level}": len(level.groups) for level in levels}
        return sum(prod(width[name] for name in margin) for margin in margins)

    def choose(
        self,
        named: str | None,
        sensitivity: Sensitivity,
        budget: Budget,
        definition: Definition,
        noise: Part | None = None,
    ) -> Mechanism:
        """The named mechanism, or the default one with the least variance, calibrated to the budget."""
        if named is not None:
            if named in kinds_of_noise() and named not in registry.names("mechanisms"):
                raise Unsupported(
                    f"The mechanism {named!r} is for one plain table of counts: no margins, weights or other measures.",
                    received=named,
                )
            if named not in registry.names("mechanisms"):
                raise UnknownName.among("mechanism", named, registry.names("mechanisms"))
            if noise is not None:
                return self._stated(named, noise, sensitivity, budget, definition)
            return self._calibrated(named, sensitivity, budget, definition)
        best: Mechanism | None = None
        for name in self._candidates(definition):
            try:
                candidate = self._calibrated(name, sensitivity, budget, definition)
            except Unsupported:
                continue
            if candidate.variance < (best.variance if best is not None else inf):
                best = candidate
        if best is None:
            raise Unsupported(f"No mechanism satisfies {budget.definition!r} for this request.")
        return best

    def _candidates(self, definition: Definition) -> tuple[str, ...]:
        """Mechanisms that are weighed when a request names none: the policy's, or those that offer themselves."""
        if self.policy.allow.mechanisms is not None:
            return tuple(n for n in self.policy.allow.mechanisms if n in registry.names("mechanisms"))
        offered = (name for name, family in registry.every("mechanisms").items() if family.is_default)
        return tuple(name for name in offered if name not in definition.by_name_only)

    def _calibrated(
        self, name: str, sensitivity: Sensitivity, budget: Budget, definition: Definition
    ) -> Mechanism:
        family = registry.get("mechanisms", name)
        return calibrate(family, sensitivity, self.domain.neighbours.relation, definition, budget)

    def _stated(
        self, name: str, noise: Part, sensitivity: Sensitivity, budget: Budget, definition: Definition
    ) -> Mechanism:
        """The member that the request's parameters fix, or the best one in which they hold; within the budget or refused."""
        stated = registry.get("mechanisms", name).stated(noise)
        relation = self.domain.neighbours.relation
        keys = ", ".join(f"{key} = {value}" for key, value in noise.model_dump(mode="json").items() if value)
        if not isinstance(stated, Mechanism):
            try:
                return calibrate(stated, sensitivity, relation, definition, budget)
            except Unsupported:
                raise Unsupported(
                    f"No rate of {name} with {keys:.200} fits this budget. Noise on a finite range gives a count away with the"
                    " mass at its ends: a wider range or a larger delta hides it.",
                    mechanism=name,
                ) from None
        profile = stated.profile(sensitivity, relation)
        if definition.fits([profile], budget):
            return stated
        loss = "unbounded" if profile.epsilon is None else f"{float(profile.epsilon):.4g}"
        raise Unsupported(
            f"{name} with {keys:.200} does not fit this budget: its largest finite loss is {loss}, and it gives a count away"
            f" with probability {float(profile.delta):.3g}.",
            mechanism=name,
            delta=float(profile.delta),
        )


def _check_amounts(budget: Budget, definition: Definition) -> None:
    """An amount that the definition does not read would be spent on nothing; it is refused."""
    if definition.scope is not Scope.EVERYWHERE:
        if budget.rho is not None and (budget.epsilon is not None or budget.delta is not None):
            raise ParameterError("Give epsilon (and delta), or rho; not both.", name="rho")
        return
    optional = ("delta",) if definition.name == "zero_concentrated" else ()
    for name in ("epsilon", "delta", "rho"):
        if getattr(budget, name) is not None and name not in (*definition.amounts, *optional):
            raise ParameterError(
                f"The definition {definition.name!r} takes {' and '.join(definition.amounts)}; it does not use {name}.",
                name=name,
            )


def _check_scope(method: Method, question: Question) -> None:
    """A method answers under the promises for which its claim is proved, and no other."""
    if question.scope in method.scopes:
        return
    served = [
        name
        for name, definition in registry.every("definitions").items()
        if Scope(definition.scope) in method.scopes
    ]
    raise Unsupported(
        f"measure = {method.name!r} is not served under {question.definition.name!r}, only under {', '.join(served)}.",
        measure=method.name,
        definition=question.definition.name,
    )


def _check_read(question: Question) -> None:
    """A key that the request names and the plan did not use would be a lie; it is refused."""
    for key in question.unread():
        raise Unsupported(
            f"measure = {question.method!r} does not use {key!r} here; leave it out.{HINTS.get(key, '')}",
            key=key,
            measure=question.method,
        )
