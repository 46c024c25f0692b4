"""Sign-in: passwords, sessions, form tokens, API tokens, the trusted proxy; forgeries are refused."""

import sqlite3
from collections.abc import Callable

import pytest
from fastapi.testclient import TestClient
from tests.server.api.conftest import PASSWORDS, Site, document, error_code

from dalenius.errors import Conflict, ParameterError, UnknownName
from dalenius.server.accounts import Accounts, Role
from dalenius.server.store import Store


@pytest.fixture
def browser(site: Site) -> TestClient:
    """A client with a cookie jar of its own."""
    return TestClient(site.client.app, raise_server_exceptions=False)


def sign_in(browser: TestClient, name: str = "ana") -> str:
    answer = browser.post("/api/v1/session", json={"name": name, "password": PASSWORDS[name][1]})
    assert answer.status_code == 200
    return str(browser.get("/api/v1/session").json()["csrf"])


def test_a_session_needs_its_form_token_to_change_anything(browser: TestClient) -> None:
    token = sign_in(browser)
    assert browser.get("/api/v1/me").json() == {"name": "ana", "role": "analyst"}
    path, body = "/api/v1/datasets/towns/plan", document()
    assert error_code(browser.post(path, json=body)) == "forbidden"
    assert error_code(browser.post(path, json=body, headers={"X-CSRF-Token": "0" * 64})) == "forbidden"
    headers = {"X-CSRF-Token": token}
    assert browser.post(path, json=body, headers=headers).status_code == 200
    crossing = {**headers, "Sec-Fetch-Site": "cross-site"}
    assert browser.post(path, json=body, headers=crossing).status_code == 403


def test_a_form_token_of_another_session_is_refused(site: Site, browser: TestClient) -> None:
    sign_in(browser)
    other = TestClient(site.client.app, raise_server_exceptions=False)
    stolen = sign_in(other, "ben")
    answer = browser.post("/api/v1/datasets/towns/plan", json=document(), headers={"X-CSRF-Token": stolen})
    assert answer.status_code == 403


def test_signing_out_ends_the_session_on_the_server(browser: TestClient) -> None:
    token = sign_in(browser)
    cookie = browser.cookies["dalenius_session"]
    assert browser.delete("/api/v1/session", headers={"X-CSRF-Token": token}).status_code == 204
    browser.cookies.set("dalenius_session", cookie)
    assert browser.get("/api/v1/me").json()["role"] == "anonymous"


def test_cookies_are_signed_http_only_and_same_site(browser: TestClient) -> None:
    answer = browser.post("/api/v1/session", json={"name": "ana", "password": PASSWORDS["ana"][1]})
    header = answer.headers["set-cookie"].lower()
    assert "httponly" in header and "samesite=lax" in header
    value = browser.cookies["dalenius_session"]
    for forged in (value[:-2] + "xx", value.split(".")[0], "a.b.c", "", "\x00", "x" * 5000):
        browser.cookies.clear()
        browser.cookies.set("dalenius_session", forged)
        assert browser.get("/api/v1/me").json()["role"] == "anonymous"


def test_wrong_passwords_and_unknown_names_get_the_same_refusal(browser: TestClient) -> None:
    answers = [
        browser.post("/api/v1/session", json={"name": name, "password": "not the password"})
        for name in ("ana", "nobody", "ana' OR 1=1 --", "\x00")
    ]
    assert {(a.status_code, a.text) for a in answers} == {(401, answers[0].text)}


@pytest.mark.parametrize("value", ["", "x", "dln_", "dln_a_b", "dln__", "Bearer", "é", "dln_" + "a" * 10_000])
def test_forged_api_tokens_are_refused_and_never_anonymous(site: Site, value: str) -> None:
    answer = site.client.get("/api/v1/datasets", headers={"Authorization": f"Bearer {value}".encode()})
    assert answer.status_code == 401 and error_code(answer) == "not_signed_in"
    assert site.client.get("/api/v1/datasets", headers={"Authorization": "Basic YTpi"}).status_code == 401


def test_a_token_is_shown_once_and_stored_as_a_digest(site: Site) -> None:
    made = site.call("ana", "POST", "/api/v1/tokens", json={"label": "laptop"}).json()["token"]
    headers = {"Authorization": f"Bearer {made}"}
    assert site.client.get("/api/v1/me", headers=headers).json()["name"] == "ana"
    store = site.services.store
    secret = made.split("_", 2)[2]
    assert all(secret not in str(row) for row in store.read("SELECT * FROM tokens"))
    assert all(p[1] not in str(row) for p in PASSWORDS.values() for row in store.read("SELECT * FROM users"))
    wrong = {"Authorization": f"Bearer {made[:-1]}{'a' if made[-1] != 'a' else 'b'}"}
    assert site.client.get("/api/v1/me", headers=wrong).status_code == 401
    identity = made.split("_")[1]
    assert site.call("ana", "DELETE", f"/api/v1/tokens/{identity}").status_code == 204
    assert site.client.get("/api/v1/me", headers=headers).status_code == 401


def test_a_deactivated_user_is_out_at_once(make_site: Callable[..., Site]) -> None:
    site = make_site()
    made = site.call("cus", "POST", "/api/v1/users", json={"name": "eve", "role": "analyst"}).json()
    assert len(made["password"]) >= 20
    token = site.client.post(
        "/api/v1/tokens", json={"label": "t", "name": "eve", "password": made["password"]}
    )
    headers = {"Authorization": f"Bearer {token.json()['token']}"}
    assert site.client.get("/api/v1/me", headers=headers).json()["name"] == "eve"
    assert site.call("cus", "DELETE", "/api/v1/users/eve").status_code == 204
    assert site.client.get("/api/v1/me", headers=headers).status_code == 401
    assert site.call("cus", "DELETE", "/api/v1/users/cus").status_code == 409


def test_the_proxys_header_is_believed_from_trusted_peers_only(make_site: Callable[..., Site]) -> None:
    header = {"X-Remote-User": "ana"}
    plain = make_site("plain")
    assert plain.client.get("/api/v1/me", headers=header).json()["role"] == "anonymous"
    trusted = '[proxy]\ntrusted = ["testclient"]\n'
    believed = make_site("believed", extra=trusted.replace("[proxy]", "[proxy]"))
    assert believed.client.get("/api/v1/me", headers=header).json() == {"name": "ana", "role": "analyst"}
    unknown = believed.client.get("/api/v1/me", headers={"X-Remote-User": "nobody"})
    assert unknown.status_code == 401
    stranger = make_site("stranger", extra='[proxy]\ntrusted = ["10.0.0.1"]\n')
    assert stranger.client.get("/api/v1/me", headers=header).json()["role"] == "anonymous"
    spends = believed.client.post("/api/v1/datasets/towns/plan", json=document(), headers=header)
    assert spends.status_code == 403


def test_sign_in_attempts_are_limited(make_site: Callable[..., Site]) -> None:
    site = make_site()
    limits = site.services.config.limits.model_copy(update={"sign_ins_per_minute": 5})
    site.services.config = site.services.config.model_copy(update={"limits": limits, "workers": 1})
    codes = [
        site.client.post("/api/v1/session", json={"name": "ana", "password": "guess"}).status_code
        for _ in range(12)
    ]
    assert 429 in codes and codes[0] == 401


def test_accounts_refuse_what_they_should(tmp_path: object) -> None:
    store = Store(f"{tmp_path}/s.sqlite")
    accounts = Accounts(store)
    accounts.create("ana", "analyst", "long enough password")
    with pytest.raises(Conflict):
        accounts.create("ana", "custodian", "long enough password")
    for name in ("", "-a", "a b", "a" * 65, "a\x00", "ä"):
        with pytest.raises(ParameterError):
            accounts.create(name, "analyst", "long enough password")
    with pytest.raises(UnknownName):
        accounts.create("bob", "anonymous", "long enough password")
    with pytest.raises(ParameterError):
        accounts.create("bob", "analyst", "short")
    assert accounts.verify("ana", "long enough password").role is Role.ANALYST  # type: ignore[union-attr]
    accounts.create("proxy", "analyst", None)
    assert accounts.verify("proxy", "") is None
    with sqlite3.connect(f"{tmp_path}/s.sqlite") as raw:
        assert (
            raw.execute("SELECT password FROM users WHERE name = 'ana'")
            .fetchone()[0]
            .startswith("$argon2id$")
        )
    store.close()
