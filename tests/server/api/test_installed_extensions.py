"""Extensions of an installed distribution on a server: for the data set whose policy names it, and for no other."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.extensions.building import SAMPLE, build, importable, install
from tests.extensions.test_policies import INSTALLED
from tests.server.api.conftest import DATASET, POLICY, Site, document, make_users, write_site

from dalenius.core import registry
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

ALLOWED = '\n[allow.extensions]\noffice-statistics = "1.0.0"\n'
SECOND = """
[[datasets]]
document = "other.toml"
policy = "open.toml"
"""


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Path]:
    target = tmp_path / "installed"
    install(build(SAMPLE, tmp_path), target)
    with importable(target):
        yield target


@contextmanager
def opened(folder: Path) -> Iterator[Site]:
    """A site of two data sets: the policy of the second one names the sample distribution."""
    place = write_site(folder, extra=SECOND)
    others = [text.replace("townspeople", "villagers") for text in (DATASET, POLICY)]
    (folder / "other.toml").write_text(others[0].replace('name = "towns"', 'name = "villages"'))
    (folder / "open.toml").write_text(others[1] + ALLOWED)
    app = create_app(ServerConfig.load(place).model_copy(update={"pages": True}))
    services = app.state.services
    services.desk.register_all(by="test")
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Site(place, services, client, make_users(services.store))


def test_an_extension_serves_the_data_set_whose_policy_names_it(office: Path, tmp_path: Path) -> None:
    asked = document("40", ["sex"], measure="thousands")
    plan, releases = "/api/v1/datasets/{}/plan", "/api/v1/datasets/{}/releases"
    with opened(tmp_path / "site") as site:
        page = {
            name: site.call("ana", "GET", f"/d/{name}/table", params={"rows": "sex", "measure": "thousands:"}).text
            for name in ("towns", "villages")
        }
        assert "Thousands of records" in page["villages"] and "Thousands" not in page["towns"]
        for path in (plan, releases):
            refused = site.call("ana", "POST", path.format("towns"), json=asked)
            assert refused.status_code == 400, refused.text
            error = refused.json()["error"]
            assert error["code"] == "unknown_name" and INSTALLED in error["message"]
        assert site.call("ana", "POST", plan.format("villages"), json=asked).status_code == 200
        made = site.call("ana", "POST", releases.format("villages"), json=asked)
        assert [e["name"] for e in made.json()["provenance"]["extensions"]] == ["thousands"]
        path = made.headers["content-location"]
        address = f"/r/{path.rpartition('/')[2]}"
        assert "Thousands of records" in site.call("", "GET", address).text
        assert site.call("", "GET", path, params={"format": "psv"}).text.startswith("sex|")
        # Where it is no more, what it released is read all the same, and everything else is as it was.
        registry.forget()
        shown = site.call("", "GET", address)
        assert shown.status_code == 200 and "Thousands" in shown.text
        for other in ("/", "/tables", "/d/villages", "/d/towns/table?rows=sex"):
            assert site.call("ana", "GET", other).status_code == 200
        assert site.call("ana", "GET", "/tables", params={"q": "thousands"}).status_code == 200


def test_the_page_of_evidence_takes_no_word_for_it(office: Path, tmp_path: Path) -> None:
    with opened(tmp_path / "site") as site:
        versions = {"office-statistics": "1.0.0"}
        registry.admit(registry.Allowed.of(versions, is_unvetted=True))
        page = site.call("aud", "GET", "/ledger/evidence")
        assert page.status_code == 200
        row = page.text.partition("office laplace")[2].partition("</tr>")[0]
        assert row and "proved" not in row
