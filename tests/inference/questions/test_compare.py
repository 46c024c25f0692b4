"""Without noise the statistic is the difference of deviances."""

import pytest

from dalenius.errors import ParameterError


def test_the_statistic_is_a_difference_of_deviances(ask, counts) -> None:
    found = ask("compare", counts, null="A*B + C", alternative="A*B + A*C", replicates=99)
    small, large = (ask("loglinear", counts, model=m).deviance for m in ("A*B + C", "A*B + A*C"))
    assert found.statistic == pytest.approx(small - large, rel=1e-6) and found.degrees_of_freedom == 1


def test_models_that_are_not_nested_are_refused(ask, counts) -> None:
    with pytest.raises(ParameterError, match="nested"):
        ask("compare", counts, null="A*B", alternative="C")
