"""Differences, ratios and changes of any two released numbers hold the truth as often as they say.

Replicates are pairs of regions of one table. Bounds were written before the first run: fewer than 93.5 % of the
comparisons are a failure where a binomial test at .0005 says so; more than 97 % where errors are normal, likewise.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from typer.testing import CliRunner

from dalenius import Curator, inference, save, table
from dalenius.cli.main import app
from dalenius.core.law import Additive
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.errors import DaleniusError, ParameterError, TooLarge, UnknownName, Unsupported
from dalenius.inference.dependence import ONE_NOISE, OTHER_ROWS, OWN_NOISE, SAME_ROWS
from dalenius.inference.released_number import released_number
from dalenius.mechanisms.discrete_laplace import DiscreteLaplace
from dalenius.testing.inference_kit import release_of

REGIONS = [f"r{k:03d}" for k in range(200)]
ROWS = 120
MEANS = 20 + 10 * np.sin(np.arange(len(REGIONS)))
LEAST, MOST, LEVEL = 0.935, 0.97, 0.0005
LISTS = 200


def dataset(version: str) -> dict[str, Any]:
    return {
        "dataset": {"name": "survey", "population": "people", "version": version, "public": True},
        "design": {"draws": "independent"},
        "variables": {
            "region": {"categories": REGIONS, "missing": REGIONS[0], "unseen": REGIONS[0]},
            "sex": {"categories": ["f", "m"], "missing": "f", "unseen": "f"},
            "income": {"bounds": [0, 100], "step": 1, "missing": 0},
            "w": {"weight": True, "bounds": [1, 3], "step": "0.5", "missing": 1},
        },
    }


def people(seed: int) -> dict[str, Any]:
    """Incomes with heaps whose means differ by region."""
    chance = np.random.default_rng(seed)
    region = np.repeat(np.arange(len(REGIONS)), ROWS)
    income = np.clip(np.rint(chance.gamma(4.0, MEANS[region] / 4)), 0, 100).astype(int)
    return {
        "region": [REGIONS[k] for k in region],
        "sex": np.where(chance.random(len(region)) < 0.5, "f", "m").tolist(),
        "income": np.where(chance.random(len(region)) < 0.2, 5 * (income // 5), income).tolist(),
        "w": np.where(chance.random(len(region)) < 0.5, 1.0, 2.5).tolist(),
    }


class Waves:
    """Two waves of a survey, each with its curator and its rows."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        policy = {"budget": {"rho": 1000}, "allow": {"acknowledge": ["fixed_weights"]}}
        self.rows = [people(1), people(2)]
        self.curators = []
        for number, rows in enumerate(self.rows):
            opened = Curator.open(
                dataset(str(number)),
                ledger=folder / f"{number}.sqlite",
                data=rows,
                rng=RecordedRandomness(f"wave {number}"),
                policy=policy,
            )
            self.curators.append(stack.enter_context(opened))
            self.curators[-1].register()

    def release(self, wave: int = 0, **asked: Any) -> Release:
        return self.curators[wave].release(table(**{"rho": 1, "rows": "region", **asked}))

    def truth(self, wave: int, of: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
        rows = {name: np.asarray(column).reshape(len(REGIONS), ROWS) for name, column in self.rows[wave].items()}
        return np.array([of({name: column[k] for name, column in rows.items()}) for k in range(len(REGIONS))])


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Waves]:
    with ExitStack() as stack:
        yield Waves(tmp_path_factory.mktemp("waves"), stack)


def mean(rows: Any) -> float:
    return float(np.mean(rows["income"]))


def weighted(rows: Any) -> float:
    return float(np.average(rows["income"], weights=rows["w"]))


def median(rows: Any) -> float:
    return float(np.sort(rows["income"])[ROWS // 2])


MEASURES: dict[str, tuple[dict[str, Any], Any]] = {
    "count": ({"where": {"sex": "f"}}, lambda rows: np.sum(rows["sex"] == "f")),
    "mean": ({"measure": "mean", "of": "income"}, mean),
    "weighted mean": ({"measure": "mean", "of": "income", "weight": "w"}, weighted),
    "total": ({"measure": "total", "of": "income"}, lambda rows: np.sum(rows["income"])),
    "proportion": ({"measure": "proportion", "of": "sex", "among": ["f"]}, lambda rows: np.mean(rows["sex"] == "f")),
    "standard deviation": (
        {"measure": "standard_deviation", "of": "income"},
        lambda rows: np.std(rows["income"], ddof=1),
    ),
    "median": ({"measure": "median", "of": "income"}, median),
}


def pairs() -> Iterator[tuple[int, int]]:
    """Regions side by side, each once: their comparisons are independent."""
    return ((k, k + 1) for k in range(0, len(REGIONS), 2))


def check(held: list[bool], *, is_exact: bool) -> None:
    share, many = np.mean(held), len(held)
    assert binom.cdf(sum(held), many, LEAST) > LEVEL, f"{share:.3f} of {many}"
    if is_exact:
        assert binom.sf(sum(held) - 1, many, MOST) > LEVEL, f"{share:.3f} of {many}"


@pytest.mark.parametrize("name", MEASURES)
def test_differences_ratios_and_changes_within_and_between_releases_hold(name: str, waves: Waves) -> None:
    asked, of = MEASURES[name]
    releases = [waves.release(wave, **asked) for wave in (0, 1)]
    truths = [waves.truth(wave, of) for wave in (0, 1)]
    held: dict[str, list[bool]] = {"difference": [], "ratio": [], "change": []}
    for a, b in pairs():
        for against, place in ((None, 0), (releases[1], 1)):
            first, second = {"region": REGIONS[a]}, {"region": REGIONS[b]}
            one, two = truths[0][a], truths[place][b]
            slack = 1e-9
            for question, true in (("difference", one - two), ("ratio", one / two), ("change", 100 * (two / one - 1))):
                ends = getattr(inference, question)(releases[0], first, second, against=against).interval
                held[question].append(ends.lower - slack <= true <= ends.upper + slack)
    check(held["difference"], is_exact=name not in ("median", "count"))
    check(held["ratio"], is_exact=False)
    check(held["change"], is_exact=False)


@pytest.mark.parametrize("name", ["mean", "weighted mean", "proportion", "median"])
def test_differences_of_processes_hold(name: str, waves: Waves) -> None:
    """Regions k and k + 1 have the means of the process; the truth is known for incomes before they are rounded."""
    asked, _ = MEASURES[name]
    many = [people(seed) for seed in range(40, 80)]
    columns = {key: np.array([rows[key] for rows in many]).reshape(len(many), len(REGIONS), ROWS) for key in many[0]}
    process = np.array(
        [
            MEASURES[name][1]({key: column[:, k].reshape(-1) for key, column in columns.items()})
            for k in range(len(REGIONS))
        ]
        if name != "median"
        else [np.median(columns["income"][:, k]) for k in range(len(REGIONS))]
    )
    release = waves.release(**asked)
    held = []
    for a, b in pairs():
        first, second = {"region": REGIONS[a]}, {"region": REGIONS[b]}
        found = inference.difference(release, first, second, kind="parameter")
        held.append(process[a] - process[b] in found.interval)
        assert OTHER_ROWS in found.assumptions
    check(held, is_exact=name != "median")


def test_lists_of_means_hold_and_join_what_they_share(waves: Waves) -> None:
    release = waves.release(measure="mean", of="income", columns="sex", margins="all")
    of_sex = {sex: waves.truth(0, lambda rows, sex=sex: np.mean(rows["income"][rows["sex"] == sex])) for sex in "fm"}
    held = []
    for a, b in pairs():
        first, second = ({"region": REGIONS[k], "sex": "f"} for k in (a, b))
        found = inference.difference(release, first, second)
        held.append(of_sex["f"][a] - of_sex["f"][b] in found.interval)
    check(held, is_exact=True)
    nested = inference.difference(release, {"region": REGIONS[0], "sex": "f"}, {"region": REGIONS[0]})
    assert nested.assumptions == (ONE_NOISE,)
    parts = [inference.difference(release, first, {}) for first in ({"sex": "f"}, {"sex": "m"})]
    assert parts[0].value * parts[1].value < 0


def test_waves_are_panels_unless_they_are_said_to_be_independent(waves: Waves) -> None:
    one, two = (waves.release(wave, measure="mean", of="income") for wave in (0, 1))
    same = {"region": REGIONS[3]}
    panel = inference.difference(one, same, same, against=two, kind="parameter")
    apart = inference.difference(one, same, same, against=two, kind="parameter", samples="independent")
    noise = inference.difference(one, same, same, against=two)
    assert panel.interval.width > 1.2 * apart.interval.width > 1.2 * noise.interval.width
    assert panel.assumptions == (OWN_NOISE, SAME_ROWS) and apart.assumptions == (OWN_NOISE, OTHER_ROWS)
    assert panel.std_error > apart.std_error > noise.std_error
    # Errors of sampling that are added: as many times as two equal ones have over the root of two.
    assert panel.interval.width < 1.45 * apart.interval.width


def test_all_pairs_hold_together(waves: Waves) -> None:
    release = waves.release(rows="sex", measure="mean", of="income", where={"region": REGIONS[:8]})
    pair = inference.difference(release, {"sex": "f"}, {"sex": "m"})
    from dalenius.inference.questions.difference import DIFFERENCE

    ask = DIFFERENCE.ask
    found = ask(release, by="sex")
    assert found.labels() == [("f | m",)] and found.values[0] == pair.value
    one, two = (waves.release(wave, measure="mean", of="income") for wave in (0, 1))
    every = ask(one, by="region", against=two)
    truth = waves.truth(0, mean) - waves.truth(1, mean)
    assert every.is_simultaneous and every.labels() == [(region,) for region in REGIONS]
    assert np.mean((every.lower <= truth) & (truth <= every.upper)) > 0.98
    outside = (every.lower > 0) | (every.upper < 0)
    assert every.p_values is not None and (every.p_values[outside] <= 0.05).all() and "p by Holm" in every._repr_html_()
    assert [cell["p_value"] for cell in every.to_dict()["cells"]] == every.to_frame()["p_value"].tolist()
    with pytest.raises(ParameterError, match="Remove it from the cells"):
        ask(one, by="region", first={"region": ("r000",)})


def test_at_most_one_in_twenty_lists_of_pairs_holds_any_false_difference() -> None:
    """Four labels of which three are equal: errors are drawn, and any small p-value of an equal pair is a false one."""
    rng, law, wrong, found = np.random.default_rng(8), Additive(DiscreteLaplace(Fraction(1, 4))), [], []
    counts = np.array([400, 400, 400, 430]).reshape(-1, 1, 1)
    for _ in range(LISTS):
        noise = rng.geometric(1 - np.exp(-1 / 4), (2, 4, 1, 1))
        made = inference.difference(release_of(counts + noise[0] - noise[1], law), by="A")
        small = made.p_values <= 0.05
        equal = np.array(["a3" not in label for (label,) in made.labels()])
        wrong.append((small & equal).any())
        found.append(small[~equal].mean() - ((made.lower > 0) | (made.upper < 0))[~equal].mean())
    assert binom.sf(sum(wrong) - 1, LISTS, 0.05) > LEVEL, np.mean(wrong)
    assert min(found) >= 0 < np.mean(found), "Holm's steps find what Bonferroni's intervals find, and more"


def test_a_total_without_its_error_of_sampling_says_how_to_ask(waves: Waves) -> None:
    release = waves.release(measure="total", of="income", error="noise")
    with pytest.raises(Unsupported, match='ask anew with error = "sampling"'):
        inference.difference(release, {"region": "r000"}, {"region": "r001"}, kind="parameter")


def test_a_ratio_to_what_may_be_zero_is_unbounded(waves: Waves) -> None:
    weak = waves.release(measure="total", of="income", rho="1/10000000")
    found = inference.ratio(weak, {"region": REGIONS[0]}, {"region": REGIONS[1]})
    assert found.interval.upper == float("inf") or found.interval.lower == -float("inf")


REFUSED: list[tuple[dict[str, Any], dict[str, Any], type[DaleniusError], str]] = [
    ({}, {"region": "r000"}, Unsupported, "Name a label of region"),
    ({"region": ("r000", "r001")}, {"region": "r002"}, Unsupported, "Name one label of region"),
    ({"region": "nowhere"}, {"region": "r002"}, UnknownName, "nowhere"),
    ({"town": "r000"}, {"region": "r002"}, UnknownName, "town"),
]


@pytest.mark.parametrize(("first", "second", "error", "words"), REFUSED)
def test_what_is_refused_says_what_to_change(
    first: Any, second: Any, error: type[DaleniusError], words: str, waves: Waves
) -> None:
    release = waves.release(measure="mean", of="income")
    with pytest.raises(error, match=words):
        inference.difference(release, first, second)
    with pytest.raises(ParameterError, match="samples"):
        inference.difference(release, {"region": "r000"}, {"region": "r001"}, samples="some")


def test_two_waves_are_compared_by_the_command_line(waves: Waves, tmp_path: Path) -> None:
    one, two = (waves.release(wave, measure="mean", of="income") for wave in (0, 1))
    paths = [str(save(release, tmp_path / f"{number}.json")) for number, release in enumerate((one, two))]
    label = "region=r007"
    asked = ["infer", "change", paths[0], "--against", paths[1], "--first", label, "--second", label, "--json"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.output
    own = inference.change(one, {"region": "r007"}, {"region": "r007"}, against=two)
    assert json.loads(found.output)["value"] == pytest.approx(own.value)
    every = CliRunner().invoke(app, ["infer", "difference", paths[0], "--against", paths[1], "--by", "region"])
    assert every.exit_code == 0 and "all cells together" in every.output and "r199" in every.output


def test_counts_of_two_releases_have_the_law_of_both_noises(waves: Waves) -> None:
    one, two = (waves.release(wave, rho="1/2", where={"sex": "f"}) for wave in (0, 1))
    made = inference.difference(one, {"region": REGIONS[0]}, against=two)
    laws = [release.law for release in (one, two)]
    points, masses = zip(*(law.central(1e-12) for law in laws), strict=True)
    apart = np.abs(np.subtract.outer(*points))
    inside = [float(np.multiply.outer(*masses)[apart <= reach].sum()) for reach in range(9)]
    least = next(reach for reach, share in enumerate(inside) if share >= 0.95)
    assert made.interval.upper - made.value == made.value - made.interval.lower == least


def test_a_sum_of_two_variances_is_better_known_than_each(waves: Waves) -> None:
    """Arms with sampling of two waves are joined more tightly than in squares, and not at all where samples may overlap."""
    asked = {"measure": "mean", "of": "income", "weight": "w", "rho": "1/10"}
    one, two = (waves.release(wave, **asked) for wave in (0, 1))
    cell = {"region": REGIONS[0]}
    arms = [released_number(release, cell, kind="parameter").both for release in (one, two)]
    keywords = {"against": two, "kind": "parameter"}
    made = inference.difference(one, cell, samples="independent", **keywords)
    lower = made.value - made.interval.lower
    assert 0.8 < lower / np.hypot(arms[0][0], arms[1][1]) < 0.99
    assert inference.difference(one, cell, **keywords).interval.lower < made.interval.lower


def test_a_release_in_the_place_of_cells_is_one_to_compare_with(waves: Waves) -> None:
    one, two = (waves.release(wave, measure="mean", of="income") for wave in (0, 1))
    cell = {"region": REGIONS[3]}
    assert inference.change(one, two, cell).to_dict() == inference.change(one, cell, cell, against=two).to_dict()
    every = inference.change(one, two, by="region")
    assert every.title == "mean of income: change from 0 to 1, per cent, by region"
    assert every.is_simultaneous and len(every) == len(REGIONS)
    with pytest.raises(TooLarge, match="At most 5,000 comparisons"):
        inference.difference(one, by="region")
