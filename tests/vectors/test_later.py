"""What was asked of later versions stays too: digests, keys and releases of `later.json`, byte for byte."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

STORED = Path(__file__).parent / "stored"
sys.path.insert(0, str(STORED))

from make_later import Source, opened, recorded  # noqa: E402

from dalenius.core import registry  # noqa: E402
from dalenius.curator.curator import Curator  # noqa: E402

RECORD: dict[str, Any] = json.loads((STORED / "later.json").read_text())
CASES: dict[str, dict[str, Any]] = RECORD["cases"]


@pytest.fixture(scope="module", params=RECORD["datasets"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A registered data set of the record, and the source of its noise."""
    source = Source("")
    with opened(RECORD, request.param, source, tmp_path_factory.mktemp("later")) as curator:
        yield request.param, curator, source


def test_digests_keys_and_releases_are_what_they_were(place: tuple[str, Curator, Source]) -> None:
    name, curator, source = place
    cases = {case: was for case, was in CASES.items() if was["place"] == name}
    assert cases
    for case, was in cases.items():
        made = recorded(curator, source, case, was["request"])
        assert made == {key: was[key] for key in made}, case


def test_a_case_does_not_depend_on_those_before_it(tmp_path: Path) -> None:
    case = next(reversed([name for name, was in CASES.items() if was["place"] == "rows"]))
    source = Source("")
    with opened(RECORD, "rows", source, tmp_path) as curator:
        made = recorded(curator, source, case, CASES[case]["request"])
    assert made == {key: CASES[case][key] for key in made}


def named(part: str, key: str) -> set[str]:
    """Every value that some stored request writes."""
    parts = [was["request"][part] for was in CASES.values()]
    tables = [table for each in parts for table in (each if isinstance(each, list) else [each])]
    return {table[key] for table in tables if key in table}


def test_everything_of_this_version_is_recorded() -> None:
    """New extensions are recorded when a version is published; none of today's may be taken out."""
    methods = named("table", "measure")
    assert len(methods) >= 26 and methods <= set(registry.names("methods"))
    assert len(named("privacy", "definition")) >= 7
    assert named("privacy", "strategy") >= {"interior", "split", "equal", "cube_root", "square_root", "residual"}
    assert named("privacy", "strategy") >= {"fourier", "tree"} and len(named("privacy", "mechanism")) >= 8
    assert {(d["unit"]["relation"], "id" in d["unit"]) for d in RECORD["datasets"].values()} == {
        (relation, has_persons) for relation in ("add-remove", "replace") for has_persons in (False, True)
    }
