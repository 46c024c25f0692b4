"""The kit that every mechanism must pass: its law, its claim against the exact loss, its family, its sampler.

A loss is summed over all answers from the weights alone, which are exact: loss distributions, of which mechanisms make
their claims, are not used. The test of the sampler rejects at 1e-6: about thirty of them would fail by chance once in
thirty thousand changes of the stream.
"""

import json
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from math import exp
from typing import Any

import numpy as np

from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.law import Additive, FloatArray, IntegerLaw, law_from_dict
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import RequestError
from dalenius.exact.sampling import sample

F = Fraction
Patterns = tuple[tuple[int, ...], ...]
PATTERNS: tuple[Patterns, ...] = (((1,),), ((1, 1),), ((2,), (1, 1)))
BUDGETS = (
    Budget.of("pure", epsilon=1),
    Budget.of("approximate", epsilon=1, delta="1e-3"),
    Budget.of("zero_concentrated", rho="1/4"),
)
EPSILONS = (F(0), F(1, 4), F(1), F(2), F(4))
DRAWS = 60_000
MOST_POINTS = 2_000_000
"""Answers of several cells that are summed one by one."""
ROUNDING = 2.0**-34
"""What the sum of so many floats may be off by, and more."""


def check(family: Any) -> int:
    """Everything about one mechanism; returns how many members were judged."""
    for judge in (
        check_members, check_weights, check_documents, check_loss, check_divergence, check_family, check_sampler
    ):  # fmt: skip
        judge(family)
    for name in registry.names("definitions"):
        check_definition(family, name)
    return len(members(family))


@cache
def members(family: Any) -> Sequence[tuple[Any, Patterns, Budget]]:
    """(member, patterns, budget) for every definition that prices the mechanism."""
    priced = []
    for budget in BUDGETS:
        definition = registry.get("definitions", budget.definition)()
        for patterns in PATTERNS:
            try:
                member = calibrate(family, Sensitivity.of_patterns(patterns), Relation.ADD_REMOVE, definition, budget)
            except RequestError:
                continue
            priced.append((member, patterns, budget))
    return priced


def pmf_of(law: IntegerLaw) -> tuple[int, FloatArray]:
    """First point and probabilities from the exact weights."""
    table = law.weights(160)
    total = sum(table.upper)
    return table.first, np.array([weight / total for weight in table.upper])


def check_members(family: Any) -> None:
    """Some definition prices it, and its claim is argued somewhere."""
    assert members(family), f"no definition can calibrate {family.name}"
    for member, _, _ in members(family):
        assert member.name == family.name
        assert member.evidence.references, f"the evidence of {family.name} has no reference"


def check_weights(family: Any) -> None:
    for member, _, _ in members(family):
        table = member.weights(96)
        low, high = member.support
        assert all(a <= b for a, b in zip(table.lower, table.upper, strict=True))
        # The weights narrow: the total is known to far more than a float's precision.
        assert sum(table.upper) + table.left + table.right - sum(table.lower) < sum(table.lower) >> 60
        assert low is None or (table.first == low and table.left == 0)
        assert high is None or (table.last == high and table.right == 0)
        first, p = pmf_of(member)
        k = np.arange(first, first + len(p))
        is_common = p > 1e-25
        assert np.allclose(np.exp(member.log_pmf(k[is_common])), p[is_common], rtol=1e-9, atol=0), "log_pmf"
        assert abs((k * p).sum() - member.mean) <= 1e-9 * (1 + member.variance**0.5), f"mean of {member}"
        assert np.isclose((k * k * p).sum() - member.mean**2, member.variance, rtol=1e-9), f"variance of {member}"
        if high is not None:
            assert np.isneginf(member.log_pmf(np.array([high + 1])))[0]


def check_documents(family: Any) -> None:
    for member, _, _ in members(family):
        law = Additive(member)
        assert law_from_dict(json.loads(json.dumps(law.to_dict()))) == law
        assert type(member)(**member.parameters) == member


def loss(law: IntegerLaw, moves: Sequence[int], epsilon: Fraction) -> float | None:
    """delta at epsilon between the noise of several cells and the same noise moved; None for too many answers."""
    _, p = pmf_of(law)
    width = len(p) + 2 * max(moves)
    if width ** len(moves) > MOST_POINTS:
        return None
    one, other = np.ones(1), np.ones(1)
    for move in moves:
        ends = np.zeros(max(moves))
        cell = np.concatenate([ends, p, ends])
        one, other = np.outer(one, cell).ravel(), np.outer(other, np.roll(cell, move)).ravel()
    factor = exp(epsilon)
    return float(max(np.maximum(a - factor * b, 0).sum() for a, b in ((one, other), (other, one))))


def check_loss(family: Any) -> None:
    """The claim is at least the exact loss."""
    judged = 0
    for member, patterns, budget in members(family):
        profiles = {relation: member.profile(Sensitivity.of_patterns(patterns), relation) for relation in Relation}
        for relation, profile in profiles.items():
            assert profile.relation is relation
            for pattern, epsilon in product(patterns, {*EPSILONS, budget.epsilon or F(1)}):
                delta = loss(member, pattern, epsilon)
                judged += delta is not None
                claim = float(profile.delta_at(epsilon))
                assert delta is None or claim >= delta - ROUNDING, f"{member} claims {claim} at {epsilon}, not {delta}"
    assert judged, "every product was too large for the exact check"


def check_divergence(family: Any) -> None:
    """The zero-concentrated claim bounds the divergence."""
    for member, patterns, _ in members(family):
        profile = member.profile(Sensitivity.of_patterns(patterns), Relation.ADD_REMOVE)
        rho, failure = profile.zero_concentrated()
        _, p = pmf_of(member)
        for pattern in patterns:
            for order in (1.01, 2.0, 8.0):
                total = 0.0
                for size in pattern:
                    a, b = p[size:], p[:-size]
                    is_common = (a > 1e-27) & (b > 1e-27)
                    a, b = a[is_common], b[is_common]
                    if failure:
                        # Within the event that both neighbours can give the output.
                        a, b = a / a.sum(), b / b.sum()
                    total += np.log((a**order * b ** (1 - order)).sum()) / (order - 1)
                assert total <= order * float(rho) + 1e-9, f"{member} claims less than its divergence"


def check_family(family: Any) -> None:
    """The family runs from the most noise to the least."""
    budget = Budget.of("approximate", epsilon=1, delta="1e-3")
    one, epsilon = Sensitivity.of_patterns(((1,),)), F(1, 16)
    losses, claims = [], []
    for size in (F(1, 8), F(1, 4), F(1, 2), F(1), F(2)):
        try:
            member = family.family(size, budget)
        except RequestError:
            continue
        losses.append(loss(member, (1,), epsilon) or 0.0)
        claims.append(float(member.profile(one, Relation.ADD_REMOVE).delta_at(epsilon)))
    assert len(losses) >= 2
    for series in (losses, claims):
        assert all(a <= b + ROUNDING for a, b in pairwise(series)), f"the loss of {family.name} falls along its family"


def check_sampler(family: Any) -> None:
    from scipy.stats import chi2

    for number, (member, _, _) in enumerate(members(family)):
        draws = sample(member, DRAWS, RecordedRandomness(f"{family.name}/{number}"))
        first, p = pmf_of(member)
        assert draws.min() >= first and draws.max() < first + len(p)
        counts = np.bincount(draws - first, minlength=len(p))
        # Cells are merged from both ends until each expects at least twenty draws.
        groups = np.minimum(np.cumsum(p), 1 - 1e-12) * 25 // 1
        expected = np.bincount(groups.astype(int), weights=p) * len(draws)
        observed = np.bincount(groups.astype(int), weights=counts)
        is_large = expected > 20
        statistic = ((observed[is_large] - expected[is_large]) ** 2 / expected[is_large]).sum()
        assert chi2.sf(statistic, max(is_large.sum() - 1, 1)) > 1e-6, f"draws of {member} do not fit its law"


def check_definition(family: Any, name: str) -> None:
    """A definition prices it within the budget, or refuses in a sentence."""
    definition = registry.get("definitions", name)()
    amounts: dict[str, Any] = {"epsilon": F(1), "delta": F(1, 1000), "rho": F(1, 4)}
    if not set(definition.amounts) <= set(amounts):
        # It is paid in amounts of its own.
        return
    budget = Budget(definition=name, **{amount: amounts[amount] for amount in definition.amounts})
    sensitivity = Sensitivity.of_patterns(((1,),))
    try:
        member = calibrate(family, sensitivity, Relation.ADD_REMOVE, definition, budget)
    except RequestError as refusal:
        assert refusal.message.endswith(".")
        return
    profile = member.profile(sensitivity, Relation.ADD_REMOVE)
    assert definition.fits([profile], budget)
    cost = definition.cost([profile])
    assert cost.rho > 0 and 0 <= cost.delta <= (budget.delta or 0)
