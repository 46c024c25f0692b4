"""Without noise the posterior of a true count is the count."""

import numpy as np
import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_without_noise_the_posterior_is_the_count(ask, counts) -> None:
    answer = ask("bayes", counts, draws=100)
    assert np.array_equal(answer.mean, TABLE)
    assert answer.is_converged


def test_noise_widens_the_posterior(ask, make_release, laplace) -> None:
    answer = ask("bayes", make_release(TABLE, laplace("1")), draws=400)
    ends = answer.intervals()
    assert np.all(ends[:, 1] - ends[:, 0] >= 3)
    assert np.all((ends[:, 0] <= TABLE.reshape(-1)) & (TABLE.reshape(-1) <= ends[:, 1]))


def test_an_unknown_model_is_refused(ask, counts) -> None:
    with pytest.raises(ParameterError, match="saturated"):
        ask("bayes", counts, model="other")
