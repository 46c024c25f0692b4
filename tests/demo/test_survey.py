"""The synthetic survey: what it guarantees about its rows, its regions, its waves and its documents."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius.curator.curator import Curator
from dalenius.demo import farms, survey, survey_rows
from dalenius.demo.survey_rows import GROUPS, OCCUPATIONS, POLYGONS, regions
from dalenius.spec.load import load_dataset, load_policy, load_request

PERSONS = 4_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return survey.materialise(tmp_path_factory.mktemp("survey"), PERSONS)[0].parent


@pytest.fixture(scope="module")
def waves() -> list[dict[str, np.ndarray]]:
    """Both waves in full."""
    return [survey_rows.rows(wave) for wave in survey.WAVES]


def test_each_wave_has_200_000_persons_with_at_most_four_rows(waves: list[dict[str, np.ndarray]]) -> None:
    for wave in waves:
        persons, counts = np.unique(wave["person"], return_counts=True)
        assert len(persons) == 200_000
        assert set(counts) == {1, 2, 3, 4}
    shared = np.intersect1d(waves[0]["person"], waves[1]["person"])
    assert len(shared) == 160_000


def test_a_person_keeps_sex_and_birth_between_the_waves(waves: list[dict[str, np.ndarray]]) -> None:
    first, second = (
        {p: (s, a - w) for p, s, a, w in zip(*(wave[n] for n in ("person", "sex", "age", "wave")), strict=True)}
        for wave in waves
    )
    assert all(first[person] == second[person] for person in first.keys() & second.keys())


def test_the_numbers_are_as_awkward_as_real_ones(waves: list[dict[str, np.ndarray]]) -> None:
    for wave in waves:
        income = wave["income"].compressed()
        assert 0.3 < (income == 0).mean() < 0.6
        paid = np.sort(income[income > 0])
        assert paid[-1] > 20 * np.median(paid) and paid[-len(paid) // 100 :].sum() > 0.05 * paid.sum()
        assert wave["hours"].min() == 0 and 50 < wave["hours"].max() <= 80
        for name in ("education", "occupation", "hours", "income"):
            assert 0.01 < np.ma.getmaskarray(wave[name]).mean() < 0.6, name
        assert wave["weight"].std() > 0.3 * wave["weight"].mean() and wave["weight"].min() >= 1
        sizes = np.unique(wave["region"], return_counts=True)[1]
        assert len(sizes) == 400 and sizes.max() > 100 * sizes.min()


def test_occupation_depends_on_education_and_on_sex(waves: list[dict[str, np.ndarray]]) -> None:
    wave = waves[0]
    group = wave["occupation"].filled("-").astype("U1")
    worked = group != "-"
    is_professional = group == "2"
    share = [is_professional[worked & (wave["education"] == level).filled(False)].mean() for level in (1, 3, 5)]
    assert share[0] < share[1] / 3 < share[2] / 6
    nurses = wave["occupation"].filled("-") == "222"
    assert (wave["sex"][nurses] == "f").mean() > 0.7


def test_the_same_seed_gives_the_same_rows() -> None:
    once, again = survey_rows.rows(2023, 500), survey_rows.rows(2023, 500)
    for name, column in once.items():
        np.testing.assert_array_equal(np.ma.filled(column, 0), np.ma.filled(again[name], 0))


def test_there_are_fifty_occupations_in_nine_groups_in_two_languages() -> None:
    assert len(OCCUPATIONS) == len({o.code for o in OCCUPATIONS}) == 50
    assert {o.code[0] for o in OCCUPATIONS} == set(GROUPS)
    assert len({o.english for o in OCCUPATIONS}) == len({o.german for o in OCCUPATIONS}) == 50


# Of the outline that the polygons were cut from, in square degrees.
AREA = 22.328108


def area(ring: object) -> float:
    corner = np.array(ring)
    x, y = corner[:, 0], corner[:, 1]
    return float(0.5 * (x * np.roll(y, -1) - y * np.roll(x, -1)).sum())


def test_the_regions_tile_the_country_in_three_levels() -> None:
    every = regions()
    assert len({r.code for r in every}) == len({r.name for r in every}) == 400
    assert (len({r.district for r in every}), len({r.state for r in every})) == (40, 8)
    assert len({(r.district, r.state) for r in every}) == 40
    assert sum(r.share for r in every) == pytest.approx(1.0)


def test_the_polygons_are_closed_rings_with_the_codes_of_the_list(folder: Path) -> None:
    written = json.loads((folder / POLYGONS).read_text())
    assert [feature["properties"]["name"] for feature in written["features"]] == [r.name for r in regions()]
    codes = load_dataset(folder / survey.dataset_name(2023)).domain().variable("region").categories.values
    assert [feature["id"] for feature in written["features"]] == list(codes)
    rings = [feature["geometry"]["coordinates"][0] for feature in written["features"]]
    for ring in rings:
        corners = set(map(tuple, ring))
        assert ring[0] == ring[-1] and area(ring[:-1]) > 0 and len(corners) == len(ring) - 1 >= 3
    # The cells fill the country's outline.
    assert sum(area(ring[:-1]) for ring in rings) == pytest.approx(AREA, rel=1e-4)


def test_documents_say_that_it_is_synthetic_and_share_one_population(folder: Path) -> None:
    documents = [load_dataset(folder / survey.dataset_name(wave)) for wave in survey.WAVES]
    assert all("(synthetic)" in d.dataset.title and d.dataset.public for d in documents)
    assert {d.dataset.population for d in documents} == {"survey-panel"}
    assert [d.dataset.version for d in documents] == ["2023", "2024"]
    german = documents[0].translations["de"]
    assert "synthetisch" in german.title
    assert german.labels["occupation"]["Lawyers"] == "Rechtsberufe"
    domain = documents[0].domain()
    assert set(german.variables) == set(domain.variables)
    assert load_policy(folder / survey.POLICY).budget.rho == 4
    for name in survey.REQUESTS:
        load_request(folder / f"{name}.toml").space(domain)


def test_every_value_is_declared_and_only_the_tail_of_income_is_outside(folder: Path) -> None:
    for wave in survey.WAVES:
        with Curator.open(folder / survey.dataset_name(wave), ledger=folder / "ledger.sqlite") as curator:
            found = curator.register(by="custodian").reveal()
        for name, notes in found["variables"].items():
            assert notes["unseen"] == notes["unreadable"] == 0
            assert name == "income" or notes["outside"] == 0
        assert found["rows_over_max"] == 0


def test_what_exists_in_the_folder_is_left_alone(folder: Path) -> None:
    (folder / survey.POLICY).write_text("[budget]\nrho = 1\n")
    survey.materialise(folder, PERSONS)
    assert load_policy(folder / survey.POLICY).budget.rho == 1
    (folder / survey.POLICY).unlink()
    survey.materialise(folder, PERSONS)
    assert load_policy(folder / survey.POLICY).budget.rho == 4


def test_the_verb_releases_every_example_of_both_waves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(survey.materialise, "__defaults__", (PERSONS,))
    arguments = ["demo", "--survey", "-o", str(tmp_path / "s")]
    done = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    releases = json.loads(done.output)["releases"]
    assert set(releases) == set(survey.REQUESTS)
    for name in survey.REQUESTS:
        assert (tmp_path / "s" / "releases" / name / "table.csv").is_file()
    # The second time the stored releases answer.
    again = CliRunner().invoke(app, [*arguments, "--json"], catch_exceptions=False)
    assert json.loads(again.output)["releases"] == releases
    text = CliRunner().invoke(app, arguments, catch_exceptions=False).output
    assert "nobody in it exists" in " ".join(text.split())
    for line in (line.split() for line in text.splitlines() if line.startswith("  dalenius ")):
        tried = CliRunner().invoke(app, line[1:], catch_exceptions=False)
        assert tried.exit_code == 0, (line, tried.output)
    # The farms are registered beside it, in the same ledger, under a policy of their own.
    with Curator.open(tmp_path / "s" / farms.DATASET) as curator:
        mean = {"table": {"measure": "mean", "of": "output"}, "privacy": {"definition": "individual", "epsilon": 1}}
        assert curator.plan(mean).account == "data-dependent"
        assert curator.source.domain.population == "rice-farms" and curator.left.rho == 2


def test_the_documents_name_their_ledger_and_policy(tmp_path: Path) -> None:
    """So that `plan` and `release` need no further words, and no second ledger is made by mistake."""
    documents = [load_dataset(path) for path in survey.materialise(tmp_path, 50)]
    assert {d.ledger_location for d in documents} == {str(tmp_path / "ledger.sqlite")}
    assert {d.policy_location for d in documents} == {tmp_path / survey.POLICY}
    inner = survey.materialise(tmp_path / "inner", 50, ledger="../ledger.sqlite")
    assert Path(load_dataset(inner[0]).ledger_location).resolve() == tmp_path / "ledger.sqlite"
