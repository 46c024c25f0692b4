"""Quantiles: the known answers on fixed records, ends around them, and what is refused."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from verify._recorded import release_of

from dalenius.algebra.tabulation import bounds, sampled_bounds
from dalenius.errors import DaleniusError
from dalenius.inference.cells import intervals
from dalenius.shown.speech import heading
from dalenius.spec.load import load_dataset
from dalenius.testing.asking import plan_of

Ask = Callable[..., Any]


def test_quartiles_and_their_distance(ask: Ask) -> None:
    table, distance = ask(measure="quantiles", of="income", amount=100)
    assert np.abs(table.values - [25, 50, 75]).max() <= 2
    assert [axis.name for axis in table.space.axes] == ["quantile"]
    assert np.abs(distance.values - 50).max() <= 4
    # A quartile of 99 evenly spread values has a standard error of about 100 sqrt(3/16 / 99); stated is the longer side.
    assert np.sqrt(table.sampled) == pytest.approx([4.4, 5.0, 4.4], rel=0.45)
    assert (table.variance < table.sampled).all()


def test_a_median_by_cell(ask: Ask) -> None:
    (table,) = ask(rows=["sex"], measure="quantiles", of="income", q=["1/2"], amount=100)
    assert np.abs(table.values - [30, 80]).max() <= 2


@pytest.mark.parametrize(
    "wrong", [{"q": 1}, {"q": 1000}, {"q": ["0"]}, {"q": ["3/2"]}, {"q": []}, {"q": "5/2"}, {"of": "sex"}]
)
def test_what_means_nothing_is_refused(ask: Ask, wrong: dict[str, Any]) -> None:
    with pytest.raises(DaleniusError):
        ask(**({"measure": "quantiles", "of": "income"} | wrong))


def test_quantiles_without_sampling_have_the_error_of_noise_alone(ask: Ask) -> None:
    table, distance = ask(measure="quantiles", of="income", error="noise", amount=60)
    assert np.abs(table.values - [25, 50, 75]).max() <= 2
    assert table.sampled is None and distance.sampled is None
    assert np.isfinite(table.variance).all()
    (single,) = ask(measure="quantiles", of="income", q=["1/2"], error="noise", amount=60)
    assert single.sampled is None and np.isfinite(single.variance).all()


def test_no_interval_with_sampling_is_shorter_than_that_of_the_noise() -> None:
    """On a coarse grid the ends that are selected may all be one value, though the noise alone may have moved it."""
    declared = load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "size": 4000},
            "unit": {"relation": "replace"},
            "variables": {"hours": {"bounds": [0, 60], "step": 1, "missing": "0"}},
        }
    ).domain()
    asked = {"measure": "quantiles", "of": "hours", "q": 4}
    plan = plan_of(declared, {"table": asked, "privacy": {"definition": "pure", "epsilon": 4}})
    columns = {"hours": [20] * 1500 + [35] * 1300 + [40] * 1200}
    release = release_of(plan, declared, columns, {"measure": "quantiles", "of": "hours"}, "coarse")
    assert release.tables[0].values.tolist() == [20, 35, 40]
    for table in release.tables:
        for confidence in (0.5, 0.95):
            lower, upper = bounds(release, table, confidence)
            low, high = sampled_bounds(release, table, confidence)
            assert (low <= lower).all() and (high >= upper).all()
    method = intervals(release).method
    assert "certify" in method and "sum" not in method
    assert release.tables[1].values.tolist() == [20]
    # The quartiles lie deep inside their heaps: so does their distance.
    assert [end.tolist() for end in bounds(release, release.tables[1])] == [[20.0], [20.0]]
    assert heading(release, release.tables[1]) == "Interquartile range of hours"
    assert heading(release, release.tables[1], "de") == "Quartilsabstand von hours"


@pytest.mark.parametrize(("measure", "rows", "relation"), [("median", 2, "replace"), ("quantiles", 1, "add-remove")])
def test_intervals_with_sampling_hold_the_quantile_of_the_process_beside_heaps(
    measure: str, rows: int, relation: str
) -> None:
    """Samples of persons with equal rows as the cells of one table; of 70 a binomial test at .0005 rejects 93.5 % below 57."""
    cells, persons, draws = 70, 120, np.random.default_rng(6)
    # Monthly amounts, of which half stand on round ones and a quarter are nothing: the lower quartile is beside that heap.
    amounts = np.rint(np.exp(draws.normal(7.4, 0.5, 4001)))
    amounts = np.where(draws.random(4001) < 0.5, np.rint(amounts / 500) * 500, amounts)
    process = np.sort(np.where(draws.random(4001) < 0.245, 0, np.minimum(amounts, 10_000)))
    samples = draws.choice(process, (cells, persons))
    domain = load_dataset(
        {
            "dataset": {"name": "d", "population": "p", "public": True},
            "unit": {"relation": relation, **({"id": "person", "max_rows": rows} if rows > 1 else {})},
            "variables": {
                "cell": {"categories": [f"c{k}" for k in range(cells)]},
                "amount": {"bounds": [0, 10_000], "step": 1},
            },
        }
    ).domain()
    request = {"rows": ["cell"], "of": "amount", "measure": measure}
    plan = plan_of(domain, {"table": request, "privacy": {"definition": "zero_concentrated", "rho": 1}})
    columns = {
        "person": np.repeat(np.arange(cells * persons), rows).tolist(),
        "cell": np.repeat([f"c{k}" for k in range(cells)], persons * rows).tolist(),
        "amount": np.repeat(samples.reshape(-1), rows).tolist(),
    }
    release = release_of(plan, domain, columns, request, "process")
    lower, upper = (end.reshape(cells, -1) for end in sampled_bounds(release, release.table))
    for place, q in enumerate([0.5] if measure == "median" else [0.25, 0.5, 0.75]):
        true = process[int(np.ceil(4001 * q)) - 1]
        assert np.sum((lower[:, place] <= true) & (true <= upper[:, place])) >= 57
        # They say something: at most half as wide as the bounds.
        assert np.median(upper[:, place] - lower[:, place]) <= 5000
