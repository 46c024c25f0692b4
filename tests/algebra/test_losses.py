"""Losses between two tables: by hand, and association against another implementation."""

import numpy as np
import pytest

from dalenius.algebra.losses import association, compare
from dalenius.errors import ParameterError


def test_losses_by_hand() -> None:
    found = compare([[4, 0], [9, 1]], [[9, -1], [4, 1]])
    assert found["l1"] == 11
    assert found["l2"] == 51
    assert found["l3"] == pytest.approx(2)
    assert found["hellinger"] == pytest.approx(2**0.5)
    assert found["mean_absolute_difference"] == 2.75
    assert "cramers_v_after" in found
    with pytest.raises(ParameterError):
        compare([1, 2], [1])


def test_association_against_scipy() -> None:
    from scipy.stats import chi2_contingency
    from scipy.stats.contingency import association as reference

    table = np.array([[10, 20, 3], [4, 5, 60]])
    v, p = association(table.astype(float))
    assert v == pytest.approx(reference(table, method="cramer"))
    assert p == pytest.approx(chi2_contingency(table, correction=False).pvalue)
    assert np.isnan(association(np.array([[1.0, 2.0], [0.0, 0.0]]))[0])
