"""The definitions themselves, exhaustively on small universes: who satisfies what, and who does not."""

from math import exp, inf, log, tanh

import pytest
from tests.audit import further_definitions as further

from dalenius.audit import definitions as audit
from dalenius.audit import sensitivity as brute
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.query import ValuesQuery
from dalenius.statistics.quantile import Quantile

ROWS = (0, 1, 3)
SIZE = 3
UNIVERSE = audit.TinyUniverse(ROWS, SIZE)
WINDOW = range(-80, 90)
REPLACE = Neighbours(relation=Relation.REPLACE)
MEDIAN = Quantile(query=ValuesQuery(value="x"), low=0, high=3)


def laplace(centre: int, scale: float):
    rate = 1 / scale
    return {x: log(tanh(rate / 2)) - rate * abs(x - centre) for x in WINDOW}


def truncated(centre: int, scale: float, width: int):
    rate = 1 / scale
    weights = {x: exp(-rate * abs(x)) for x in range(-width, width + 1)}
    total = sum(weights.values())
    return {centre + x: log(w / total) for x, w in weights.items()}


def global_sum(data, fitted):
    return laplace(sum(data), 3.0)


def bootstrap_sum(data, fitted):
    return laplace(sum(data), max(1, max(fitted) - min(fitted)))


def local_median(data, fitted):
    return laplace(MEDIAN.value(data), max(1, MEDIAN.local(fitted, REPLACE)))


def global_median(data, fitted):
    return laplace(MEDIAN.value(data), 3.0)


def truncated_sum(data, fitted):
    return truncated(sum(data), 3.0, 25)


def rows_that_occur(data, fitted):
    """The paper's own example: publish the distinct rows of the data at hand."""
    return {frozenset(fitted): 0.0}


DATA = list(brute.multisets(ROWS, SIZE))


def test_plain_noise_satisfies_everything():
    for law in (global_sum, global_median):
        assert audit.pure(law, UNIVERSE) == pytest.approx(1)
        assert further.approximate(law, UNIVERSE, 1.0) == pytest.approx(0, abs=1e-9)
        assert further.probabilistic(law, UNIVERSE, 1.0) == 0
        for data in DATA:
            assert audit.individual(law, UNIVERSE, data) <= 1 + 1e-9
            assert audit.bootstrap(law, UNIVERSE, data) <= 1 + 1e-9
            assert audit.finite(law, UNIVERSE, data) <= 1 + 1e-9
            assert further.conditional(law, data) <= 1 + 1e-9


def test_bootstrap_noise_satisfies_its_definition_and_no_more():
    assert max(audit.bootstrap(bootstrap_sum, UNIVERSE, d) for d in DATA) == pytest.approx(1)
    assert audit.pure(bootstrap_sum, UNIVERSE) > 10
    assert max(audit.individual(bootstrap_sum, UNIVERSE, d) for d in DATA) == pytest.approx(3)


def test_local_noise_satisfies_its_definition_and_no_more():
    assert max(audit.individual(local_median, UNIVERSE, d) for d in DATA) == pytest.approx(1)
    assert audit.pure(local_median, UNIVERSE) > 10
    assert max(audit.bootstrap(local_median, UNIVERSE, d) for d in DATA) > 1.5


def test_publishing_the_rows_satisfies_bootstrap_and_individual_privacy():
    for data in DATA:
        assert audit.bootstrap(rows_that_occur, UNIVERSE, data) == 0
        assert audit.individual(rows_that_occur, UNIVERSE, data) == 0
    assert audit.pure(rows_that_occur, UNIVERSE) == inf
    assert further.against_the_informed(rows_that_occur, UNIVERSE, (0, 1, 3)) == inf


def test_synthetic_rows_widen_bootstrap_privacy():
    """Rows added to the fit protect whoever has such a row."""

    def widened(data, fitted):
        return bootstrap_sum(data, (*fitted, 3))

    outsider = (0, 0, 1)
    assert audit.bootstrap(bootstrap_sum, UNIVERSE, outsider) <= 1 + 1e-9
    assert audit.bootstrap(bootstrap_sum, UNIVERSE, outsider, further=(3,)) == pytest.approx(3)
    assert audit.bootstrap(widened, UNIVERSE, outsider, further=(3,)) <= 1 + 1e-9


def test_probabilistic_lies_between_pure_and_approximate():
    epsilon = 1.0
    approximate = further.approximate(truncated_sum, UNIVERSE, epsilon)
    probabilistic = further.probabilistic(truncated_sum, UNIVERSE, epsilon)
    assert audit.pure(truncated_sum, UNIVERSE) == inf
    assert 0 < approximate <= probabilistic + 1e-12 < 1
    shrunk = further.approximate(global_sum, UNIVERSE, 0.9), further.probabilistic(global_sum, UNIVERSE, 0.9)
    assert 0 < shrunk[0] < shrunk[1]


def test_random_privacy_over_a_declared_distribution():
    """A rare outlier breaks the condition rarely; gamma is what is left."""
    common = {0: 0.495, 1: 0.495, 3: 0.01}
    found = audit.random(bootstrap_sum, common, SIZE, 1.0, draws=1500)
    assert 0.9 < found < 1
    rare = audit.random(bootstrap_sum, {0: 1 / 3, 1: 1 / 3, 3: 1 / 3}, SIZE, 1.0, draws=1500)
    assert rare < found
    assert audit.random(global_sum, common, SIZE, 1.0, draws=300) == 1


def test_zero_cells_need_no_noise_under_random_privacy():
    """A row that the distribution gives no weight is never the reason for a loss."""
    found = audit.random(bootstrap_sum, {0: 0.5, 1: 0.5, 3: 0.0}, SIZE, 1.0, draws=500)
    assert found == 1


def test_a_later_joiner_is_not_protected():
    """Two releases, before and after somebody with a new value replaced a record: the pair gives them away."""
    before, after = (0, 0, 1), (0, 1, 3)

    def both(law):
        return {
            (x, y): p + q
            for x, p in law(before, before).items()
            for y, q in law(after, after).items()
            if abs(x) < 30 and abs(y) < 30
        }

    unchanged = {
        (x, y): p + q
        for x, p in bootstrap_sum(before, before).items()
        for y, q in bootstrap_sum(before, before).items()
        if abs(x) < 30 and abs(y) < 30
    }
    assert audit.loss(both(bootstrap_sum), unchanged) > 10


IMPLIED = {
    "probabilistic": lambda law, d: further.probabilistic(law, UNIVERSE, 1.0) == 0,
    "approximate": lambda law, d: further.approximate(law, UNIVERSE, 1.0) < 1e-9,
    "pure": lambda law, d: audit.pure(law, UNIVERSE) <= 1 + 1e-9,
    "finite": lambda law, d: audit.finite(law, UNIVERSE, d) <= 1 + 1e-9,
    "individual": lambda law, d: audit.individual(law, UNIVERSE, d) <= 1 + 1e-9,
    "bootstrap": lambda law, d: audit.bootstrap(law, UNIVERSE, d) <= 1 + 1e-9,
    "random": lambda law, d: audit.random(law, dict.fromkeys(ROWS, 1.0), SIZE, 1.0, draws=60) == 1,
}


@pytest.mark.parametrize(("strong", "weak"), further.IMPLICATIONS)
def test_implications_hold_for_fixed_noise(strong, weak):
    def narrow_sum(data, fitted):
        return laplace(sum(data), 1.0)

    held = 0
    for law in (global_sum, global_median, narrow_sum, truncated_sum):
        for data in DATA:
            if IMPLIED[strong](law, data):
                held += 1
                assert IMPLIED[weak](law, data)
    assert held > 0


def test_no_implication_the_other_way():
    def narrow_sum(data, fitted):
        return laplace(sum(data), 1.0)

    near = (0, 0, 1)
    assert IMPLIED["bootstrap"](narrow_sum, near)
    assert not IMPLIED["individual"](narrow_sum, near)
    assert not IMPLIED["pure"](narrow_sum, near)
    assert IMPLIED["individual"](local_median, near)
    assert not IMPLIED["pure"](local_median, near)


def test_conditional_privacy_is_about_removal_only():
    def by_size(data, fitted):
        return laplace(sum(data), float(max(1, *fitted)))

    assert max(further.conditional(by_size, d) for d in DATA) <= 1 + 1e-9
    assert max(audit.individual(by_size, UNIVERSE, d) for d in DATA) > 1.5
