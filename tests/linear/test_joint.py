"""Joint laws: what is not perturbed has no variance, neither by formula nor when it is simulated."""

from fractions import Fraction

import numpy as np
import pytest

from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Joint, Law
from dalenius.core.release import Block, Provenance, Release, Table
from dalenius.errors import UnknownName
from dalenius.linear import joint
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace

LAW = Additive(DiscreteLaplace(Fraction(1)))
AXES = (
    Axis(variable="a", labels=("x", "y"), codes=(0, 1)),
    Axis(variable="b", labels=("p", "q", "r"), codes=(0, 1, 2)),
)
SPACE = CellSpace(AXES, frozenset({(0, 1), (1, 2)}))
WHOLE = [[0, 1], [0, 1, 2]]
NESTED = Joint(
    "nested",
    {
        "axes": ["a", "b"],
        "shape": [2, 3],
        "shown": [WHOLE],
        "blocks": [{"view": WHOLE, "variance": LAW.variance}],
        "structural_zeros": [1, 5],
    },
)


def released(law: Law) -> Release:
    values = np.array([4, 0, 7, 2, 1, 0])
    variance = np.where(np.isin(np.arange(6), SPACE.structural_indices), 0.0, LAW.variance)
    provenance = Provenance(
        dataset="d", population="p", version="1", definition="pure", budget={}, neighbours={}, cost={}, mechanism="",
        strategy="", evidence={}, software="", request={}, digest="",
    )  # fmt: skip
    return Release(
        blocks=(Block(name="a x b", space=SPACE, values=values, law=LAW),),
        tables=(Table(name="a x b", space=SPACE, values=values.astype(float), variance=variance),),
        law=law,
        provenance=provenance,
    )


@pytest.mark.parametrize("law", [LAW, NESTED], ids=["additive", "nested"])
def test_structural_zeros_have_no_variance(law: Law) -> None:
    release = released(law)
    found = joint.covariance(release, "a x b", range(6))
    assert np.diag(found) == pytest.approx(release.table.variance)
    assert not found[[1, 5]].any() and not found[:, [1, 5]].any()
    assert joint.covariance(release, release.table, [5, 0]) == pytest.approx(np.diag([0.0, LAW.variance]))
    with pytest.raises(UnknownName):
        joint.covariance(release, "a x c", [0])


def test_structural_zeros_stay_zero_when_blocks_are_simulated() -> None:
    exact = np.array([4, 0, 7, 2, 1, 0])
    drawn = np.array([b[0] for b in joint.simulate(released(NESTED), exact, np.random.default_rng(0), 50)])
    assert not drawn[:, [1, 5]].any()
    assert drawn[:, [0, 2, 3, 4]].std(axis=0).min() > 0.5
