"""Releases of equal noise count alike; one alone is refused."""

import pytest
from tests.inference.questions.conftest import TABLE

from dalenius.errors import ParameterError


def test_equal_releases_have_equal_weight(ask, laplace, make_release) -> None:
    releases = [make_release(TABLE + shift, laplace("1")) for shift in (0, 4)]
    found = ask("combine", releases)
    assert found.values.reshape(-1).tolist() == pytest.approx((TABLE + 2).reshape(-1).tolist())
    assert ask("combine", releases, axes=("A",)).values.tolist() == pytest.approx((TABLE + 2).sum((1, 2)).tolist())


def test_one_release_is_not_combined(ask, counts) -> None:
    with pytest.raises(ParameterError, match="two releases"):
        ask("combine", counts)
