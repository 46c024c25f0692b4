"""Independent tables made consistent: equal to the arithmetic of margins, refused where its premise fails."""

import numpy as np
import pytest

from dalenius.errors import Unsupported
from dalenius.postprocess.additive import Consistent


def test_shared_margins_agree_and_variances_shrink(make) -> None:
    rng = np.random.default_rng(4)
    release = make(
        {("a", "b"): rng.normal(9, 1, (3, 2)), ("b", "c"): rng.normal(9, 1, (2, 4)), ("b",): rng.normal(30, 1, 2)}
    )
    fixed = Consistent()(release)
    one = fixed.tables[0].values.reshape(3, 2).sum(axis=0)
    assert fixed.tables[1].values.reshape(2, 4).sum(axis=1) == pytest.approx(one)
    assert fixed.tables[2].values == pytest.approx(one)
    assert (fixed.tables[2].variance < release.tables[2].variance).all()
    assert fixed.tables[0].is_unbiased


def test_axes_in_another_order_are_the_same_axes(make) -> None:
    rng = np.random.default_rng(5)
    fixed = Consistent()(make({("a", "b"): rng.normal(9, 1, (3, 2)), ("c", "b", "a"): rng.normal(5, 1, (2, 2, 3))}))
    pair, triple = fixed.tables[0].values.reshape(3, 2), fixed.tables[1].values.reshape(2, 2, 3)
    assert np.allclose(triple.sum(axis=0).T, pair)


def test_unequal_variances_are_refused(make) -> None:
    release = make({("a",): np.array([1.0, 2.0]), (): np.array(3.0)})
    release.tables[0].variance[0] = 9
    with pytest.raises(Unsupported):
        Consistent()(release)
