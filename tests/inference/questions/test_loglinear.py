"""Without noise the deviance is that of the textbook."""

import pytest
from scipy.stats import chi2_contingency
from tests.inference.questions.conftest import TABLE


def test_the_deviance_of_independence(ask, counts) -> None:
    fit = ask("loglinear", counts, model="A + C", axes=("A", "C"))
    expected = chi2_contingency(TABLE.sum(1), correction=False, lambda_="log-likelihood")
    assert fit.deviance == pytest.approx(expected.statistic, rel=1e-6)
    assert fit.degrees_of_freedom == 1
