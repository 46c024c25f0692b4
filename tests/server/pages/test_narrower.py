"""Where the stored list leaves records out, the builder offers the table of the records that it counts."""

import html
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from fastapi.testclient import TestClient

from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

_PLACE = Path(__file__).parent.parent / "browser" / "site.py"
_SPEC = spec_from_file_location("narrower_site", _PLACE)
assert _SPEC is not None and _SPEC.loader is not None
SITE = module_from_spec(_SPEC)
sys.modules["narrower_site"] = SITE
_SPEC.loader.exec_module(SITE)


def test_the_builder_offers_the_table_of_the_records_in_the_list(tmp_path: Path) -> None:
    config = SITE.write_files(tmp_path)
    text = (tmp_path / "open.toml").read_text()
    (tmp_path / "open.toml").write_text(re.sub(r'\n(missing|unseen) = "15-24"', "", text))
    app = create_app(ServerConfig.load(config))
    carla = User("carla", Role.CUSTODIAN)
    app.state.services.accounts.create("carla", "custodian", SITE.PASSWORDS["carla"])
    app.state.services.custody.register(carla, "open-commuters")
    app.state.services.reading.release_list(carla, "open-commuters")
    with TestClient(app, headers={"accept": "text/html"}) as reader:
        whole = reader.get("/d/open-commuters/table?rows=mode&columns=age").text
        assert 'id="open-list"' in whole and 'id="open-narrower"' not in whole
        page = reader.get("/d/open-commuters/table?rows=mode&columns=district").text
        assert 'id="open-list"' not in page
        found = re.search(r'id="open-narrower" href="([^"]+)"', page)
        assert found is not None
        address = html.unescape(found.group(1))
        assert "where.age=65+and+over" in address
        shown = reader.get(address)
        assert shown.status_code == 200 and "65 and over" in shown.text
        direct = reader.get("/d/open-commuters/list?rows=mode&columns=district")
        assert direct.status_code == 400
