"""The law of a table measured for ranges against dense least squares, impossible cells included."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.algebra.range_law import STRUCTURE, RangeLaw
from dalenius.algebra.ranges import Asked, Factor, RangeWorkload
from dalenius.core.law import FloatArray, Joint


@st.composite
def laws(draw: st.DrawFn) -> RangeLaw:
    """Small factors of any kind, with some impossible cells."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
    factors = []
    for n in shape:
        rows = generator.integers(-2, 3, (n + 1, n)) + 3 * np.eye(n + 1, n, dtype=np.int64)
        tree = ((0, n, 2), *((k, k + 1, 3) for k in range(n)))
        factors.append(
            draw(
                st.sampled_from(
                    [Factor(n), Factor(n, intervals=tree), Factor(n, rows=tuple(map(tuple, rows.tolist())))]
                )
            )
        )
    if any(np.linalg.matrix_rank(f.matrix) < f.size for f in factors):
        factors = [Factor(f.size) for f in factors]
    size = int(np.prod(shape))
    zeros = np.flatnonzero(generator.random(size) < draw(st.sampled_from([0.0, 0.3])))
    return RangeLaw(tuple(factors), draw(st.sampled_from([0.5, 7.0])), zeros)


def dense(law: RangeLaw) -> tuple[FloatArray, FloatArray]:
    """The matrix of what is measured, and the covariance of best estimates, impossible cells left out and put back as 0."""
    whole = np.ones((1, 1))
    for factor in law.factors:
        whole = np.kron(whole, factor.matrix)
    kept = np.setdiff1d(np.arange(whole.shape[1]), law.zeros)
    out = np.zeros((whole.shape[1],) * 2)
    part = whole[:, kept]
    out[np.ix_(kept, kept)] = law.variance * np.linalg.inv(part.T @ part)
    return whole, out


@settings(max_examples=40)
@given(law=laws(), seed=st.integers(0, 2**32))
def test_estimates_and_covariances_are_those_of_dense_least_squares(law: RangeLaw, seed: int) -> None:
    generator = np.random.default_rng(seed)
    whole, covariance = dense(law)
    scale = max(float(np.abs(covariance).max()), 1e-9)
    answers = generator.integers(-50, 50, len(whole))
    kept = np.setdiff1d(np.arange(whole.shape[1]), law.zeros)
    best = np.zeros(whole.shape[1])
    best[kept] = np.linalg.lstsq(whole[:, kept], answers.astype(float), rcond=None)[0]
    np.testing.assert_allclose(law.estimate(answers), best, atol=1e-9 * (1 + float(np.abs(best).max())))
    np.testing.assert_allclose(law.variances[0], covariance.diagonal(), atol=1e-9 * scale)
    every = range(len(covariance))
    np.testing.assert_allclose(law.covariance(0, every, 0, every), covariance, atol=1e-9 * scale)
    weights = generator.normal(size=len(covariance))
    assert law.square(0, weights) == pytest.approx(weights @ covariance @ weights, abs=1e-8 * scale)
    groups = [generator.integers(-1, 2, n).tolist() for n in law.shape]
    if all(max(own) >= 0 for own in groups):
        _check_groups(law, covariance, groups)
    cells = generator.integers(0, 9, whole.shape[1])
    np.testing.assert_array_equal(law.measured(cells).ravel(), whole @ cells)


def _check_groups(law: RangeLaw, covariance: FloatArray, groups: Sequence[Sequence[int]]) -> None:
    sizes = [max(own) + 1 for own in groups]
    expected = []
    for cell in np.ndindex(*sizes):
        mask = np.ones(1)
        for own, at in zip(groups, cell, strict=True):
            mask = np.kron(mask, np.asarray(own) == at)
        expected.append(mask @ covariance @ mask)
    scale = max(float(np.abs(covariance).max()), 1e-9)
    np.testing.assert_allclose(law.grouped_variance(0, groups), expected, atol=1e-8 * scale)


@settings(max_examples=20)
@given(law=laws())
def test_the_mean_variance_of_ranges_is_that_of_their_sums(law: RangeLaw) -> None:
    terms = (
        tuple(Asked.of("all", [str(k) for k in range(n)]) for n in law.shape),
        tuple(Asked.of("prefixes", [str(k) for k in range(n)]) for n in law.shape),
    )
    workload = RangeWorkload(terms)
    _, covariance = dense(law)
    total = 0.0
    for term in terms:
        gram = np.ones((1, 1))
        for asked in term:
            gram = np.kron(gram, asked.gram)
        total += float((gram * covariance).sum())
    assert law.mean_square(workload) == pytest.approx(total / workload.count, rel=1e-7, abs=1e-9)


def test_a_law_reads_back_as_it_was_written() -> None:
    law = RangeLaw((Factor(3, intervals=((0, 3, 1), (0, 1, 1), (1, 2, 1), (2, 3, 1))),), 4.5, np.array([1]))
    again = RangeLaw.of(Joint(STRUCTURE, law.to_parameters()))
    np.testing.assert_allclose(again.variances[0], law.variances[0])
    assert again.variances[0][1] == 0
