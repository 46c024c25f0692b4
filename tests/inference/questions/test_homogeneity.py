"""The statistic of independence, asked of groups and an outcome."""

import pytest
from scipy.stats import chi2_contingency
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_the_statistic_is_that_of_independence(ask, counts) -> None:
    found = ask("homogeneity", counts, axes=("A", "C"), replicates=99)
    expected = chi2_contingency(TABLE.sum(1), correction=False, lambda_="log-likelihood")
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-6)


@pytest.mark.parametrize("axes", [(), ("A",), ("A", "B", "C")])
def test_it_needs_groups_and_an_outcome(ask, counts, axes: tuple[str, ...]) -> None:
    with pytest.raises(ParameterError, match="Name two axes"):
        ask("homogeneity", counts, axes=axes)
