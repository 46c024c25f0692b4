"""Distribution functions of weighted rows and of lists with margins: bands that hold for whole curves in every shown cell."""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from verify._recorded import release_of

from dalenius.algebra import joint
from dalenius.algebra.distributions import ClassNoise
from dalenius.algebra.joint import MarginsLaw
from dalenius.algebra.tabulation import bounds, sampled_bounds
from dalenius.core.law import Joint, law_from_dict
from dalenius.core.plan import TablePlan
from dalenius.core.release import Release
from dalenius.errors import DaleniusError
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.notes import note
from dalenius.testing.asking import plan_of

CELLS, ROWS, POINTS = 40, 250, list(range(50, 500, 50))
FIXED = {"allow": {"acknowledge": ["fixed_weights"]}}


def domain_of(design: Any = None, heaviest: int = 4) -> Any:
    return DatasetDocument.from_dict(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": {"relation": "replace"},
            "variables": {
                "cell": {"categories": [f"c{k}" for k in range(CELLS)], "missing": "c0", "unseen": "c0"},
                "sex": {"categories": ["f", "m"], "missing": "m", "unseen": "m"},
                "x": {"bounds": [0, 500], "step": 1, "missing": "0"},
                "w": {"bounds": [0, heaviest], "step": "0.1", "missing": "0", "weight": True},
            },
        }
        | ({"design": {"draws": "independent"}} if design is None else design)
    ).domain()


DOMAIN = domain_of()


def request_of(privacy: Any = None, **table: Any) -> dict[str, Any]:
    asked = {"rows": ["cell", "sex"], "measure": "distribution", "of": "x", "bins": POINTS} | table
    asked = {key: value for key, value in asked.items() if value is not None}
    return {"table": asked, "privacy": privacy or {"definition": "zero_concentrated", "rho": 1}}


def planned(domain: Any = DOMAIN, policy: Any = FIXED, **given: Any) -> TablePlan:
    return plan_of(domain, request_of(**given), policy)


def sample(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Skewed values with a heap at 200; those above 300 have four times the weight, and are drawn a fourth as often."""
    many = 3 * CELLS * ROWS
    x = np.where(rng.random(many) < 0.2, 200, np.rint(np.minimum(rng.gamma(2, 90, many), 500)))
    w = np.where(x > 300, 4.0, 1.0)
    kept = np.flatnonzero(rng.random(many) < 1 / w)[: CELLS * ROWS]
    return {"cell": rng.integers(0, CELLS, len(kept)), "sex": rng.integers(0, 2, len(kept)), "x": x[kept], "w": w[kept]}


def process(*, is_weighted: bool) -> np.ndarray:
    """The curve of the process; without weights that of the records as they are drawn."""
    drawn = [sample(np.random.default_rng(100 + k)) for k in range(40)]
    x, w = (np.concatenate([each[name] for each in drawn]) for name in ("x", "w"))
    w = w if is_weighted else np.ones_like(w)
    return np.array([w[x <= point].sum() for point in POINTS]) / w.sum()


def answered(request: dict[str, Any], data: dict[str, np.ndarray], seed: str) -> Release:
    columns: dict[str, Any] = {"cell": [f"c{k}" for k in data["cell"]], "sex": ["fm"[k] for k in data["sex"]]}
    columns |= {name: data[name].tolist() for name in ("x", "w")}
    return release_of(plan_of(DOMAIN, request, FIXED), DOMAIN, columns, request, seed)


def exact(data: dict[str, np.ndarray], names: list[str], *, is_weighted: bool) -> np.ndarray:
    """The curve of the records in every cell of a table."""
    width = {"cell": CELLS, "sex": 2}
    place = np.zeros(len(data["x"]), dtype=np.int64)
    for name in names:
        place = place * width[name] + data[name]
    w = data["w"] if is_weighted else np.ones(len(place))
    cells = int(np.prod([width[name] for name in names])) if names else 1
    whole = np.bincount(place, weights=w, minlength=cells)
    below = [np.bincount(place, weights=w * (data["x"] <= point), minlength=cells) for point in POINTS]
    return np.array(below).T / whole[:, None]


@pytest.mark.statistical
@pytest.mark.parametrize("is_weighted", [False, True], ids=["records", "weights"])
@pytest.mark.parametrize("margins", ["none", "all"])
@pytest.mark.parametrize(
    "privacy",
    [
        {"definition": "zero_concentrated", "rho": 1},
        {"definition": "zero_concentrated", "rho": 8},
        {"definition": "pure", "epsilon": 4},
    ],
    ids=str,
)
def test_whole_curves_are_in_their_bands(is_weighted: bool, margins: str, privacy: dict[str, Any]) -> None:
    """Four samples of 40 x 2 cells: in each margin, red if 93.5 % of all curves is rejected at .0005."""
    weight, truth = {"weight": "w"} if is_weighted else {}, process(is_weighted=is_weighted)
    request = request_of(privacy, margins=margins, **weight)
    held: dict[tuple[str, ...], list[Any]] = {}
    for run in range(4):
        data = sample(np.random.default_rng(run))
        release = answered(request, data, f"{is_weighted} {margins} {run}")
        for table in release.tables[: 1 if margins == "none" else 4]:
            names = [axis.name for axis in table.space.axes[:-1]]
            own = exact(data, names, is_weighted=is_weighted)
            for kind, goal in ((False, own), (True, np.broadcast_to(truth, own.shape))):
                ends = (sampled_bounds if kind else bounds)(release, table, 0.95)
                lower, upper = (end.reshape(own.shape) for end in ends)
                inside = ((lower <= goal + 1e-9) & (goal - 1e-9 <= upper)).all(axis=1)
                held.setdefault((*names, str(kind)), []).extend(inside.tolist())
    for name, inside in held.items():
        assert binomtest(sum(inside), len(inside), 0.935, alternative="less").pvalue > 0.0005, (name, np.mean(inside))


def test_sums_of_bins_vary_as_the_joint_law_says() -> None:
    """The exact covariance of all bins of a cell of each margin, against the two variances that the band is made of."""
    plan = planned(margins="all", bins=[100, 200, 300])
    part = plan.law.parameters["lists"][0]  # type: ignore[union-attr]
    law = law_from_dict(part["law"])
    assert isinstance(law, Joint)
    read, variances = MarginsLaw.of(law), joint.variances(law)
    for margin in range(4):
        covariance = read.covariance(2 * margin + 1, range(4), 2 * margin + 1, range(4))
        noise = ClassNoise(
            bins=4, of_bin=variances[2 * margin + 1][:1], of_all=variances[2 * margin][:1], is_normal=True
        )
        for shares in (np.array([0.25, 0.5, 0.75]), np.array([0.1, 0.2, 0.9])):
            forms = np.tri(4)[:3] - shares[:, None]
            exact_variances = np.diag(forms @ covariance @ forms.T)
            assert noise.variances(shares[None, :])[0] == pytest.approx(exact_variances, rel=1e-9)
            assert noise.replayed(0, shares).var(axis=0) == pytest.approx(exact_variances, rel=0.1)


def test_every_margin_has_curves_that_rise_and_no_other_table() -> None:
    request = request_of(margins=[["cell"], []], weight="w")
    release = answered(request, sample(np.random.default_rng(1)), "two margins")
    assert [table.name for table in release.tables] == [
        "weighted distribution of x by cell",
        "weighted distribution of x by total",
    ]
    first, whole = (table.values.reshape(-1, len(POINTS)) for table in release.tables)
    assert first.shape == (CELLS, len(POINTS)) and (np.diff(first, axis=1) >= 0).all()
    assert np.abs(whole[0] - process(is_weighted=True)).max() < 0.03
    assert [axis.name for axis in release.tables[0].space.axes] == ["cell", "at most"]


def test_the_plan_says_what_the_release_then_holds() -> None:
    """Even values and even weights in cells of the stated size; within a tenth for the noise."""
    plan = planned(margins=[["cell"]], weight="w")
    (margin,) = plan.preview["margins"]
    records, rng = margin["records"], np.random.default_rng(5)
    data = {name: np.repeat(np.arange(CELLS), records) for name in ("cell",)}
    many = CELLS * records
    data |= {
        "sex": np.zeros(many, dtype=np.int64),
        "x": rng.integers(0, 501, many),
        "w": rng.integers(0, 41, many) / 10,
    }
    release = answered(request_of(margins=[["cell"]], weight="w"), data, "typical")
    for name, ends in (("half_width_95", bounds), ("half_width_95_with_sampling", sampled_bounds)):
        lower, upper = (end.reshape(CELLS, -1)[:, len(POINTS) // 2] for end in ends(release, release.tables[0], 0.95))
        assert np.median(upper - lower) / 2 == pytest.approx(margin[name], rel=0.1)


def test_without_a_design_there_is_no_second_error() -> None:
    for margins in ("none", "all"):
        plan = planned(domain_of({}), margins=margins, weight="w")
        assert note("weights_without_design") in plan.warnings
        assert not any("squared" in step.name for step in plan.measurements)
        assert any("squared" in step.name for step in planned(margins=margins, weight="w").measurements)


def test_squares_of_large_weights_are_held_in_a_coarser_unit() -> None:
    domain = domain_of(heaviest=200_000)
    law = planned(domain, weight="w").law
    assert law.parameters["squares"] > 2**16 and law.parameters["unit"] == 1  # type: ignore[union-attr]
    assert any("squared" in step.name for step in planned(domain, margins="all", weight="w").measurements)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"policy": {}, "weight": "w"}, "not declared fixed"),
        ({"weight": "w", "of": "w", "bins": [1]}, "different variables"),
        ({"margins": "all", "bins": 200}, "points"),
    ],
)
def test_what_means_nothing_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(DaleniusError, match=words):
        planned(**given)
