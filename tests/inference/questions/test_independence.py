"""Without noise the statistic is the likelihood ratio of the textbook."""

import pytest
from scipy.stats import chi2_contingency
from tests.inference.questions.conftest import TABLE


def test_the_statistic_is_the_likelihood_ratio(ask, counts) -> None:
    found = ask("independence", counts, axes=("A", "C"), replicates=99)
    expected = chi2_contingency(TABLE.sum(1), correction=False, lambda_="log-likelihood")
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)
    assert found.degrees_of_freedom == 1 and found.p_value == pytest.approx(0.01)
