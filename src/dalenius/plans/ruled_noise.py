"""The noise that a policy's table rules ask for: truncated, or of most entropy within a range and a variance."""

from fractions import Fraction
from math import isfinite

from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.contracts import Definition, Mechanism
from dalenius.core.law import Additive
from dalenius.core.neighbours import Relation
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import NotAllowed, Unsupported
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.mechanisms.max_entropy import MaxEntropy
from dalenius.mechanisms.truncated_laplace import TruncatedLaplace
from dalenius.plans.priced import refuse_public_alone
from dalenius.spec.policy import TableRules
from dalenius.spec.question import Question
from dalenius.statistics.count import Count


def noise_of_counts(question: Question) -> Mechanism:
    """The noise of one table of counts: what the policy's table rules ask for, or the chosen one."""
    rules = question.policy.table
    sensitivity = refuse_public_alone(question, Count(question.query).sensitivity(question.neighbours))
    if not rules.maximum_entropy and rules.truncation is None:
        return question.choose(sensitivity)
    mechanism = mechanism_for(rules, sensitivity, question.neighbours.relation, question.definition, question.budget)
    if question.mechanism not in (None, mechanism.name):
        raise Unsupported(
            f"The policy's table rules ask for {mechanism.name!r} noise; the request names {question.mechanism!r}."
        )
    return mechanism


def mechanism_for(
    rules: TableRules, sensitivity: Sensitivity, relation: Relation, definition: Definition, budget: Budget
) -> Mechanism:
    """The noise that the rules ask for, within the budget; a refusal says what would have to give."""
    mechanism: Mechanism
    if rules.maximum_entropy:
        mechanism = _most_random(rules, sensitivity, relation, definition, budget)
    elif rules.truncation is not None:
        if budget.epsilon is None or not sensitivity.l1:
            raise Unsupported("Truncated noise is calibrated to an epsilon.")
        mechanism = TruncatedLaplace(rate=budget.epsilon / sensitivity.l1, limit=rules.truncation)
        profile = mechanism.profile(sensitivity, relation)
        if not definition.fits([profile], budget):
            raise NotAllowed(
                f"Truncation at {rules.truncation} gives the count away with probability {float(profile.delta):.3g};"
                " the budget's delta is smaller. Raise the truncation or the delta.",
                delta=float(profile.delta),
            )
    else:
        mechanism = calibrate(DiscreteLaplace, sensitivity, relation, definition, budget)
    check_variance(rules, mechanism.variance)
    return mechanism


def _most_random(
    rules: TableRules, sensitivity: Sensitivity, relation: Relation, definition: Definition, budget: Budget
) -> MaxEntropy:
    if rules.truncation is None or rules.variance_cap is None:
        raise Unsupported("Maximum entropy needs both a truncation and a variance_cap.")
    law = MaxEntropy(Fraction(rules.variance_cap), rules.truncation)
    profile = law.profile(sensitivity, relation)
    if not definition.fits([profile], budget):
        raise NotAllowed(
            f"Maximum-entropy noise within {rules.truncation} and of variance {float(rules.variance_cap):g} is not "
            f"within the budget: it gives the count away with probability {float(profile.delta):.3g}.",
            delta=float(profile.delta),
        )
    return law


def ruled_name(rules: TableRules) -> str:
    """Name of the noise that truncation and maximum entropy ask for."""
    return "max_entropy" if rules.maximum_entropy else "truncated_laplace"


def has_ruled_noise(rules: TableRules, law: Additive) -> bool:
    """Whether a law is exactly the one that truncation and maximum entropy ask for."""
    limit = rules.truncation
    return law.noise.name == ruled_name(rules) and law.noise.support == (None if limit is None else -limit, limit)


def least_shown(rules: TableRules) -> int | None:
    """The smallest count other than 0 that may be shown; None without such a rule."""
    if rules.threshold is not None:
        return rules.threshold
    return 1 if rules.nonnegative else None


def check_variance(rules: TableRules, variance: float) -> None:
    """Refuse noise above the variance cap, from the law alone; infinity stands for a variance that is not known."""
    if rules.variance_cap is None or variance <= float(rules.variance_cap) * (1 + 1e-9):
        return
    cap = float(rules.variance_cap)
    if not isfinite(variance):
        raise NotAllowed(
            f"The policy allows a variance of at most {cap:g}, and the variance of these numbers is not known before "
            "data are read. Ask for counts or totals.",
            rule="variance_cap",
        )
    raise NotAllowed(
        f"The noise has variance {variance:.4g}; the policy allows {cap:g}. A larger epsilon is needed.",
        received=variance,
    )
