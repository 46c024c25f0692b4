"""Extensions that are one file each are served by themselves, and are gone with their file."""

from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient
from tests.server.api.conftest import Site, document, make_users, write_site

from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.testing.planting import planted


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site with pages."""
    place = write_site(tmp_path_factory.mktemp("site"))
    app = create_app(ServerConfig.load(place).model_copy(update={"pages": True}))
    services = app.state.services
    services.desk.register_all(by="test")
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Site(place, services, client, make_users(services.store))


FORMAT = """
    from dalenius.publish._format import Format

    __all__ = ["SUM"]

    SUM = Format(
        name="sum",
        suffixes=(".sum",),
        media_type="text/x-sum",
        write=lambda release: str(int(release.table.values.sum())),
    )
"""


def test_a_new_format_is_offered_and_sent(site: Site) -> None:
    made = site.release("ana", document("0.31"))
    path = made.headers["content-location"]
    total = str(sum(made.json()["tables"][0]["values"]))
    page = f"/r/{path.rpartition('/')[2]}"
    with planted("publish", "to_sum", FORMAT):
        named = site.call("", "GET", path, params={"format": "sum"})
        accepted = site.call("", "GET", path, headers={"Accept": "text/x-sum"})
        assert named.text == accepted.text == total
        assert named.headers["content-disposition"].endswith('.sum"')
        assert site.call("", "GET", f"{page}.sum").text == total
        assert 'id="download-sum"' in site.call("", "GET", page).text
    assert 'id="download-sum"' not in site.call("", "GET", page).text
    assert site.call("", "GET", path, headers={"Accept": "text/x-sum"}).status_code == 406


def test_tab_separated_text_is_sent(site: Site) -> None:
    path = site.release("ana", document("0.31")).headers["content-location"]
    tabbed = site.call("", "GET", path, headers={"Accept": "text/tab-separated-values"})
    assert tabbed.status_code == 200 and tabbed.text.startswith("town\tvalue\tstd_error")
    assert site.call("", "GET", path).headers["content-type"] == "application/json"
