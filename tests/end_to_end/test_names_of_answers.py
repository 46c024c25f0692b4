"""Every product calls an answer by its own name: a selected cell by its labels, one number by its measure, a quantile by its level."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from dalenius.cli.main import app as command
from dalenius.core.randomness import RecordedRandomness
from dalenius.core.release import Release
from dalenius.curator.curator import Curator
from dalenius.publish import save
from dalenius.publish.to_csv import to_csv
from dalenius.publish.to_csvw import to_csvw
from dalenius.publish.to_html import to_html
from dalenius.publish.to_json import from_json, write_json
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

DATASET = """
[dataset]
name = "farms"
title = "Farms"
population = "farms"
source = "farms.csv"
public = true
[unit]
relation = "add-remove"
[variables.region]
label = "Region"
categories = ["north", "south", "east", "west"]
missing = "north"
unseen = "north"
[variables.kind]
label = "Kind"
categories = ["crop", "stock"]
missing = "crop"
unseen = "crop"
[variables.size]
label = "Area"
bounds = [0, 20]
step = "0.5"
missing = 0
[variables.output]
label = "Output"
bounds = [0, 800]
step = 1
missing = 0
unit = "tons"
[translations.de]
title = "Höfe"
[translations.de.variables]
region = "Gegend"
kind = "Art"
output = "Ertrag"
[translations.de.labels.region]
east = "Osten"
"""
POLICY = """
population = "farms"
[budget]
rho = 400
delta = 0.01
[allow]
acknowledge = ["individual", "bootstrap"]
[floors]
individual = 1
bootstrap = 1
"""
SERVER = (
    'policy = "policy.toml"\nledger = "ledger.sqlite"\nsecure_cookies = false\n[[datasets]]\ndocument = "farms.toml"\n'
)
# Nearly all output is in the east, from crop, and on areas from 5 to 10, so that no seed selects another cell.
ROWS = [("north", "stock", 1, 3), ("south", "crop", 12, 5), ("west", "stock", 3, 7)] * 30
ROWS += [("east", "crop", 7, 700), ("east", "crop", 6, 750)] * 50
ACTUAL_DATA = {"definition": "individual", "epsilon": 4}
SIZES = {"variable": "size", "cuts": [0, 5, 10, 20]}
REQUESTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "cell": ({"rows": ["region"], "measure": "largest_total", "of": "output"}, ACTUAL_DATA),
    "crossed": (
        {"rows": ["kind"], "columns": ["region"], "measure": "largest_total", "of": "output"},
        {"definition": "bootstrap", "epsilon": 4},
    ),
    "class": ({"rows": [SIZES], "measure": "largest_total", "of": "output"}, ACTUAL_DATA),
    "maximum": ({"measure": "maximum", "of": "output"}, ACTUAL_DATA),
    "second": ({"measure": "second_maximum", "of": "output"}, ACTUAL_DATA),
    "smooth": ({"measure": "second_maximum", "of": "output", "method": "cauchy"}, {"definition": "pure", "epsilon": 4}),
    "range": ({"measure": "range", "of": "output"}, ACTUAL_DATA),
    "median": ({"measure": "median", "of": "output"}, ACTUAL_DATA),
    "quartile": ({"measure": "quantile", "of": "output", "q": "1/4"}, ACTUAL_DATA),
    "quartiles": (
        {"rows": ["region"], "measure": "quantile", "of": "output", "q": "1/4"},
        {"definition": "pure", "epsilon": 4},
    ),
    "dominated": ({"rows": ["region"], "measure": "dominance", "of": "output"}, {"definition": "pure", "epsilon": 4}),
}
NAMES = {
    "maximum": "Largest Output",
    "second": "Second largest Output",
    "smooth": "Second largest Output",
    "range": "Range of Output",
    "median": "Median of Output",
    "quartile": "Quantile 0.25 of Output",
    "dominated": "Number of cells where few contributors dominate the total of Output",
}
# Names of the code that no reader should meet.
INNER = re.compile(r"extreme|valuerange|\bquantile\b(?! 0)|largest total,", re.IGNORECASE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("farms")
    (place / "farms.toml").write_text(DATASET)
    (place / "policy.toml").write_text(POLICY)
    (place / "server.toml").write_text(SERVER)
    lines = ["region,kind,size,output", *(",".join(map(str, row)) for row in ROWS)]
    (place / "farms.csv").write_text("\n".join(lines) + "\n")
    return place


@pytest.fixture(scope="module")
def releases(folder: Path) -> dict[str, Release]:
    found = {}
    with Curator.open(
        folder / "farms.toml",
        ledger=folder / "ledger.sqlite",
        policy=folder / "policy.toml",
        rng=RecordedRandomness("names"),
    ) as curator:
        curator.register(by="custodian")
        for name, (table, privacy) in REQUESTS.items():
            found[name] = curator.release({"table": table, "privacy": privacy})
            save(found[name], folder / name)
    return found


@pytest.fixture(scope="module")
def site(folder: Path, releases: dict[str, Release]) -> Iterator[Any]:
    made = create_app(ServerConfig.load(folder / "server.toml"))
    with TestClient(made):
        yield made


def terminal(path: Path) -> str:
    done = CliRunner(env={"COLUMNS": "160"}).invoke(command, ["show", str(path)])
    assert done.exit_code == 0, done.output
    return done.output


def texts(html: str) -> str:
    for tag in ("style", "select", "head", "nav", "footer"):
        html = re.sub(rf"<{tag}\b.*?</{tag}>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def page(site: Any, release: Release, language: str = "en") -> str:
    reader = TestClient(site)
    reader.get(f"/language/{language}", params={"next": "/"})
    answer = reader.get(f"/r/{release.provenance.ledger_entry}")
    assert answer.status_code == 200
    return texts(answer.text)


def row(release: Release) -> dict[str, str]:
    return next(csv.DictReader(io.StringIO(to_csv(release))))


def titles(release: Release) -> list[str]:
    return [part["schema:name"] for part in json.loads(to_csvw(release))["schema:hasPart"]]


def old(release: Release) -> Release:
    """As it was stored before releases had a subject."""
    return from_json(write_json(release.with_(subject=None)))


def test_the_stored_release_of_a_selection_is_the_place_of_the_cell(releases: dict[str, Release]) -> None:
    assert [releases[n].blocks[0].values.tolist() for n in ("cell", "crossed", "class")] == [[2], [4], [1]]
    assert from_json(write_json(releases["cell"])).subject == releases["cell"].subject


def test_a_selected_cell_is_shown_by_its_labels(folder: Path, releases: dict[str, Release], site: Any) -> None:
    for name, labels in {"cell": ("east",), "crossed": ("east", "crop"), "class": ("[5, 10)",)}.items():
        said = (
            terminal(folder / name),
            texts(to_html(releases[name])),
            page(site, releases[name]),
            to_csv(releases[name]),
        )
        for text in said:
            assert "selected" in text and not INNER.search(text), text
            assert all(label in text for label in labels), (name, labels, text)
    assert (row(releases["cell"])["region"], row(releases["cell"])["value"]) == ("east", "")
    assert row(releases["cell"])["status"] == "selected"
    assert "Cell with the largest total of Output by Region" in terminal(folder / "cell")
    german = page(site, releases["cell"], "de")
    assert "Zelle mit der größten Summe von Ertrag nach Gegend" in german
    assert "Osten" in german and "ausgewählt" in german


def test_a_selected_cell_of_an_older_release_is_named_by_the_request_it_holds(releases: dict[str, Release]) -> None:
    assert row(old(releases["cell"]))["region"] == "east"
    crossed = row(old(releases["crossed"]))
    assert (crossed["region"], crossed["kind"]) == ("east", "crop")
    # The canonical request counts class limits in steps of half a hectare.
    assert row(old(releases["class"]))["size"] == "[10, 20) steps"


@pytest.mark.parametrize("name", NAMES)
def test_one_number_bears_the_name_of_its_measure(
    name: str, folder: Path, releases: dict[str, Release], site: Any
) -> None:
    release = releases[name]
    said = (terminal(folder / name), texts(to_html(release)), page(site, release))
    for text in (*said, to_csv(release), to_csv(old(release)).replace("output", "Output")):
        assert NAMES[name] in text and not INNER.search(text), text
    assert all(f"{NAMES[name]} by" not in text for text in said)
    assert row(release)["output"] == NAMES[name]
    assert titles(release)[0].endswith(" (tons)") is (name != "dominated")


def test_one_number_speaks_german_on_german_pages(releases: dict[str, Release], site: Any) -> None:
    for name, title in {"second": "Zweitgrößter Wert von Ertrag", "quartile": "Quantil 0,25 von Ertrag"}.items():
        said = page(site, releases[name], "de")
        assert title in said and f"{title} nach" not in said


def test_a_table_of_quantiles_says_which(folder: Path, releases: dict[str, Release], site: Any) -> None:
    said = (terminal(folder / "quartiles"), texts(to_html(releases["quartiles"])))
    assert all("Quantile 0.25 of Output by Region" in text and "Median" not in text for text in said)
    assert titles(releases["quartiles"])[0].startswith("Quantile 0.25 of Output by")
    assert titles(old(releases["quartiles"]))[0].startswith("Quantile 0.25 of output by")
    assert "Quantil 0,25 von Ertrag nach Gegend" in page(site, releases["quartiles"], "de")


def test_the_list_of_tables_and_the_px_interface_use_the_same_names(releases: dict[str, Release], site: Any) -> None:
    reader = TestClient(site)
    listed = texts(reader.get("/tables").text)
    assert "Second largest Output" in listed and "Quantile 0.25 of Output" in listed
    entry = releases["cell"].provenance.ledger_entry
    data = reader.get(f"/pxweb/api/v2/tables/{entry}/data").json()
    assert data["dimension"]["region"]["category"]["label"] == {"east": "east"} and data["value"] == [None]


def test_data_frames_and_notebooks_use_the_same_names(releases: dict[str, Release]) -> None:
    frame = releases["crossed"].to_frame()
    assert frame[["region", "kind", "status"]].values.tolist() == [["east", "crop", "selected"]]
    assert releases["second"].to_frame()["output"].tolist() == ["second maximum"]
    assert "Second largest Output" in repr(releases["second"]) and "by" not in repr(releases["second"])
    assert "east" in releases["cell"]._repr_html_() and "selected" in releases["cell"]._repr_html_()


def test_the_request_that_a_page_hands_out_asks_for_the_same_table(
    folder: Path, releases: dict[str, Release], site: Any
) -> None:
    """Under "Copy as" stands the request in TOML; asked again it is found, and nothing is charged."""
    from html import unescape

    from dalenius.spec.canonical import canonical
    from dalenius.spec.load import load_dataset, load_request

    domain = load_dataset(folder / "farms.toml").domain()
    for name, release in releases.items():
        text = TestClient(site).get(f"/r/{release.provenance.ledger_entry}/cite").text
        block = re.search(r'id="copy-document"[^>]*>(.*?)</(?:pre|code|textarea)>', text, re.DOTALL)
        assert block is not None
        written = unescape(re.sub(r"<[^>]+>", "", block[1]))
        (folder / "copied.toml").write_text(written)
        asked = load_request(folder / "copied.toml")
        assert canonical(asked, domain).digest == release.provenance.digest, (name, written)
