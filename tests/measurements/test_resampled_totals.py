"""Bootstrap totals: exact losses between all tiny neighbours of a request, an audit, and faults that are found."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import exp
from typing import Any

import numpy as np
import pytest

from dalenius.core.domain import Bounds, Categories, Domain, Variable
from dalenius.core.law import FloatArray
from dalenius.core.neighbours import Neighbours, Relation
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.sealed import Sealed
from dalenius.engines.memory import MemorySource
from dalenius.errors import Unsupported
from dalenius.exact.resampled_loss import poisson_weights
from dalenius.exact.resampling_price import ResamplingPrice, calibrated
from dalenius.measurements.resampled_totals import ResampledTotals, largest_square, squared
from dalenius.testing.asking import plan_of
from dalenius.testing.measurement_kit import certain_excess
from dalenius_lab.reproductions.bi import binomial_weights

X = np.arange(-160, 161)
PRIVACY = {"definition": "approximate", "epsilon": 3, "delta": "1/1000"}
ROWS = (("a", 0), ("a", 2), ("b", 2), ("b", None))
TABLES: dict[str, dict[str, Any]] = {
    "total": {"rows": ["g"], "measure": "total", "of": "x"},
    "total and squares": {"rows": ["g"], "measure": "total", "of": "x"},
    "mean, count and squares": {"rows": ["g"], "measure": "mean", "of": "x"},
    "proportion": {"measure": "proportion", "of": "g", "among": ["a"]},
}


def domain_of(relation: Relation, size: int | None = None, rows: int = 1) -> Domain:
    return Domain(
        name="d",
        population="p",
        version="1",
        variables={
            "g": Variable(name="g", domain=Categories(labels=("a", "b"))),
            "x": Variable(name="x", domain=Bounds(lower=Fraction(0), upper=Fraction(2), missing="drop")),
        },
        neighbours=Neighbours(relation=relation, max_rows=rows),
        public_size=size,
    )


def step_of(domain: Domain, table: dict[str, Any]) -> ResampledTotals:
    request = {"table": table | {"error": "bootstrap", "replicates": 3}, "privacy": PRIVACY}
    step = plan_of(domain, request).measurements[0]
    assert isinstance(step, ResampledTotals)
    return step if table is not TABLES["total"] else alone(step)


def alone(step: ResampledTotals) -> ResampledTotals:
    """The replicates without the sums beside them, priced anew."""
    price = calibrated(replace(step.price, beside=()), epsilon=step.statement, rho=None, delta=step.failure)
    return replace(step, price=price, sums=())


def laws(step: ResampledTotals, rows: tuple[Any, ...], domain: Domain, sigma_squared: float) -> list[FloatArray]:
    """The exact law of one replicate in every cell, and of every sum beside the replicates, from the content that the step reads."""
    columns = {"g": [g for g, _ in rows], "x": [x for _, x in rows]}
    source = MemorySource(domain, columns, b"", rows=len(rows))
    content = [source.table(need).open_below_the_gate() for need in step.needs]  # type: ignore[arg-type]
    noise = np.exp(-(X**2) / (2 * sigma_squared))
    cells = []
    for values, counts in step._added(content):
        law = noise / noise.sum()
        for value in np.repeat(values, counts).tolist():
            law = sum((w * _shifted(law, k * value) for k, w in enumerate(poisson_weights()[:12])), np.zeros(len(X)))
        cells += [law] * step.price.replicates
        share = sigma_squared / float(step.price.sigma_squared)
        for total, variance in zip(step.summed(values, counts), step.price.variances, strict=True):
            noise_of_sum = np.exp(-(X**2) / (2 * share * float(variance)))
            cells.append(_shifted(noise_of_sum / noise_of_sum.sum(), total))
    return cells


def _shifted(law: FloatArray, by: int) -> FloatArray:
    out = np.zeros(len(law))
    if abs(by) < len(law):
        out[max(by, 0) : len(law) + min(by, 0)] = law[max(-by, 0) : len(law) - max(by, 0)]
    return out


def delta_from_below(pairs: list[tuple[FloatArray, FloatArray]], epsilon: float) -> float:
    """A lower bound of delta(epsilon) of a product of pairs: losses are rounded down."""
    unit, whole = 1 / 64, {0: 1.0}
    for p, q in pairs:
        inside = (p > 1e-14) & (q > 1e-14)
        if np.allclose(p, q, atol=1e-15):
            continue
        steps = np.floor(np.log(p[inside] / q[inside]) / unit).astype(int)
        masses = np.bincount(steps - steps.min(), weights=p[inside])
        first, longest = min(whole), max(whole) - min(whole) + 1
        array = np.zeros(longest)
        for key, mass in whole.items():
            array[key - first] = mass
        made = np.convolve(array, masses)
        whole = {first + int(steps.min()) + i: m for i, m in enumerate(made.tolist()) if m > 1e-15}
    return sum(m * max(0.0, 1 - exp(epsilon - key * unit)) for key, m in whole.items())


def neighbours(relation: Relation) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    for others in ((), (ROWS[1],)):
        if relation is Relation.ADD_REMOVE:
            for row in ROWS:
                yield (*others, row), others
                yield others, (*others, row)
        else:
            for a, b in product(ROWS, ROWS):
                if a != b:
                    yield (*others, a), (*others, b)


@pytest.mark.parametrize("relation", list(Relation))
@pytest.mark.parametrize("table", list(TABLES))
def test_exact_losses_of_all_tiny_neighbours_stay_within_what_was_asked(relation: Relation, table: str) -> None:
    """Through the request document; halved noise breaks the guarantee for some pair."""
    domain = domain_of(relation)
    step = step_of(domain, TABLES[table])
    epsilon, sigma_squared = step.statement, float(step.price.sigma_squared)
    assert epsilon is not None and step.price.delta(epsilon) <= step.failure

    def worst(variance: float) -> float:
        cases = []
        for here, there in neighbours(relation):
            pairs = list(zip(laws(step, here, domain, variance), laws(step, there, domain, variance), strict=True))
            cases.append(delta_from_below(pairs, float(epsilon or 0)))
        return max(cases)

    assert worst(sigma_squared) <= float(step.failure)
    assert worst(sigma_squared / 4) > float(step.failure)
    # Were the sums beside the replicates not paid for, some pair would not be covered (a lone row at the bound moves them all).
    if step.sums and relation is Relation.ADD_REMOVE:
        alone = calibrated(replace(step.price, beside=()), epsilon=epsilon, rho=None, delta=step.failure).sigma_squared
        assert worst(float(alone)) > float(step.failure)


UNITS = ((), (ROWS[1], ROWS[1]), (ROWS[1], ROWS[2]), (ROWS[0], ROWS[0]), (ROWS[2], ROWS[3]))


@pytest.mark.parametrize("relation", list(Relation))
def test_exact_losses_of_units_of_two_rows_stay_within_what_was_asked(relation: Relation) -> None:
    """Rows alike or opposite, in one cell or in two; with the price of single rows some of them would not be covered."""
    domain = domain_of(relation, rows=2)
    step = step_of(domain, TABLES["total"])
    epsilon, variance = float(step.statement or 0), float(step.price.sigma_squared)
    pairs = [(a, b) for a, b in product(UNITS, UNITS) if a != b and (relation is Relation.REPLACE or not (a and b))]

    def worst(sigma_squared: float) -> float:
        made = {unit: laws(step, unit, domain, sigma_squared) for unit in UNITS}
        return max(delta_from_below(list(zip(made[a], made[b], strict=True)), epsilon) for a, b in pairs)

    assert worst(variance) <= float(step.failure)
    single = step_of(domain_of(relation), TABLES["total"]).price
    assert worst(float(single.sigma_squared)) > float(step.failure)


def test_the_worst_pair_is_nearly_reached() -> None:
    """The price is not only safe: a lone row at the bound costs what is charged."""
    domain = domain_of(Relation.ADD_REMOVE)
    step = step_of(domain, TABLES["total"])
    here, there = (laws(step, rows, domain, float(step.price.sigma_squared)) for rows in ((ROWS[1],), ()))
    reached = delta_from_below(list(zip(here, there, strict=True)), float(step.statement or 0))
    assert 0.8 * float(step.failure) <= reached <= float(step.failure)


def test_multinomial_multiplicities_would_break_the_price_of_poisson_ones() -> None:
    """Their sum is fixed, so that the midpoint hides nothing: everybody else at one bound, one row at either."""
    domain = domain_of(Relation.REPLACE, size=6)
    step = alone(step_of(domain, {"measure": "total", "of": "x"}))
    reach, variance = step.price.reach, float(step.price.sigma_squared)
    noise = np.exp(-(X**2) / (2 * variance)) / np.exp(-(X**2) / (2 * variance)).sum()
    others = -6 * reach
    first = sum(
        (w * _shifted(noise, others + 2 * k * reach) for k, w in enumerate(binomial_weights(6))), np.zeros(len(X))
    )
    second = _shifted(noise, others)
    found = delta_from_below([(first, second)] * 3, float(step.statement or 0))
    assert found > 3 * float(step.failure)


def answers(step: ResampledTotals, values: list[int], count: int, seed: str) -> FloatArray:
    """Many answers of a one-cell step of two replicates, as one run of many replicates."""
    many = replace(step, price=replace(step.price, replicates=2 * count))
    rng = RecordedRandomness(seed)
    outcome = many.run((Sealed(np.array(values, dtype=np.int64)),), many.draw(rng), rng)
    return np.asarray(outcome.values, dtype=np.float64).reshape(count, 2)  # type: ignore[union-attr]


def test_an_audit_of_the_worst_pair_keeps_to_the_claim_and_finds_halved_noise() -> None:
    from dalenius.core.domain import CellSpace
    from dalenius.core.query import ValuesQuery

    price = ResamplingPrice(reach=3, sigma_squared=Fraction(36), replicates=2)
    step = ResampledTotals(
        name="r", space=CellSpace(()), price=price, failure=Fraction(1, 10**4), lists=(ValuesQuery(value="x"),)
    )
    claimed = float(price.delta(Fraction(1)))
    halved = replace(step, price=replace(price, sigma_squared=Fraction(9)))
    there, here = [], [3]
    for audited, is_found in ((step, False), (halved, True)):
        first, second = (answers(audited, values, 20_000, f"audit {values}") for values in (here, there))
        found = max(certain_excess(first, second, 1.0), certain_excess(second, first, 1.0))
        assert (found > claimed) == is_found, (found, claimed)


def test_structural_zeros_stay_zero_and_replicates_have_an_axis_of_their_own() -> None:
    step = step_of(domain_of(Relation.ADD_REMOVE), TABLES["mean, count and squares"])
    space = replace(step.space, structural_zeros=frozenset({(1,)}))
    limited = replace(step, space=space)
    rng = RecordedRandomness("zeros")
    table = Sealed(np.array([0, 2, 1, 0, 3, 1], dtype=np.int64))
    block = limited.block(limited.run((table,), limited.draw(rng), rng))
    assert block is not None and block.space.shape == (2, 5)
    assert block.space.axes[-1].labels == ("1", "2", "3", "count", "squares")
    assert not block.values.reshape(2, 5)[1].any() and block.values.reshape(2, 5)[0].all()


@pytest.mark.parametrize("reach", [7, 4096, 10**6, 1 << 60])
def test_squares_of_large_numbers_are_rounded_to_a_public_grid_and_never_leave_it(reach: int) -> None:
    values = np.array([-reach, -reach // 3, 0, 1, reach // 2, reach], dtype=np.int64)
    most, unit = largest_square(reach), reach**2 / largest_square(reach)
    found = squared(values, reach)
    assert found.min() >= 0 and found.max() == most == found[0]
    exact = np.array([float(v) ** 2 for v in values.tolist()])
    assert np.abs(found * unit - exact).max() <= reach**2 / 4096 * 1.01


def test_units_of_more_rows_and_other_neighbours_are_refused() -> None:
    step = step_of(domain_of(Relation.ADD_REMOVE), TABLES["mean, count and squares"])
    with pytest.raises(Unsupported, match="fewer rows"):
        step.profile(Neighbours(max_rows=2))
    with pytest.raises(Unsupported, match="other neighbours"):
        step.profile(Neighbours(relation=Relation.REPLACE))
