"""The log odds ratios of a textbook's logistic regression."""

from math import log

import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError, UnknownName


def test_one_binary_predictor_gives_the_log_odds_ratio(ask, counts) -> None:
    fit = ask("logistic", counts, outcome="C", predictors="A", axes=("A", "C"))
    (a, b), (c, d) = TABLE.sum(1).tolist()
    assert fit.coefficients["A[a1]:C[c1]"].value == pytest.approx(log(a * d / (b * c)), rel=1e-6)
    assert fit.coefficients["A[a1]:C[c1]"].std_error == pytest.approx((1 / a + 1 / b + 1 / c + 1 / d) ** 0.5, rel=1e-3)


def test_an_outcome_must_be_there_and_not_explain_itself(ask, counts) -> None:
    with pytest.raises(UnknownName):
        ask("logistic", counts, outcome="D", predictors="A")
    with pytest.raises(ParameterError, match="own predictors"):
        ask("logistic", counts, outcome="C", predictors="A + C")
