"""Registration in the browser shows the custodian what the file holds, once, and asks for a word of consent where it must."""

import logging
import re
from collections.abc import Callable

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.server.api.conftest import DATASET, PASSWORDS, Site
from tests.server.api.test_waves import CUSTODIAN, second_wave

from dalenius.errors import LedgerMismatch, PolicyDiffers
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

PLACE = "/custodian/datasets/towns/register"


def sign_in(app: FastAPI, name: str) -> tuple[TestClient, dict[str, str]]:
    """A browser of one user, and its form token."""
    client = TestClient(app, headers={"accept": "text/html"})

    def token(path: str) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(path).text)
        assert found is not None
        return found.group(1)

    form = {"csrf": token("/sign-in"), "name": name, "password": PASSWORDS[name][1], "next": "/account"}
    assert client.post("/sign-in", data=form).status_code == 200
    return client, {"csrf": token("/account")}


def test_the_custodian_sees_content_and_budget_and_nobody_else_does(
    make_site: Callable[..., Site], caplog: pytest.LogCaptureFixture
) -> None:
    first = make_site(rows=400)
    app = create_app(second_wave(first))
    with caplog.at_level(logging.DEBUG), TestClient(app):
        analyst, form = sign_in(app, "ana")
        refused = analyst.post(PLACE, data=form)
        assert refused.status_code == 403 and 'id="content"' not in refused.text
        custodian, form = sign_in(app, "cus")
        shown = custodian.post(PLACE, data=form)
        assert app.state.services.custody.is_registered(CUSTODIAN, "towns")
        ledger = app.state.services.desk.ledger.reader.export("jsonl")
    assert shown.status_code == 200 and shown.headers["cache-control"] == "no-store"
    for part in ('id="registered"', 'id="confidential"', 'id="content"', "400 rows", "ρ = "):
        assert part in shown.text
    assert not any(word in ledger + caplog.text for word in ("unseen", "unreadable", "rows_kept"))


def test_a_file_that_is_not_the_declared_one_needs_consent(make_site: Callable[..., Site]) -> None:
    first = make_site(rows=400)
    config = second_wave(first)
    folder = first.place.parent
    text = (folder / "people2.csv").read_text()
    (folder / "people2.csv").write_text(text.replace(",Aby,", ",A,").replace(",Bro,", ",B,"))
    app = create_app(config)
    with TestClient(app):
        client, form = sign_in(app, "cus")
        asked = client.post(PLACE, data=form)
        assert 'id="not-registered"' in asked.text and 'id="accept-unseen"' in asked.text
        assert not app.state.services.custody.is_registered(CUSTODIAN, "towns")
        consented = client.post(PLACE, data=form | {"accept_unseen": "yes"})
        assert 'id="registered"' in consented.text
        assert app.state.services.custody.is_registered(CUSTODIAN, "towns")


def test_a_server_does_not_start_with_laxer_rules_or_another_ledger(make_site: Callable[..., Site]) -> None:
    first = make_site(rows=60)
    folder = first.place.parent
    policy = folder / "policy.toml"
    text = policy.read_text()
    policy.write_text(text + "[floors]\nincome = 1\n")
    with pytest.raises(PolicyDiffers, match=r"floors\.income"):
        create_app(second_wave(first))
    policy.write_text(text)
    (folder / "dataset.toml").write_text(DATASET.replace("source =", 'ledger = "second.sqlite"\nsource ='))
    with pytest.raises(LedgerMismatch, match="two budgets"):
        create_app(ServerConfig.load(first.place))
