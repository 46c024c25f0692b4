"""What a policy demands of a plan, whichever way it was planned: looks at the plan's own laws, never at data.

Every plan passes here once, after planning. A rule is honoured by the plan or the plan is refused; none is ignored.
Which plans honour which rule: docs/reference/documents.md.
"""

import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from dalenius.algebra import joint
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.contracts import AdditiveMeasurement, Adjustment, Definition
from dalenius.core.domain import CellSpace, Domain
from dalenius.core.evidence import UNVETTED
from dalenius.core.law import Additive, Censored, IntArray, Joint, Law, Withheld
from dalenius.core.neighbours import Scope
from dalenius.core.plan import BatchPlan, TablePlan
from dalenius.core.query import Labels, LabelsQuery, SizesQuery, TableQuery, ValuesQuery
from dalenius.core.randomness import SystemRandomness
from dalenius.core.release import Block, Release
from dalenius.core.sealed import Sealed
from dalenius.curator import gate
from dalenius.errors import AfterCharge, NotAllowed, ParameterError, UnknownName, Unsupported
from dalenius.plans.ruled_noise import check_variance, has_ruled_noise, least_shown, ruled_name
from dalenius.postprocess import adds_up, adjusted, adjustments, largest_error, shown_from, within
from dalenius.spec.canonical import Canonical
from dalenius.spec.method import Method, counts_records, takes_weight
from dalenius.spec.notes import note
from dalenius.spec.policy import PolicyDocument, TableRules
from dalenius.spec.question import Question
from dalenius.spec.request import RequestDocument
from dalenius.spec.show import ShowPart

# Whose classes and functions a plan may hold beside those of extensions.
_OURS = {"dalenius", "numpy", "pydantic", "pydantic_core", *sys.stdlib_module_names}
# Rules whose words are about counts; the first three adjust what is shown, the others are a law of noise.
ON_COUNTS = ("threshold", "sparse", "nonnegative", "truncation", "maximum_entropy")
_HINTS = {
    "margins": " Lists with margins are of counts, estimates and distributions; ask for other measures table by table.",
    "universe": " No record can be lost from these tables.",
    "in_cells_of": " Its error does not depend on how many records a cell has, or their number is declared.",
    "group": " Groups are proved for order statistics there.",
    "rows": " It is one number of one list of records: use where, not rows or columns.",
}


def check(plan: TablePlan, request: RequestDocument, space: CellSpace, policy: PolicyDocument) -> None:
    """Refuse a plan that does not honour a rule of the policy, or that leaves aside what the request names."""
    for kind, named, used in (
        ("mechanism", request.privacy.mechanism, plan.mechanism),
        ("strategy", request.privacy.strategy, plan.strategy),
    ):
        if named not in (None, used):
            raise Unsupported(
                f"The request names the {kind} {named!r}, and this table would be made with {used!r}. Leave {kind!r} "
                "out.",
                received=named,
                used=used,
            )
    # A definition that the policy acknowledges by name brings noise of its own.
    if not plan.neighbours.scope.is_data_dependent or plan.definition not in policy.allow.acknowledge:
        for measurement in plan.measurements:
            name = measurement.mechanism.name if isinstance(measurement, AdditiveMeasurement) else plan.mechanism
            if not policy.allows("mechanisms", name, measurement.evidence):
                raise NotAllowed(
                    f"The policy does not open the mechanism {name!r} (evidence: {measurement.evidence.level}).",
                    mechanism=name,
                )
    rules = policy.table
    _check_counts(rules, request)
    if rules.truncation is not None or rules.maximum_entropy:
        _check_noise(rules, plan)
    if rules.unbiased:
        _check_unbiased(plan)
    if space.structural_zeros and not rules.structural_zeros:
        raise NotAllowed(
            "The policy says structural_zeros = false: every cell is perturbed. This table has cells that are declared"
            " impossible and would be shown as 0.",
            rule="structural_zeros",
        )
    if rules.variance_cap is not None:
        for variance in variances(plan):
            check_variance(rules, variance)


def check_amounts(budget: Budget, definition: Definition) -> None:
    """An amount that the definition does not read would be spent on nothing; it is refused."""
    if definition.scope.is_data_dependent:
        if budget.rho is not None and (budget.epsilon is not None or budget.delta is not None):
            raise ParameterError("Give epsilon (and delta), or rho; not both.", name="rho")
        return
    has_delta = definition.name == "zero_concentrated" or definition.scope is Scope.GIVEN_THE_PUBLIC
    optional = ("delta",) if has_delta else ()
    for name, amount in budget.amounts.items():
        if amount is not None and name not in (*definition.amounts, *optional):
            raise ParameterError(
                f"The definition {definition.name!r} takes {' and '.join(definition.amounts)}; it does not use {name}.",
                name=name,
            )


def check_weight(request: RequestDocument, domain: Domain) -> None:
    """Refuse a weight that the declaration does not name as one, and weights of measures that take none."""
    table = request.table
    if table.weight is not None and not takes_weight(request.method):
        measures = " or ".join(repr(name) for name in registry.names("methods") if takes_weight(name))
        raise Unsupported(
            f"A weight is used with measure = {measures} only; a weighted {request.method} is not served. Leave "
            f"'weight' out for the {request.method} of the records themselves.",
            measure=table.measure,
            weight=table.weight,
        )
    if table.weight is not None and table.weight not in domain.weights:
        if table.weight not in domain.variables:
            raise UnknownName.among("weight", table.weight, domain.weights)
        raise UnknownName(
            f"{table.weight!r} is not declared as a weight. Declared weights: {', '.join(domain.weights) or 'none'}. "
            f"If it says how much a row counts, write weight = true under [variables.{table.weight}] in the "
            "declaration of the data set.",
            kind="weight",
            received=table.weight,
            known=list(domain.weights),
        )


def check_show(show: ShowPart, policy: PolicyDocument) -> None:
    """Numbers that are moved before they are shown are biased."""
    if policy.table.unbiased and not (show.is_plain and policy.show.is_plain):
        raise NotAllowed(
            "The policy says unbiased = true: numbers are shown as they were measured, and [show] moves them.",
            rule="unbiased",
        )


def variances(plan: TablePlan) -> Iterator[float]:
    """The variance of every additive block and the largest one of every shown table; infinity where none is known."""
    laws = [measurement.law for measurement in plan.measurements]
    yield from (law.variance for law in laws if isinstance(law, Additive))
    if isinstance(plan.law, Joint) and joint.is_combined(plan.law):
        yield from joint.largest_variances(plan.law)
    elif not all(isinstance(law, Additive) for law in laws) or not _shows_blocks(plan):
        yield inf


def _shows_blocks(plan: TablePlan) -> bool:
    return isinstance(plan.law, Additive) or (isinstance(plan.law, Joint) and plan.law.structure == "weighted")


def _check_unbiased(plan: TablePlan) -> None:
    """Shown values are unbiased if every block is and the map to what is shown is linear."""
    laws = [measurement.law for measurement in plan.measurements]
    is_linear = _shows_blocks(plan) or joint.is_combined(plan.law)
    # Noise that follows the data is shown as biased, whatever its mean: its law is not published or may be cut.
    is_linear = is_linear and not plan.neighbours.scope.is_data_dependent
    # A value that is cut to what is possible is biased, and whether one is cut is known only afterwards.
    is_linear = is_linear and plan.limits is None
    if not is_linear or any(isinstance(law, Additive) and law.noise.mean != 0 for law in laws):
        raise NotAllowed(
            "The policy says unbiased = true: the expected shown value is the exact one. These numbers are selected,"
            " divided or cut, so that they are biased. Ask for counts or totals.",
            rule="unbiased",
        )


def extended(plan: TablePlan, used: Collection[registry.Extension], policy: PolicyDocument, method: str) -> TablePlan:
    """Return the plan with the extensions of other distributions that took part in it.

    One that changes prices or distributions makes its evidence the weakest. A method of another distribution may plan
    with parts of the project; with a step, noise or law of its own it needs the policy's consent to weak evidence.
    """
    listed = tuple(sorted(used, key=lambda extension: tuple(extension.to_dict().values())))
    is_foreign = has_foreign_parts(plan)
    if is_foreign and not policy.allows("mechanisms", method, UNVETTED) and not any(e.is_unvetted for e in listed):
        raise NotAllowed(
            f"{listed[0]} plans with private steps that are not the project's, so that its claims are unvetted: [allow]"
            f' evidence must hold "none", or acknowledge {method!r}.',
            extension=listed[0].name,
        )
    return made_with(plan, listed, is_unvetted=is_foreign or any(extension.is_unvetted for extension in listed))


def made_with(plan: TablePlan, extensions: tuple[registry.Extension, ...], *, is_unvetted: bool) -> TablePlan:
    sentence = note("unvetted_extensions" if is_unvetted else "extensions", names=", ".join(map(str, extensions)))
    return replace(
        plan,
        extensions=(*plan.extensions, *extensions),
        evidence=UNVETTED if is_unvetted else plan.evidence,
        warnings=tuple(dict.fromkeys((*plan.warnings, sentence))),
    )


def has_foreign_parts(plan: TablePlan) -> bool:
    """Whether what a plan measures, prices or publishes as a law has a part that is not made by the project.

    How released numbers are put together and what is said of them is left out: that is done after the gate.
    """
    parts = [getattr(plan, part.name) for part in fields(plan) if part.name not in ("assemble", "noted", "extensions")]
    visited: set[int] = set()
    waiting: list[Any] = [type(plan), *parts]
    while waiting:
        part = waiting.pop()
        if id(part) in visited or isinstance(part, str | bytes | np.ndarray | np.generic):
            continue
        visited.add(id(part))
        kind = part if isinstance(part, type) or callable(part) else type(part)
        if str(getattr(kind, "__module__", None) or "builtins").partition(".")[0] not in _OURS:
            return True
        if isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, Collection):
            waiting += part
        elif is_dataclass(part) and not isinstance(part, type):
            waiting += [getattr(part, own.name) for own in fields(part)]
        elif not callable(part):
            waiting += getattr(part, "__dict__", {}).values()
    return False


def _check_counts(rules: TableRules, request: RequestDocument) -> None:
    table = request.table
    if counts_records(table.measure) and table.weight is None:
        return
    for name in ON_COUNTS:
        if getattr(rules, name) not in (None, False):
            raise NotAllowed(
                f"The policy's rule {name!r} is about counts; it cannot be kept for"
                f" {'weighted counts' if table.weight else f'measure = {table.measure!r}'}, so that only unweighted"
                " counts are served under it.",
                rule=name,
            )


def _check_noise(rules: TableRules, plan: TablePlan) -> None:
    law = plan.law
    if isinstance(law, Additive) and [m.law for m in plan.measurements] == [law] and has_ruled_noise(rules, law):
        return
    raise NotAllowed(
        f"The policy asks for {ruled_name(rules)} noise (truncation, maximum_entropy), which is a law for one plain "
        "table of counts. Ask for the table alone, without margins or strategy.",
        rule="maximum_entropy" if rules.maximum_entropy else "truncation",
    )


def shaped(plan: TablePlan, rules: TableRules, least: int) -> TablePlan:
    """The plan with the law of what will be shown: a rule on small counts is a part of the published law.

    One measured block keeps an exact law. Where several blocks are combined, or the law follows the data, what is shown
    has no law that inference could use; intervals of its cells remain.
    """
    laws = [measurement.law for measurement in plan.measurements]
    law: Law = Withheld(f"whole counts from {least} on are shown of several measurements that are not published")
    if isinstance(plan.law, Additive) and laws == [plan.law]:
        law = Censored(plan.law, least)
        check_variance(rules, law.variance)
    elif rules.variance_cap is not None:
        for variance in variances(plan):
            check_variance(rules, float(largest_error(np.array([variance]), least)[0]) if isfinite(variance) else inf)
    said = note("no_negatives") if least == 1 else note("small_counts", least=least)
    return replace(plan, law=law, warnings=(*plan.warnings, said))


def apply(rules: TableRules, release: Release) -> Release:
    """The rules on what is shown of counts: sparse tables are withheld, small counts are shown as 0. Nothing here can
    fail.

    They are about counts, and under them nothing else is planned; a release of anything else passes unchanged. A list
    of tables is withheld as a whole if one of them is sparse: the others would show its sums. The document holds no
    value that a rule hides: a single block is published as it is shown, several blocks are left out.
    """
    if not release.tables or not all(counts_records(table.measure) for table in release.tables):
        return release
    if rules.sparse is not None:
        mean = min(float(np.mean(table.values)) for table in release.tables)
        if mean < float(rules.sparse):
            note = {"name": "withheld", "reason": "sparse", "rule": "mean released count", "charged": True}
            return release.with_(tables=(), blocks=(), adjustments=(*release.adjustments, note))
    least = least_shown(rules)
    return release if least is None else shown_from(least, release)


def rehearse(
    plan: TablePlan, form: Canonical, domain: Domain, policy: PolicyDocument, steps: Sequence[Adjustment]
) -> None:
    """Raise what showing an answer to this plan so would raise, under the policy's [show] and the request's own.

    An adjustment is refused for what a plan says (axes, levels, noise, declared totals), never for what was measured.
    So the plan is run on no records, and its answer is adjusted as the real one would be. Nothing is read, charged or
    kept.
    """
    if not steps and policy.show.is_plain:
        return
    # Whether a table is sparse follows from its numbers, and here there are none.
    table_rules = policy.table.model_copy(update={"sparse": None})
    for part in plan.parts if isinstance(plan, BatchPlan) else (plan,):
        blocks = _measured(part, domain)
        if not blocks:
            continue
        release = Release(
            blocks=blocks,
            tables=part.assemble(blocks),
            law=part.law,
            provenance=part.provenance(domain, request=form.content, digest=form.digest, software=""),
        )
        ruled = apply(table_rules, within(part.limits, release))
        if adds_up(ruled):
            ruled = adjusted(ruled, adjustments(policy.show))
        adjusted(ruled, steps)


def _measured(plan: TablePlan, domain: Domain) -> tuple[Block, ...]:
    """The blocks of a plan on no records; none where a step gives no reply or runs a custodian's function."""
    if gate.functions_of(plan):
        return ()
    keyed = gate.with_keys(plan, "rehearsal", bytes(32))
    try:
        passage = gate.run(keyed, _NoRecords(domain), plan.neighbours, plan.reservation, SystemRandomness())
    except AfterCharge:
        return ()
    return () if passage.is_silent else passage.blocks


class _NoRecords:
    """A source of a declared domain without any rows."""

    def __init__(self, domain: Domain) -> None:
        self.domain = domain

    def table(self, query: TableQuery) -> Sealed[IntArray]:
        return Sealed(np.zeros(query.space.size, dtype=np.int64))

    def values(self, query: ValuesQuery) -> Sealed[IntArray]:
        return Sealed(np.zeros(0, dtype=np.int64))

    def labels(self, query: LabelsQuery) -> Sealed[Labels]:
        return Sealed(())

    def sizes(self, query: SizesQuery) -> Sealed[IntArray]:
        return Sealed(np.zeros(len(query.clips) + 1, dtype=np.int64))

    def scan(self, variables: Sequence[str]) -> Iterator[Mapping[str, IntArray]]:
        return iter(())

    def fingerprint(self, key: bytes) -> str:
        return ""

    def judge(self) -> Mapping[str, Any]:
        return {}


def not_served(method: Method, question: Question) -> Unsupported:
    """A method answers under the guarantees for which its claim is proved, and no other."""
    served = [
        name for name, definition in registry.every("definitions").items() if Scope(definition.scope) in method.scopes
    ]
    return Unsupported(
        f"measure = {method.name!r} is not served under {question.definition.name!r}, only under {', '.join(served)}.",
        measure=method.name,
        definition=question.definition.name,
    )


def not_used(method: Method, key: str) -> Unsupported:
    """A key that the request names and the plan did not use would be a lie; it is refused."""
    belongs = method.belongs
    hint = f" It belongs to {belongs[key]}." if key in belongs else _HINTS.get(key, "")
    return Unsupported(
        f"measure = {method.name!r} does not use {key!r} here; leave it out.{hint}", key=key, measure=method.name
    )
