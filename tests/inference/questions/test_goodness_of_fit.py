"""Without noise the statistic is the likelihood ratio against the given shares."""

import numpy as np
import pytest
from tests.inference.questions.conftest import TABLE


@pytest.mark.parametrize("shares", [(1.0, 1.0), (1.0, 3.0)])
def test_the_statistic_is_the_likelihood_ratio(ask, counts, shares: tuple[float, ...]) -> None:
    found = ask("goodness_of_fit", counts, axes=("B",), probabilities=shares, replicates=99)
    seen = TABLE.sum((0, 2))
    expected = np.array(shares) / sum(shares) * seen.sum()
    assert found.statistic == pytest.approx(2 * (seen * np.log(seen / expected)).sum(), rel=1e-6)


def test_equal_shares_are_the_default(ask, counts) -> None:
    first, second = (
        ask("goodness_of_fit", counts, axes=("B",), replicates=99, **g) for g in ({}, {"probabilities": (2, 2)})
    )
    assert first.statistic == pytest.approx(second.statistic)
