"""Certified intervals of quantiles: they hold beside heaps, fall back to the declared bounds, and say no more than the counts prove."""

from fractions import Fraction

import numpy as np
import pytest
from verify._recorded import release_of

from dalenius.algebra.estimates import QUANTILES, estimated
from dalenius.algebra.quantiles import Quantiles, cuts_of
from dalenius.core.domain import Axis, CellSpace
from dalenius.core.law import Additive, Joint
from dalenius.core.plan import TablePlan
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Block
from dalenius.core.sealed import Sealed
from dalenius.mechanisms.discrete_gaussian import DiscreteGaussian
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

RHO = {"definition": "zero_concentrated", "rho": "0.05"}


def earnings(draws: np.random.Generator, n: int) -> np.ndarray:
    """Hourly earnings, three fifths of them on whole and half amounts."""
    exact = np.exp(draws.normal(np.log(14.9), 0.4, n))
    return np.where(draws.random(n) < 0.6, np.rint(exact * 2) / 2, np.rint(exact * 10_000) / 10_000)


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "asked",
    [
        {"measure": "median"},
        {"measure": "quantile", "q": "9/10", "error": "noise"},
        {"measure": "quantiles"},
        {"measure": "boxplot", "error": "noise"},
    ],
    ids=lambda asked: asked["measure"],
)
def test_intervals_of_noise_hold_beside_heaps(relation: str, asked: dict[str, object]) -> None:
    """Thirty samples are the cells of one table; by how dense released values are, intervals held 72 to 84 % of such quantiles."""
    cells, n = 30, 2000
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "size": cells * n},
            "unit": {"relation": relation},
            "variables": {
                "cell": {"categories": [f"c{k}" for k in range(cells)]},
                "wage": {"bounds": [0, 200], "step": "0.0001", "missing": "0"},
            },
        }
    ).domain()
    plan = plan_of(domain, {"table": {"rows": ["cell"], "of": "wage", **asked}, "privacy": RHO})
    assert isinstance(plan.law, Joint)
    draws = np.random.default_rng(4)
    samples = np.array([np.sort(np.rint(earnings(draws, n) * 10_000)) for _ in range(cells)]).astype(np.int64)
    qs = [float(Fraction(q)) for q in plan.law.parameters["q"]]
    ends = estimated(plan.law, measured(plan, samples), cells * len(qs)).ends(0.95, False)
    lower, upper = (10_000 * end.reshape(cells, -1) for end in ends)
    for place, q in enumerate(qs):
        least, most = samples[:, int(np.ceil(q * n)) - 1], samples[:, int(np.floor(q * n))]
        assert np.mean((lower[:, place] <= most + 0.5) & (upper[:, place] >= least - 0.5)) >= 0.9
    if asked["measure"] == "median":
        # Half of them no wider than two of the heaps.
        assert np.median(upper - lower) <= 10_000


def measured(plan: TablePlan, samples: np.ndarray) -> tuple[Block, ...]:
    """Every step of a plan on one list a cell, as the gate drives it."""
    steps, blocks, rng = plan.steps(), list[Block](), RecordedRandomness("heaps")
    step, lists = next(steps), tuple(Sealed(values) for values in samples)
    while True:
        counted = (Sealed(np.full(len(samples), samples.shape[1])),)
        outcome = step.run(counted if step.name == "count" else lists, step.draw(rng), rng)
        block = step.block(outcome)
        assert block is not None
        blocks.append(block)
        try:
            step = steps.send(outcome)
        except StopIteration:
            return tuple(blocks)


def released(points: list[int], counts: list[int], **more: object) -> tuple[Joint, tuple[Block, ...]]:
    """What a release of a median of values from 0 to 100 would hold."""
    law = Joint(
        "estimate", {"estimate": QUANTILES, "q": ["1/2"], "step": "1", "limits": ["0", "100"], "size": 1000} | more
    )
    space = [CellSpace((Axis(variable=f"{k}", labels=tuple(map(str, range(k)))),)) for k in (7, 9)]
    blocks = (
        Block(name="points", space=space[0], values=np.array(points), law=Joint("grid_selection", {})),
        Block(name="counts", space=space[1], values=np.array(counts), law=Additive(DiscreteGaussian(Fraction(1)))),
    )
    return law, blocks


def test_a_median_deep_inside_a_heap_has_the_heap_as_its_interval() -> None:
    law, blocks = released([10, 20, 30, 40, 50, 60, 70], [100, 50, 50, 100, 400, 100, 50, 50, 100])
    made = estimated(law, blocks, 1)
    assert made.values.tolist() == [40]
    assert [end.tolist() for end in made.ends(0.95, False)] == [[40], [40]]
    lower, upper = made.ends(0.95, True)
    assert lower.tolist() == [40] and upper.tolist() == [40]


def test_ends_stop_at_the_first_point_that_is_not_certified() -> None:
    """Counts below the second cut look like half of all: no later cut is trusted, however certain it looks."""
    law, blocks = released([10, 20, 30, 40, 50, 60, 70], [100, 420, -200, 80, 200, 100, 100, 100, 100])
    lower, upper = estimated(law, blocks, 1).ends(0.95, False)
    assert (lower.tolist(), upper.tolist()) == ([10], [40])


def test_an_end_that_no_point_certifies_is_the_declared_bound() -> None:
    law, blocks = released([10, 20, 30, 40, 50, 60, 70], [500, 0, 0, 0, 0, 0, 0, 0, 500])
    lower, upper = estimated(law, blocks, 1).ends(0.95, False)
    assert (lower.tolist(), upper.tolist()) == ([0], [100])
    # One end certified, the other not.
    for counts, ends in (
        ([500, 0, 0, 0, 100, 100, 100, 100, 100], ([0], [40])),
        ([100, 100, 100, 100, 100, 0, 0, 0, 500], ([40], [100])),
    ):
        law, blocks = released([10, 20, 30, 40, 50, 60, 70], counts)
        assert tuple(end.tolist() for end in estimated(law, blocks, 1).ends(0.95, False)) == ends


def test_a_point_that_the_counts_exclude_gives_way() -> None:
    law, blocks = released([10, 20, 30, 40, 50, 60, 70], [50, 50, 50, 50, 0, 50, 650, 50, 50])
    made = estimated(law, blocks, 1)
    lower, upper = made.ends(0.95, False)
    # Cuts stand below 10, 20, 30 and 40, and above 40, 50, 60 and 70.
    assert (lower.tolist(), upper.tolist(), made.values.tolist()) == ([51], [60], [51])


def test_intervals_widen_with_confidence_and_with_sampling() -> None:
    law, blocks = released([10, 20, 30, 40, 50, 60, 70], [400, 40, 40, 15, 10, 15, 40, 40, 400])
    made = estimated(law, blocks, 1)
    widths = [
        float(np.subtract(*reversed(made.ends(confidence, kind)))[0])
        for kind in (False, True)
        for confidence in (0.5, 0.95, 0.9999)
    ]
    assert widths[:3] == sorted(widths[:3]) and widths[3:] == sorted(widths[3:])
    assert all(b >= a for a, b in zip(widths[:3], widths[3:], strict=True))
    assert made.sampled is not None and (made.sampled >= made.variance).all()


def test_a_released_size_widens_the_interval_with_sampling() -> None:
    law, blocks = released([10, 20, 30, 40, 50, 60, 70], [400, 40, 40, 15, 10, 15, 40, 40, 400])
    parameters = {key: value for key, value in law.parameters.items() if key != "size"}
    count = Block(
        name="count", space=CellSpace(()), values=np.array([1000]), law=Additive(DiscreteGaussian(Fraction(4_000_000)))
    )
    unsure = estimated(Joint("estimate", parameters), (count, *blocks), 1)
    known = estimated(law, blocks, 1)
    assert unsure.ends(0.95, True)[1] > known.ends(0.95, True)[1]
    assert unsure.ends(0.95, False)[1] == known.ends(0.95, False)[1]


def test_cuts_of_points_that_fall_together_stand_apart() -> None:
    """Points 37, 38, 40, 40 (the quantile), 40, 43, 43: no cut is measured twice, and no point loses its own."""
    fallen = np.array([[37, 38, 40, 40, 40, 43, 43], [5, 5, 5, 5, 5, 5, 5], [1, 3, 5, 7, 9, 11, 13]])
    assert cuts_of(fallen, 1).tolist() == [
        [37, 38, 39, 40, 41, 42, 44, 45],
        [2, 3, 4, 5, 6, 7, 8, 9],
        [1, 3, 5, 7, 8, 10, 12, 14],
    ]


def test_recorded_noise_gives_the_same_ends_again() -> None:
    """A reader without data finds from law and blocks what the release says."""
    declared = load_dataset(
        {
            "dataset": {"name": "d", "population": "p"},
            "unit": {"relation": "add-remove"},
            "variables": {"hours": {"bounds": [0, 60], "step": 1, "missing": "0"}},
        }
    ).domain()
    plan = plan_of(declared, {"table": {"measure": "median", "of": "hours"}, "privacy": RHO})
    columns = {"hours": [20] * 1500 + [35] * 1300 + [40] * 1200}
    release = release_of(plan, declared, columns, {"measure": "median", "of": "hours"}, "again")
    assert isinstance(release.law, Joint)
    again = estimated(release.law, release.blocks, 1)
    for with_sampling in (False, True):
        told = release.interval(0.95, with_sampling=with_sampling)
        assert [e.reshape(-1).tolist() for e in told] == [e.tolist() for e in again.ends(0.95, with_sampling)]
    assert again.values.tolist() == [35]


def weighted(squares: list[int], sigma: Fraction = Fraction(1, 100)) -> Quantiles:
    """The .9 quantile of weighted records, with squared weights below, at and above it, in units of 4."""
    parameters = {"q": ["9/10"], "step": "1", "limits": ["0", "100"], "weight": "1", "squares": "4"}
    points, parts = np.array([70, 80, 85, 90, 92, 95, 99]), np.array([700, 100, 50, 40, 20, 30, 20, 20, 20])

    def block(values: np.ndarray, variance: Fraction, role: str = "table") -> Block:
        law = Additive(DiscreteGaussian(variance))
        space = CellSpace((Axis(variable="k", labels=tuple(map(str, range(len(values))))),))
        return Block(name=role, space=space, values=values, law=law, role=role)

    little = Fraction(1, 100)
    return Quantiles(
        parameters,
        [
            block(np.array([1000]), little),
            block(points, little, "points"),
            block(parts, little),
            block(np.array(squares), sigma),
        ],
    )


def variance(made: Quantiles) -> float:
    (rank,) = made._ranks(0, 0.95)
    return rank.variance


def test_squared_weights_at_a_quantile_count_where_the_variance_is_larger() -> None:
    """In squares of tenths: 81 above the quantile and 1 below it, times the unit, and rounded up to three digits."""
    below, at, above = (variance(weighted([1000 * (k == place) for k in range(3)])) for place in range(3))
    assert at == above == pytest.approx(4 * 81 * 1000, rel=0.01)
    assert below == pytest.approx(4 * 1000, rel=0.05)


def test_squared_weights_enter_with_their_upper_end() -> None:
    """Three standard errors of the noise, at the fortieth part of the error."""
    sure, unsure = (variance(weighted([0, 0, 1000], sigma)) for sigma in (Fraction(1, 100), Fraction(10**4)))
    reach = 4 * 3.02 * 100 * np.sqrt(1 + 2 * 81**2)
    assert unsure - sure == pytest.approx(reach, rel=0.02)
    assert variance(weighted([-50, 0, -1000], Fraction(10**4))) == pytest.approx(reach, rel=0.02)


def test_a_larger_variance_of_sampling_makes_an_interval_longer() -> None:
    narrow, wide = (weighted([squares] * 3).ends(0.95, True) for squares in (1, 3000))
    assert wide[0] < narrow[0] <= 90 <= narrow[1] < wide[1]
