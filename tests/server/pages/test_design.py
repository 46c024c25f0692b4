"""Pages say how records were drawn, and offer errors of sampling only where some can be stated."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from tests.server.pages.test_pages import SITE, visitor

from dalenius.server import messages
from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

DECLARED = ("independent", "census", "clusters")
MEAN = {"rows": "mode", "measure": "mean:minutes", "definition": "zero_concentrated", "rho": "0.01"}
WITH_BOOTSTRAP = 'id="error-bootstrap"'


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Commuters without a declared design, and once for each design."""
    place: Path = SITE.write_files(tmp_path_factory.mktemp("design"))
    document, policy = place.parent / "dataset.toml", place.parent / "policy.toml"
    text = document.read_text().replace("\nstep = 1\n", "\nstep = 1\nmissing = 0\nweight = true\n")
    document.write_text(text)
    policy.write_text(policy.read_text() + '\n[allow]\nacknowledge = ["fixed_weights"]\n')
    for draws in DECLARED:
        other = text.replace('name = "commuters"', f'name = "{draws}"')
        (place.parent / f"{draws}.toml").write_text(f'{other}\n[design]\ndraws = "{draws}"\n')
        place.write_text(f'{place.read_text()}\n[[datasets]]\ndocument = "{draws}.toml"\n')
    made = create_app(ServerConfig.load(place))
    for name in ("commuters", *DECLARED):
        made.state.services.custody.register(User("carla", Role.CUSTODIAN), name)
    with TestClient(made):
        yield made


def page(app: Any, path: str, language: str = "en") -> str:
    client = visitor(app)
    client.get(f"/language/{language}", params={"next": "/"})
    answer = client.get(path, follow_redirects=True)
    assert answer.status_code == 200
    return str(answer.text)


def builder(app: Any, dataset: str, language: str = "en", **fields: str) -> str:
    return page(app, f"/d/{dataset}/table?{urlencode(fields)}", language)


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("draws", ["", *DECLARED])
def test_the_page_of_a_data_set_and_the_form_say_how_records_were_drawn(app: Any, draws: str, language: str) -> None:
    sentence = messages.translate(language, f"design.{draws or 'unstated'}")
    assert sentence in page(app, f"/d/{draws or 'commuters'}", language)
    assert sentence in builder(app, draws or "commuters", language, **MEAN)
    assert 'id="design"' not in builder(app, draws or "commuters", language, rows="mode")


@pytest.mark.parametrize("draws", ["", *DECLARED])
def test_errors_of_sampling_are_offered_where_they_can_be_stated(app: Any, draws: str) -> None:
    shown = builder(app, draws or "commuters", **MEAN)
    assert (WITH_BOOTSTRAP in shown) == (draws in ("", "independent"))
    assert ("With sampling, for the process" in shown) == (draws in ("", "independent"))


@pytest.mark.parametrize("language", ["en", "de"])
def test_weights_without_a_design_have_no_error_of_sampling(app: Any, language: str) -> None:
    weighted = {"rows": "mode", "measure": "total:minutes", "weight": "minutes"}
    why = messages.translate(language, "design.weighted")
    for fields in (weighted, {"rows": "mode", "weight": "minutes"}):
        shown = builder(app, "commuters", language, definition="pure", epsilon="1", **fields)
        assert why in shown and WITH_BOOTSTRAP not in shown
        shown = builder(app, "independent", language, definition="pure", epsilon="1", **fields)
        assert why not in shown and messages.translate(language, "design.independent") in shown
