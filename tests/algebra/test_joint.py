"""Joint laws: what is not perturbed has no variance, neither by formula nor when it is simulated."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from dalenius import Curator
from dalenius.algebra import joint
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Joint, Law
from dalenius.core.release import Block, Provenance, Release, Table
from dalenius.errors import UnknownName
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


def test_cells_of_two_tables_of_one_measured_block_share_the_noise_of_their_common_cells(tmp_path: Path) -> None:
    """With a structural zero cells condition each other: what a margin and its parts share is the noise that they are sums of."""
    document = {
        "dataset": {"name": "toy", "population": "toy"},
        "variables": {
            "a": {"categories": ["x", "y"], "missing": "x", "unseen": "x"},
            "b": {"categories": ["u", "v", "w"], "missing": "u", "unseen": "u"},
        },
        "structural_zeros": [{"a": "x", "b": "w"}],
    }
    request = {
        "table": {"rows": ["a"], "columns": ["b"], "margins": "all"},
        "privacy": {"definition": "zero_concentrated", "rho": "1", "strategy": "interior"},
    }
    rows = {"a": ["x", "y"] * 4, "b": ["u", "v"] * 4}
    with Curator.open(document, ledger=tmp_path / "ledger.sqlite", data=rows) as curator:
        curator.register()
        release = curator.release(request)
    assert isinstance(release.law, Joint) and release.law.parameters["zeros"] == [[0, [2]]]
    own = float(joint.covariance(release, "a", [0])[0, 0])
    row = sum(joint.cross_covariance(release, "a x b", cell, "a", 0) for cell in range(3))
    assert row == pytest.approx(own) and own > 0
    assert own == pytest.approx(2 * joint.covariance(release, "a x b", [0])[0, 0])
    assert joint.cross_covariance(release, "a x b", 2, "a", 0) == pytest.approx(0, abs=1e-12)
    assert joint.cross_covariance(release, "a x b", 3, "a", 0) == pytest.approx(0, abs=1e-12)
