"""Sign-in: passwords, sessions, form tokens, API tokens, the trusted proxy; forgeries are refused."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.server.api.conftest import PASSWORDS, Site, document, error_code
from tests.server.conftest import AS_SERVED

from dalenius.errors import Conflict, ParameterError, UnknownName
from dalenius.server.accounts import Accounts, Role
from dalenius.server.store import StateStore


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
    token = site.client.post("/api/v1/tokens", json={"label": "t", "name": "eve", "password": made["password"]})
    headers = {"Authorization": f"Bearer {token.json()['token']}"}
    assert site.client.get("/api/v1/me", headers=headers).json()["name"] == "eve"
    assert site.call("cus", "DELETE", "/api/v1/users/eve").status_code == 204
    assert site.client.get("/api/v1/me", headers=headers).status_code == 401
    assert site.call("cus", "DELETE", "/api/v1/users/cus").status_code == 409


def test_the_proxys_header_is_believed_from_trusted_peers_with_the_secret_only(make_site: Callable[..., Site]) -> None:
    header = {"X-Remote-User": "ana"}
    plain = make_site("plain")
    assert plain.client.get("/api/v1/me", headers=header).json()["role"] == "anonymous"
    believed = make_site("believed", extra='[proxy]\ntrusted = ["testclient"]\n')
    place = believed.place.parent / "state" / "proxy.secret"
    secret = {"X-Proxy-Secret": place.read_text()}
    assert len(secret["X-Proxy-Secret"]) == 64 and place.stat().st_mode & 0o77 == 0
    for guess in ({}, {"X-Proxy-Secret": ""}, {"X-Proxy-Secret": "0" * 64}, {"X-Proxy-Secret": "é".encode()}):
        assert believed.client.get("/api/v1/me", headers=header | guess).json()["role"] == "anonymous"  # type: ignore[operator]
    told = believed.client.get("/api/v1/me", headers=header | secret)
    assert told.json() == {"name": "ana", "role": "analyst"}
    assert believed.client.get("/api/v1/me", headers={"X-Remote-User": "nobody", **secret}).status_code == 401
    stranger = make_site("stranger", extra='[proxy]\ntrusted = ["10.0.0.1"]\n')
    known = {"X-Proxy-Secret": stranger.services.proxy_secret}
    assert stranger.client.get("/api/v1/me", headers=header | known).json()["role"] == "anonymous"
    path = "/api/v1/datasets/towns/plan"
    assert believed.client.post(path, json=document(), headers=header | secret).status_code == 403


def stop_the_clock(site: Site) -> None:
    """No attempt comes back however slow the machine is."""
    site.services.limiter._clock = lambda: 0.0


def test_a_callers_address_is_believed_from_the_proxy_alone(make_site: Callable[..., Site]) -> None:
    site = make_site(extra='[proxy]\ntrusted = ["testclient"]\n')
    limits = site.services.config.limits.model_copy(update={"anonymous_per_minute": 4})
    object.__setattr__(site.services.config, "limits", limits)
    stop_the_clock(site)

    def asked(number: int, secret: str) -> int:
        headers = {"X-Forwarded-For": f"198.51.100.{number}", "X-Proxy-Secret": secret}
        return int(site.client.get("/api/v1/me", headers=headers).status_code)

    assert 429 in [asked(number, "wrong") for number in range(8)]
    assert {asked(number, site.services.proxy_secret) for number in range(8)} == {200}


def sign_in_site(make_site: Callable[..., Site]) -> Site:
    site = make_site(extra='[proxy]\ntrusted = ["testclient"]\n')
    limits = site.services.config.limits.model_copy(update={"sign_ins_per_minute": 5})
    object.__setattr__(site.services.config, "limits", limits)
    site.services.limiter._share = 1
    stop_the_clock(site)
    return site


def attempt(site: Site, client: TestClient, address: str, name: str, password: str) -> int:
    headers = {"X-Forwarded-For": address, "X-Proxy-Secret": site.services.proxy_secret}
    answer = client.post("/api/v1/session", json={"name": name, "password": password}, headers=headers)
    return int(answer.status_code)


def test_sign_in_attempts_are_limited_for_each_name_and_address(
    make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = sign_in_site(make_site)
    monkeypatch.setattr(site.services.accounts, "verify", lambda *_: None)
    codes = [attempt(site, site.client, "198.51.100.1", "ana", "guess") for _ in range(7)]
    assert codes == [401] * 5 + [429] * 2
    names = [attempt(site, site.client, "198.51.100.1", f"name{n}", "guess") for n in range(40)]
    assert 429 in names, "an address may not try one password on every name"


def test_a_stranger_cannot_lock_anybody_out(make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch) -> None:
    site = sign_in_site(make_site)
    right = PASSWORDS["ana"][1]
    verify = site.services.accounts.verify
    monkeypatch.setattr(
        site.services.accounts, "verify", lambda name, word: verify(name, word) if word == right else None
    )
    owner = TestClient(site.client.app, raise_server_exceptions=False)
    for number in range(30):
        attempt(site, site.client, f"198.51.100.{number % 3}", "ana", "guess")
    assert attempt(site, owner, "203.0.113.9", "ana", right) == 200
    # From then on the browser is known: not even somebody at the same address can use up its attempts.
    for _ in range(60):
        attempt(site, site.client, "203.0.113.9", "ana", "guess")
    assert attempt(site, site.client, "203.0.113.9", "ana", right) == 429
    assert attempt(site, owner, "203.0.113.9", "ana", right) == 200
    assert attempt(site, owner, "203.0.113.9", "ben", "guess") == 429
    known = [attempt(site, owner, "203.0.113.9", "ana", "guess") for _ in range(12)]
    assert 429 in known, "a stolen browser has its own limit"


def test_passwords_are_hashed_as_slowly_as_argon2_advises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one test of the server with the hashes that users have: the second choice of RFC 9106, 64 MB."""
    monkeypatch.setattr("dalenius.server.accounts._hasher", AS_SERVED)
    store = StateStore(str(tmp_path / "s.sqlite"))
    Accounts(store).create("ana", "analyst", "long enough password")
    [[stored]] = store.read("SELECT password FROM users")
    store.close()
    assert stored.startswith("$argon2id$v=19$m=65536,t=3,p=4$")


def test_accounts_refuse_what_they_should(tmp_path: object) -> None:
    store = StateStore(f"{tmp_path}/s.sqlite")
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
        assert raw.execute("SELECT password FROM users WHERE name = 'ana'").fetchone()[0].startswith("$argon2id$")
    store.close()
