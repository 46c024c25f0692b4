"""What a release is about, and how exact it is, said by every product in the same words; tried on the synthetic survey."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from dalenius.algebra.tabulation import cells_in_order
from dalenius.cli.main import app as command
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.demo import survey
from dalenius.publish import save
from dalenius.publish.to_csv import to_csv
from dalenius.publish.to_csvw import to_csvw
from dalenius.publish.to_html import to_html
from dalenius.publish.to_json import from_json, write_json
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.shown.display import displayed
from dalenius.spec.load import load_request

CONFIG = 'policy = "policy.toml"\nledger = "ledger.sqlite"\nsecure_cookies = false\n[[datasets]]\ndocument = "survey-2023.toml"\n[[datasets]]\ndocument = "survey-2024.toml"\n'
MARGIN = re.compile(r"±|margin of error|Fehlerspanne")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("shown")
    for document in survey.materialise(place, 2000):
        with Curator.open(document, ledger=place / "ledger.sqlite", policy=place / survey.POLICY) as curator:
            curator.register(by="custodian")
    return place


def released(folder: Path, request: Any, dataset: str = "survey-2023.toml") -> Release:
    with Curator.open(
        folder / dataset,
        ledger=folder / "ledger.sqlite",
        policy=folder / survey.POLICY,
        rng=RecordedRandomness("shown"),
    ) as curator:
        return curator.release(request)


@pytest.fixture(scope="module")
def releases(folder: Path) -> dict[str, Release]:
    found = {}
    earnings = (folder / "earnings.toml").read_text()
    (folder / "selected.toml").write_text(earnings.replace("[privacy]", 'method = "exponential"\n\n[privacy]'))
    for name in (*survey.REQUESTS, "selected"):
        found[name] = released(folder, folder / f"{name}.toml", load_request(folder / f"{name}.toml").dataset)
        save(found[name], folder / "releases" / name)
    return found


@pytest.fixture(scope="module")
def site(folder: Path, releases: dict[str, Release]) -> Iterator[Any]:
    (folder / "server.toml").write_text(CONFIG)
    made = create_app(ServerConfig.load(folder / "server.toml"))
    with TestClient(made):
        yield made


def run(*arguments: object, columns: int = 80) -> str:
    done = CliRunner(env={"COLUMNS": str(columns)}).invoke(command, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def page(site: Any, path: str, language: str = "en") -> str:
    reader = TestClient(site)
    reader.get(f"/language/{language}", params={"next": "/"})
    answer = reader.get(path)
    assert answer.status_code == 200
    return answer.text


def texts(html: str) -> str:
    """What a page says, without markup, styles and what the controls offer."""
    for tag in ("style", "select", "head", "nav", "footer"):
        html = re.sub(rf"<{tag}\b.*?</{tag}>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


# -- what error there is ---------------------------------------------------------------------------------------------


def test_the_preview_of_a_mean_is_the_error_of_the_mean_on_every_route(folder: Path, site: Any) -> None:
    plan = json.loads(run("plan", folder / "hours.toml", "--json"))
    half = plan["half_width_95_at_most"]
    # 0 to 80 hours, persons with 4 rows, rho 0.1: far below the error of a total, and within reach of the released one.
    assert plan["records"] == 1000 and plan["half_width_95"] == pytest.approx(1.05, abs=0.05)
    assert f"In a cell of 1,000 records, expect the mean to be off by at most ± {half:.2f}" in run(
        "plan", folder / "hours.toml"
    )
    address = "/d/survey-2023/table?rows=status&columns=sex&measure=mean:hours&definition=zero_concentrated&rho=0.1"
    english, german = page(site, address), page(site, address, "de")
    assert f"expect the mean to be off by at most ± {half:.2f}" in texts(english)
    assert f"weicht der Mittelwert voraussichtlich um höchstens ± {half:.2f}".replace(".", ",") in texts(german)


def test_the_expected_error_of_a_mean_is_that_of_a_released_cell_of_that_size(folder: Path) -> None:
    request = {
        "table": {"rows": ["sex"], "measure": "mean", "of": "hours"},
        "privacy": {"definition": "zero_concentrated", "rho": "0.2"},
    }
    with Curator.open(folder / "survey-2023.toml", ledger=folder / "ledger.sqlite") as curator:
        preview = curator.plan(request).preview
    release = released(folder, request)
    means, counts = release.tables
    expected = preview["half_width_95"] * preview["records"] / counts.values
    # The preview takes a mean in the middle of the bounds; one at an end has up to 1.42 times its error.
    assert np.all(1.96 * means.std_error <= expected * 1.42)
    assert np.all(1.96 * means.std_error >= expected / 1.1)


def test_a_selected_median_claims_no_margin_of_error_anywhere(
    folder: Path, releases: dict[str, Release], site: Any
) -> None:
    release = releases["selected"]
    entry = release.provenance.ledger_entry
    shown = run("show", folder / "releases" / "selected")
    plan = run("plan", folder / "selected.toml")
    assert "±" not in shown and "interval" not in shown and "without a margin of error" in shown.lower()
    assert "±" not in plan and "depends on how dense the data are around it" in plan
    for text in (to_html(release), page(site, f"/r/{entry}"), page(site, f"/r/{entry}", "de")):
        said = texts(text)
        assert "±" not in said
        claims = [m.start() for m in MARGIN.finditer(said)]
        assert claims and all(re.search(r"[Ww]ithout a $|[Oo]hne $", said[max(0, at - 12) : at]) for at in claims), [
            said[max(0, at - 40) : at + 30] for at in claims
        ]


def test_a_median_has_a_margin_of_error_on_every_route(folder: Path, releases: dict[str, Release], site: Any) -> None:
    release = releases["earnings"]
    assert "±" in run("show", folder / "releases" / "earnings")
    for text in (to_html(release), page(site, f"/r/{release.provenance.ledger_entry}")):
        assert "±" in texts(text) and "without a margin of error" not in texts(text)


def test_a_withheld_error_is_not_claimed_by_a_caption(releases: dict[str, Release]) -> None:
    release = releases["jobs"]
    hidden = release.with_(
        tables=tuple(replace_variance(t) for t in release.tables), blocks=(), law=releases["selected"].law
    )
    said = texts(to_html(hidden))
    assert "±" not in said and "is withheld" in said


def replace_variance(table: Any) -> Any:
    from dataclasses import replace

    return replace(table, variance=np.full(len(table.values), np.nan))


# -- what it is about ------------------------------------------------------------------------------------------------


def test_every_product_says_title_measure_unit_filter_and_labels(
    folder: Path, releases: dict[str, Release], site: Any
) -> None:
    release = releases["earnings"]
    parts = ("Median income of employees", "Median of Yearly income from the job", "Sex", "Labour status: employee")
    for said in (
        run("show", folder / "releases" / "earnings"),
        texts(to_html(release)),
        texts(page(site, f"/r/{release.provenance.ledger_entry}")),
    ):
        assert all(part in said for part in parts), said[:400]
    assert "crowns" in run("show", folder / "releases" / "earnings") and "crowns" in to_html(release)
    described = json.loads(to_csvw(release))
    assert described["schema:hasPart"][0]["schema:name"] == f"{parts[1]} by Sex (crowns), only {parts[3]}"
    assert described["dc:title"] == parts[0] and "(crowns)" in described["tableSchema"]["columns"][-2]["dc:description"]
    german = texts(page(site, f"/r/{release.provenance.ledger_entry}", "de"))
    assert "Median von Jahreseinkommen" in german and "Erwerbsstatus" in german


def test_the_subject_is_kept_in_the_document_and_read_back(releases: dict[str, Release]) -> None:
    release = releases["jobs"]
    again = from_json(write_json(release))
    assert again.subject == release.subject and write_json(again) == write_json(release)
    assert release.about.rows == ("occupation.group",) and release.about.columns == ("sex",)


def test_a_release_without_a_subject_keeps_its_bytes_and_speaks_by_names(releases: dict[str, Release]) -> None:
    older = releases["earnings"].with_(subject=None)
    content = write_json(older)
    assert b'"subject"' not in content and write_json(from_json(content)) == content
    said = texts(to_html(from_json(content)))
    assert "Median of income by sex" in said and "status: employee" in said


def test_the_same_numbers_are_laid_out_as_each_asker_asks(folder: Path, releases: dict[str, Release]) -> None:
    document = load_request(folder / "jobs.toml").to_dict()
    document["table"]["rows"], document["table"]["columns"] = (document["table"]["columns"], document["table"]["rows"])
    other = released(folder, {**document, "title": "Turned"})
    assert other.provenance.ledger_entry == releases["jobs"].provenance.ledger_entry
    assert np.array_equal(other.table.values, releases["jobs"].table.values)
    assert other.about.rows == ("sex",) and other.about.title == "Turned"


def test_a_cross_table_stands_in_the_asked_layout(folder: Path, releases: dict[str, Release]) -> None:
    lines = CliRunner(env={"COLUMNS": "80"}).invoke(command, ["show", str(folder / "releases" / "jobs")]).output
    head = next(line for line in lines.splitlines() if "female" in line)
    assert "Occupation (group)" in head and "male" in head and "Total" in head
    html = to_html(releases["jobs"])
    first = re.search(r"<tbody><tr>(.*?)</tr>", html, re.DOTALL)
    assert first is not None and "Managers" in first[1] and first[1].count("<td") == 3
    assert max(len(line) for line in lines.splitlines()) <= 80


def test_all_tables_of_a_list_are_in_csv_and_html(releases: dict[str, Release]) -> None:
    release = releases["margins"]
    rows = list(csv.DictReader(io.StringIO(to_csv(release))))
    assert len(rows) == sum(t.space.size for t in release.tables) and len({r["table"] for r in rows}) == 5
    for table in release.tables:
        names = [axis.name.replace("status", "status_category") for axis in table.space.axes]
        same = [
            r
            for r in rows
            if {n for n in ("sex", "education", "status_category", "region.state") if r[n]} == set(names)
        ]
        order = cells_in_order(table.space, release.asked_order(table))
        assert [float(r["value"]) for r in same] == pytest.approx(table.values[order].tolist())
    html = to_html(release)
    assert html.count("<table ") == len(release.tables)
    assert "Number of records by Education, Sex" in html and "Number of records by Sex" in html


def test_a_chart_says_what_it_leaves_out(folder: Path, releases: dict[str, Release], site: Any) -> None:
    release = released(
        folder,
        {
            "table": {"rows": ["occupation"], "columns": ["sex"]},
            "privacy": {"definition": "zero_concentrated", "rho": "0.1"},
        },
    )
    assert "The 60 largest of 100 numbers are drawn; the rest is left out." in to_html(release)
    entry = release.provenance.ledger_entry
    assert "The 60 largest of 100 numbers are drawn; the rest is left out." in page(site, f"/r/{entry}")
    assert "Gezeichnet sind die 60 größten von 100 Zahlen" in page(site, f"/r/{entry}", "de")
    assert "the rest is left out" not in texts(page(site, f"/r/{releases['jobs'].provenance.ledger_entry}"))


# -- whole numbers that add up ---------------------------------------------------------------------------------------


def test_shown_counts_are_whole_and_add_up_within_and_across_tables(releases: dict[str, Release]) -> None:
    release = releases["margins"]
    assert any(not np.array_equal(t.values, np.rint(t.values)) for t in release.tables)
    shown = {tuple(a.name for a in d.table.space.axes): d for d in displayed(release)}
    arrays = {k: d.values.reshape(d.table.shape) for k, d in shown.items()}
    for array, display in zip(arrays.values(), shown.values(), strict=True):
        assert np.array_equal(array, np.rint(array)) and display.digits == 0
        assert np.abs(display.values - display.table.values).max() < 2
    assert np.array_equal(arrays["sex", "education"].sum(axis=1), arrays["sex",])
    assert np.array_equal(arrays["sex", "status"].sum(axis=1), arrays["sex",])
    assert arrays["sex",].sum() == arrays[()]
    assert np.array_equal(arrays["sex", "status"].sum(axis=0), arrays["region.state", "status"].sum(axis=0))


def test_numbers_on_a_page_add_up_to_the_totals_on_the_page(releases: dict[str, Release], site: Any) -> None:
    entry = releases["margins"].provenance.ledger_entry
    for html in (page(site, f"/r/{entry}"), to_html(releases["margins"])):
        table = re.search(r"<table\b.*?</table>", html, re.DOTALL)
        assert table is not None and "holds them unrounded" in html
        lines = re.findall(r"<tr>(.*?)</tr>", table[0], re.DOTALL)
        rows = [re.findall(r"<td[^>]*>(?:<span class=\"value\">)?([−\d,.]+)", line) for line in lines]
        cells = [[int(text.replace(",", "").replace("−", "-")) for text in row] for row in rows if row]
        assert len(cells) == 7 and np.array_equal(np.sum(cells[:-1], axis=0), cells[-1])
    columns = page(site, f"/r/{entry}?rows=sex&columns=education")
    assert "." not in "".join(re.findall(r'<span class="value">([^<]+)', columns))


def test_a_margin_of_error_covers_the_move_to_a_whole_number(releases: dict[str, Release]) -> None:
    from dalenius.shown.crosstab import lay_out

    release = releases["margins"]
    for display in displayed(release):
        crosstab = lay_out(release, display.table, shown=display.values, totals=False)
        cells = [c for s in crosstab.sheets for line in s.lines for c in line.cells]
        exact = lay_out(release, display.table, totals=False)
        plain = [c for s in exact.sheets for line in s.lines for c in line.cells]
        for cell, old in zip(cells, plain, strict=True):
            assert cell.value is not None and cell.half is not None and old.value is not None and old.half is not None
            assert cell.value - cell.half <= old.value - old.half + 1e-9
            assert cell.value + cell.half >= old.value + old.half - 1e-9


def test_one_table_has_one_precision(folder: Path, releases: dict[str, Release]) -> None:
    shown = run("show", folder / "releases" / "hours")
    means = re.findall(r"(\d+\.\d+) ± (\d+\.\d+)", shown)
    assert len(means) == 4
    assert len({len(text.partition(".")[2]) for pair in means for text in pair}) == 1


def test_the_list_of_margins_says_what_error_to_expect_of_each(folder: Path) -> None:
    said = run("plan", folder / "margins.toml")
    assert "Expect a cell of Sex × Education to be off by at most ±" in said and "Expect the total" in said


# -- the reader's language, and controls that mean something ----------------------------------------------------------


def test_german_pages_say_whose_records_are_covered_and_every_remark_in_german(
    releases: dict[str, Release], site: Any
) -> None:
    for name in survey.REQUESTS:
        release = releases[name]
        english, german = (page(site, f"/r/{release.provenance.ledger_entry}", code) for code in ("en", "de"))
        assert release.about.universe in " ".join(english.replace("&#39;", "'").split())
        assert release.about.universe not in german and "mfasst" in texts(german)
        assert all(warning not in german for warning in release.provenance.warnings), name
    said = texts(page(site, f"/r/{releases['margins'].provenance.ledger_entry}", "de"))
    assert "Jede Tabelle umfasst nur die Datensätze mit einem deklarierten Wert von" in said
    median = texts(page(site, f"/r/{releases['selected'].provenance.ledger_entry}", "de"))
    assert "Ein veröffentlichter Median ist ein ausgewählter Wert" in median


def test_the_toolbar_of_a_selected_median_offers_no_margin_no_share_and_no_total(
    releases: dict[str, Release], site: Any
) -> None:
    median = page(site, f"/r/{releases['selected'].provenance.ledger_entry}")
    counts = page(site, f"/r/{releases['jobs'].provenance.ledger_entry}")
    for control in ("as", "confidence", "show", "totals"):
        assert f'name="{control}"' in counts and f'name="{control}"' not in median
    assert 'name="chart"' in median


def test_means_are_shown_with_intervals_that_are_possible_on_every_route(
    folder: Path, releases: dict[str, Release], site: Any
) -> None:
    """Small cells: the margin of error of many means reaches beyond 0 or 80 hours."""
    release = released(
        folder,
        {
            "table": {"rows": ["education"], "columns": ["status"], "measure": "mean", "of": "hours"},
            "privacy": {"definition": "zero_concentrated", "rho": "0.002"},
        },
    )
    save(release, folder / "releases" / "small")
    half = 1.96 * release.table.std_error
    known = np.isfinite(release.table.values)
    assert (release.table.values[known] + half[known] > 80).any()
    entry = release.provenance.ledger_entry
    shown = page(site, f"/r/{entry}")
    first = re.search(r'<table class="crosstab" id="result">.*?</table>', shown, re.DOTALL)
    html = re.search(r"<tbody>.*?</tbody>", to_html(release), re.DOTALL)
    terminal = CliRunner(env={"COLUMNS": "300"}).invoke(command, ["show", str(folder / "releases" / "small")]).output
    assert first is not None and html is not None
    for text in (texts(first[0]), texts(html[0]), terminal.partition("Number of records")[0]):
        margins = [float(m.replace(",", "")) for m in re.findall(r"±\s*([\d,.]+)", text)]
        ends = [tuple(map(float, m)) for m in re.findall(r"([\d.]+) (?:to|–) ([\d.]+)", text)]
        assert all(0 <= low <= high <= 80 for low, high in ends) and len(ends) > 2, text
        assert all(margin <= 80 for margin in margins)
