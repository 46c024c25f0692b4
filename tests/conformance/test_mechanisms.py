"""Every mechanism the registry finds, through the same checks: to add a mechanism is to be tested here.

A member is calibrated for each definition that can price the mechanism. Chi-square tests use a recorded source and reject at 1e-6;
with about thirty of them the suite would fail by chance once in thirty thousand changes of the stream.
"""

import json
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from dalenius.audit.exact import product_hockey_stick
from dalenius.core import registry
from dalenius.core.budget import Budget
from dalenius.core.calibrate import calibrate
from dalenius.core.law import Additive, law_from_dict
from dalenius.core.neighbours import Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sensitivity import Sensitivity
from dalenius.errors import RequestError, TooLarge
from dalenius.exact.sampling import sample

F = Fraction
NAMES = registry.names("mechanisms")
PATTERNS = [((1,),), ((1, 1),), ((2,), (1, 1))]
BUDGETS = [
    Budget.of("pure", epsilon=1),
    Budget.of("approximate", epsilon=1, delta="1e-3"),
    Budget.of("zero_concentrated", rho="1/4"),
]
EPSILONS = [F(0), F(1, 4), F(1), F(2), F(4)]


@cache
def members(name):
    """(member, patterns, budget) for every definition that prices the mechanism."""
    found = []
    for budget in BUDGETS:
        definition = registry.get("definitions", budget.definition)()
        for patterns in PATTERNS:
            try:
                made = calibrate(
                    registry.get("mechanisms", name),
                    Sensitivity.of_patterns(patterns),
                    Relation.ADD_REMOVE,
                    definition,
                    budget,
                )
            except RequestError:
                continue
            found.append((made, patterns, budget))
    return found


def pmf_of(law):
    """First point and probabilities from the exact weights."""
    table = law.weights(160)
    total = sum(table.upper)
    return table.first, np.array([w / total for w in table.upper])


@pytest.mark.parametrize("name", NAMES)
def test_some_definition_prices_it(name):
    assert members(name), "no definition can calibrate this mechanism"
    for made, _, _ in members(name):
        assert made.name == name
        assert made.evidence.references


@pytest.mark.parametrize("name", NAMES)
def test_the_law_is_what_its_weights_say(name):
    for made, _, _ in members(name):
        table = made.weights(96)
        low, high = made.support
        assert all(a <= b for a, b in zip(table.lower, table.upper, strict=True))
        # The weights narrow: the total is known to far more than a float's precision.
        assert sum(table.upper) + table.left + table.right - sum(table.lower) < sum(table.lower) >> 60
        assert low is None or (table.first == low and table.left == 0)
        assert high is None or (table.last == high and table.right == 0)
        first, p = pmf_of(made)
        k = np.arange(first, first + len(p))
        seen = p > 1e-25
        assert np.allclose(np.exp(made.log_pmf(k[seen])), p[seen], rtol=1e-9, atol=0)
        assert (k * p).sum() == pytest.approx(made.mean, abs=1e-9 * (1 + made.variance**0.5))
        assert (k * k * p).sum() - made.mean**2 == pytest.approx(made.variance, rel=1e-9)
        if high is not None:
            assert np.isneginf(made.log_pmf(np.array([high + 1])))[0]


@pytest.mark.parametrize("name", NAMES)
def test_documents_rebuild_it(name):
    for made, _, _ in members(name):
        law = Additive(made)
        assert law_from_dict(json.loads(json.dumps(law.to_dict()))) == law
        assert type(made)(**made.parameters) == made


@pytest.mark.parametrize("name", NAMES)
def test_the_claim_is_at_least_the_exact_loss(name):
    checked = 0
    for made, patterns, budget in members(name):
        for relation in Relation:
            profile = made.profile(Sensitivity.of_patterns(patterns), relation)
            assert profile.relation is relation
        for pattern in patterns:
            for epsilon in {*EPSILONS, budget.epsilon or F(1)}:
                try:
                    low, _ = product_hockey_stick(made, pattern, epsilon, bits=48)
                except TooLarge:
                    continue
                checked += 1
                # Forty-eight bits leave an error of some thousand units in the last place of the sum.
                assert profile.delta_at(epsilon) >= low - F(1, 2**34)
    assert checked, "every product was too large for the exact check"


@pytest.mark.parametrize("name", NAMES)
def test_the_zero_concentrated_claim_bounds_the_divergence(name):
    for made, patterns, _ in members(name):
        profile = made.profile(Sensitivity.of_patterns(patterns), Relation.ADD_REMOVE)
        rho, failure = profile.zero_concentrated()
        _, p = pmf_of(made)
        for pattern in patterns:
            for order in (1.01, 2.0, 8.0):
                total = 0.0
                for size in pattern:
                    a, b = p[size:], p[:-size]
                    keep = (a > 1e-27) & (b > 1e-27)
                    a, b = a[keep], b[keep]
                    if failure:
                        # Within the event that both neighbours can give the output.
                        a, b = a / a.sum(), b / b.sum()
                    total += np.log((a**order * b ** (1 - order)).sum()) / (order - 1)
                assert total <= order * float(rho) + 1e-9


@pytest.mark.parametrize("name", ["discrete_laplace", "truncated_laplace"])
def test_the_claim_is_tight(name):
    for made, patterns, _ in members(name):
        profile = made.profile(Sensitivity.of_patterns(patterns), Relation.ADD_REMOVE)
        for epsilon in EPSILONS:
            try:
                worst = max(product_hockey_stick(made, p, epsilon, bits=48)[1] for p in patterns)
            except TooLarge:
                continue
            assert profile.delta_at(epsilon) <= worst + F(1, 2**34)


@pytest.mark.parametrize("name", NAMES)
def test_the_family_is_in_order(name):
    cls = registry.get("mechanisms", name)
    budget = Budget.of("approximate", epsilon=1, delta="1e-3")
    one = Sensitivity.of_patterns(((1,),))
    losses, claims = [], []
    for size in (F(1, 8), F(1, 4), F(1, 2), F(1), F(2)):
        try:
            made = cls.family(size, budget)
        except RequestError:
            continue
        losses.append(product_hockey_stick(made, (1,), F(1, 16), bits=64)[1])
        claims.append(made.profile(one, Relation.ADD_REMOVE).delta_at(F(1, 16)))
    assert len(losses) >= 2
    slack = F(1, 2**40)
    assert all(a <= b + slack for a, b in pairwise(losses))
    assert all(a <= b + slack for a, b in pairwise(claims))


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_fits_the_law(name):
    from scipy.stats import chi2

    for i, (made, _, _) in enumerate(members(name)):
        draws = sample(made, 60_000, RecordedRandomness(f"{name}/{i}"))
        first, p = pmf_of(made)
        assert draws.min() >= first and draws.max() < first + len(p)
        counts = np.bincount(draws - first, minlength=len(p))
        # Cells are merged from both ends until each expects at least twenty draws.
        groups = np.minimum(np.cumsum(p), 1 - 1e-12) * 25 // 1
        expected = np.bincount(groups.astype(int), weights=p) * len(draws)
        observed = np.bincount(groups.astype(int), weights=counts)
        keep = expected > 20
        statistic = ((observed[keep] - expected[keep]) ** 2 / expected[keep]).sum()
        assert chi2.sf(statistic, max(keep.sum() - 1, 1)) > 1e-6


@pytest.mark.parametrize("definition_name", registry.names("definitions"))
@pytest.mark.parametrize("name", NAMES)
def test_every_definition_prices_or_refuses(name, definition_name):
    definition = registry.get("definitions", definition_name)
    definition = definition() if isinstance(definition, type) else definition
    amounts = {"epsilon": F(1), "delta": F(1, 1000), "rho": F(1, 4)}
    if not set(definition.amounts) <= set(amounts):
        pytest.skip("this definition is paid in amounts of its own")
    budget = Budget(definition=definition_name, **{a: amounts[a] for a in definition.amounts})
    sensitivity = Sensitivity.of_patterns(((1,),))
    try:
        made = calibrate(registry.get("mechanisms", name), sensitivity, Relation.ADD_REMOVE, definition, budget)
    except RequestError as refused:
        assert refused.message.endswith(".")
        return
    profile = made.profile(sensitivity, Relation.ADD_REMOVE)
    assert definition.fits([profile], budget)
    cost = definition.cost([profile])
    assert cost.rho > 0 and 0 <= cost.delta <= (budget.delta or 0)
