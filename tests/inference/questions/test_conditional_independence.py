"""The likelihood ratio within each label of the third axis, added up."""

import pytest
from scipy.stats import chi2_contingency
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_the_statistic_is_the_sum_over_the_given_axis(ask, counts) -> None:
    result = ask("conditional_independence", counts, axes=("A", "B", "C"), replicates=99)
    parts = [chi2_contingency(TABLE[:, :, k], correction=False, lambda_="log-likelihood").statistic for k in range(2)]
    assert result.statistic == pytest.approx(sum(parts), rel=1e-6)


@pytest.mark.parametrize("axes", [(), ("A", "B")])
def test_it_needs_three_axes(ask, counts, axes: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="three axes"):
        ask("conditional_independence", counts, axes=axes)
