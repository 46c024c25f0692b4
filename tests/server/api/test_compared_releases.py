"""Two stored releases are compared over HTTP and on a page, by whoever may see both."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.server.api.conftest import DATASET, POLICY, Site, document, error_code, make_users, write_people, write_site

from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

CELL = {"town": ["Bro"]}


Waves = Callable[..., Site]


@pytest.fixture
def make_waves(tmp_path: Path) -> Iterator[Waves]:
    """Sites with two waves of one population and a page for every table."""
    with ExitStack() as stack:

        def make(policy: str = POLICY) -> Site:
            folder = tmp_path / "site"
            place = write_site(folder, policy=policy, top="tick_milliseconds = 20\n")
            write_people(folder / "people2.csv", rows=3600, seed=6)
            later = DATASET.replace('name = "towns"', 'name = "towns2"').replace('version = "1"', 'version = "2"')
            (folder / "later.toml").write_text(later.replace("people.csv", "people2.csv"))
            place.write_text(place.read_text() + '[[datasets]]\ndocument = "later.toml"\n')
            app = create_app(ServerConfig.load(place).model_copy(update={"pages": True}))
            app.state.services.desk.register_all(by="test")
            client = stack.enter_context(TestClient(app, raise_server_exceptions=False))
            return Site(place, app.state.services, client, make_users(app.state.services.store))

        yield make


@pytest.fixture
def waves(make_waves: Waves) -> Site:
    return make_waves()


def released(site: Site, dataset: str, **asked: Any) -> str:
    path = f"/api/v1/datasets/{dataset}/releases"
    answer = site.call("ana", "POST", path, json=document(**asked))
    assert answer.status_code == 200, answer.text
    return str(answer.headers["content-location"].rpartition("/")[2])


def ask(site: Site, who: str, entry: str, **keys: Any) -> Any:
    return site.call(who, "POST", f"/api/v1/releases/{entry}/inference", json={"method": "difference", **keys})


def test_the_difference_between_two_waves_is_that_of_the_library(waves: Site) -> None:
    from dalenius.inference import difference

    first, later = released(waves, "towns"), released(waves, "towns2")
    answer = ask(waves, "", first, first=CELL, second=CELL, against=later)
    assert answer.status_code == 200, answer.text
    result = answer.json()["result"]
    release, other = (waves.services.reading.release(waves.services.accounts.find("ana"), e) for e in (first, later))
    made = difference(release, {"town": "Bro"}, {"town": "Bro"}, against=other)
    assert made.interval is not None
    assert (result["value"], result["interval"]["lower"]) == (made.value, made.interval.lower)
    # 200 people more in a town, with noise of a few persons.
    assert made.interval.upper < -100
    every = ask(waves, "", first, by="town", against=later).json()["result"]
    assert [cell["labels"] for cell in every["cells"]] == [["Aby"], ["Bro"], ["Cedar"]]


def test_means_of_two_waves_are_compared_on_the_page(waves: Site) -> None:
    means = {"measure": "mean", "of": "income", "epsilon": 5}
    first, later = released(waves, "towns", **means), released(waves, "towns2", **means)
    count = released(waves, "towns2")
    form = waves.client.get(f"/r/{first}/compare")
    assert f'value="{later}"' in form.text and f'value="{count}"' not in form.text
    shown = waves.client.get(f"/r/{first}/compare", params={"against": later, "a": 1, "b": 1})
    assert shown.status_code == 200 and 'id="compare-v">The difference is' in shown.text
    fewer, more = released(waves, "towns"), count
    counts = waves.client.get(f"/r/{fewer}/compare", params={"against": more, "a": 1, "b": 1})
    assert "larger than its margin of error" in counts.text
    assert f'name="against" value="{later}"' in shown.text
    wider = waves.client.get(f"/r/{first}/compare", params={"against": later, "a": 1, "b": 1, "kind": "parameter"})
    assert "errors of sampling are added" in wider.text or "has no such interval" in wider.text


def test_who_may_not_see_a_release_cannot_compare_with_it(make_waves: Waves) -> None:
    waves = make_waves('release = "embargoed"\n' + POLICY)
    first, later = released(waves, "towns"), released(waves, "towns2")
    page = f"/r/{first}/compare"

    def turn(entry: str, status: str) -> None:
        answer = waves.call("cus", "POST", f"/api/v1/releases/{entry}/status", json={"status": status})
        assert answer.status_code == 200, answer.text

    def check_hidden(code: str) -> None:
        refused = ask(waves, "ben", first, first=CELL, second=CELL, against=later)
        plain = waves.call("ben", "GET", f"/api/v1/releases/{later}")
        assert (refused.status_code, refused.json()) == (plain.status_code, plain.json())
        assert error_code(refused) == code
        form, shown = waves.client.get(page), waves.client.get(page, params={"against": later, "a": 0, "b": 0})
        assert later not in form.text and form.status_code == 200
        assert (shown.status_code, "compare-v" in shown.text) == (plain.status_code, False)

    turn(first, "published")
    check_hidden("not_found")
    # Who asked for the release may see it before it is published.
    assert ask(waves, "ana", first, first=CELL, second=CELL, against=later).status_code == 200
    assert later in waves.call("ana", "GET", page).text
    turn(later, "published")
    assert ask(waves, "ben", first, first=CELL, second=CELL, against=later).status_code == 200
    turn(later, "withdrawn")
    check_hidden("not_public")
    for wrong, code in (("ffff", "not_found"), ("../x", "bad_document"), (7, "bad_document")):
        assert error_code(ask(waves, "ben", first, first=CELL, second=CELL, against=wrong)) == code
