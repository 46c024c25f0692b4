"""Public totals: respected exactly, and named in the guarantee."""

import numpy as np
import pytest

from dalenius.errors import ParameterError, UnknownName
from dalenius.postprocess.invariants import Invariants


def test_totals_hold_and_the_guarantee_names_them(make) -> None:
    release = make({("a", "b"): np.arange(6.0).reshape(3, 2), ("b",): np.array([5.0, 9.0])})
    fixed = Invariants({("a",): [2, 4, 9], (): [15]})(release)
    assert fixed.tables[0].values.reshape(3, 2).sum(axis=1) == pytest.approx([2, 4, 9])
    assert fixed.tables[1].values.sum() == pytest.approx(15)
    assert "a; total" in fixed.provenance.guarantee
    assert fixed.blocks is release.blocks


def test_unknown_axes_and_wrong_lengths_are_refused(make) -> None:
    release = make({("a",): np.array([1.0, 2.0])})
    with pytest.raises(UnknownName):
        Invariants({("z",): [1]})(release)
    with pytest.raises(ParameterError):
        Invariants({("a",): [1, 2, 3]})(release)
