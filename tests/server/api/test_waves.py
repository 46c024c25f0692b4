"""A new version of a data set is registered by itself: that its population has an account says nothing."""

from collections.abc import Callable

from fastapi.testclient import TestClient
from tests.server.api.conftest import DATASET, Site, document, error_code, write_people

from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

CUSTODIAN = User("cus", Role.CUSTODIAN)


def second_wave(site: Site) -> ServerConfig:
    """The same site with a new file and a new version in its declaration."""
    folder = site.place.parent
    write_people(folder / "people2.csv", rows=400, seed=6)
    text = DATASET.replace('version = "1"', 'version = "2"').replace("people.csv", "people2.csv")
    (folder / "dataset.toml").write_text(text)
    return ServerConfig.load(site.place).model_copy(update={"register_on_start": False, "pages": True})


def test_a_second_wave_is_registered_in_the_browser(make_site: Callable[..., Site]) -> None:
    first = make_site(rows=400)
    app = create_app(second_wave(first))
    services = app.state.services
    with TestClient(app, headers={"accept": "text/html", **first.headers["cus"]}) as client:
        page = client.get("/custodian").text
        assert "not registered" in page and "/custodian/datasets/towns/register" in page
        assert not services.custody.is_registered(CUSTODIAN, "towns")
        services.custody.register(CUSTODIAN, "towns")
        page = client.get("/custodian").text
        assert "not registered" not in page and "/custodian/datasets/towns/register" not in page
        before = services.custody.account(CUSTODIAN, "townspeople").limit
        assert (
            client.post("/api/v1/datasets/towns/releases", json=document(), headers=first.headers["ana"]).status_code
            == 200
        )
        assert services.custody.account(CUSTODIAN, "townspeople").limit == before


def test_a_server_with_unregistered_data_is_not_ready(make_site: Callable[..., Site]) -> None:
    first = make_site(rows=400)
    assert first.client.get("/readyz").status_code == 200
    app = create_app(second_wave(first))
    with TestClient(app) as client:
        answer = client.get("/readyz")
        assert answer.status_code == 503 and error_code(answer) == "unavailable"
        assert "towns" in answer.text
        app.state.services.custody.register(CUSTODIAN, "towns")
        assert client.get("/readyz").status_code == 200


def test_the_page_of_an_unregistered_data_set_with_a_list_opens(make_site: Callable[..., Site]) -> None:
    site = make_site("new", is_registered=False, rows=60, extra='list = "list.toml"\n')
    (site.place.parent / "list.toml").write_text(
        '[table]\nrows = ["town"]\n[privacy]\ndefinition = "pure"\nepsilon = 1\n'
    )
    assert site.services.reading.list_view("towns") is None
