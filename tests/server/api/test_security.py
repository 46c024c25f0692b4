"""What every answer carries, and what is refused before any route is reached."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.server.api.conftest import Site, assert_no_canary, document, error_code

from dalenius.server import logs
from dalenius.server.errors import TooManyRequests, body_of
from dalenius.server.reading import Reading
from dalenius.server.security import RateLimiter
from dalenius.server.store import StateStore

PATHS = ("/healthz", "/api/v1/datasets", "/api/v1/releases", "/nowhere", "/api/v1/jobs/abc", "/api/v1/openapi.json")


@pytest.mark.parametrize("path", PATHS)
def test_headers_on_every_answer(site: Site, path: str) -> None:
    headers = site.call("", "GET", path).headers
    assert headers["content-security-policy"].startswith("default-src 'self'; ")
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert len(headers["x-request-id"]) == 16


def test_unreleased_content_is_never_stored_by_caches(site: Site) -> None:
    for method, path, body in (
        ("POST", "/api/v1/datasets/towns/plan", document()),
        ("POST", "/api/v1/datasets/towns/releases", document()),
        ("GET", "/api/v1/datasets/towns/quota", None),
        ("GET", "/api/v1/jobs", None),
    ):
        assert site.call("ana", method, path, json=body).headers["cache-control"] == "no-store"


def test_long_bodies_are_refused_while_they_arrive(site: Site) -> None:
    def endless() -> object:
        for _ in range(3000):
            yield b" " * 1000

    path = "/api/v1/datasets/towns/plan"
    for content in (b"{" + b" " * 2_000_000, endless()):
        answer = site.call("ana", "POST", path, content=content)
        assert answer.status_code == 413 and error_code(answer) == "body_too_large"


def test_an_unexpected_exception_shows_and_logs_nothing_of_itself(
    site: Site, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> None:
        raise RuntimeError("the value CANARY-7f3a91 of row 17")

    monkeypatch.setattr(Reading, "datasets", fault)
    with caplog.at_level(logging.INFO, logger="dalenius.server"):
        answer = site.call("ana", "GET", "/api/v1/datasets")
    assert answer.status_code == 500 and error_code(answer) == "internal"
    lines = [logs.JsonLines().format(record) for record in caplog.records]
    assert_no_canary(answer.text, *lines)
    places = next(json.loads(line)["places"] for line in lines if json.loads(line)["event"] == "exception")
    assert places and all(":" in place for place in places)


def test_a_fault_below_the_gate_is_one_message_and_the_charge_stands(
    make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    site = make_site()
    source = site.services.desk.find("towns").curator.source

    def fault(*_: object) -> None:
        raise ValueError("could not convert CANARY-c0ffee")

    monkeypatch.setattr(source, "table", fault)
    with caplog.at_level(logging.INFO):
        answer = site.release("ana", document())
    assert answer.status_code == 500 and error_code(answer) == "after_charge"
    assert_no_canary(answer.text, *(logs.JsonLines().format(r) for r in caplog.records))
    quota = site.call("ana", "GET", "/api/v1/datasets/towns/quota").json()
    assert quota["charges"] == 1 and quota["spent"]["rho"] != "0"


def test_library_messages_are_not_logged() -> None:
    record = logging.LogRecord("duckdb", logging.ERROR, "f", 1, "value %s", ("CANARY-7f3a91",), None)
    assert_no_canary(logs.JsonLines().format(record))


def test_rate_limiter_refills() -> None:
    now = [0.0]
    limiter = RateLimiter(1, lambda: now[0])
    for _ in range(60):
        limiter.take("x", "ana", 60)
    with pytest.raises(TooManyRequests) as refused:
        limiter.take("x", "ana", 60)
    assert refused.value.detail["retry_after"] == 2
    limiter.take("x", "ben", 60)
    now[0] += 1.01
    limiter.take("x", "ana", 60)


def test_limits_reach_callers(make_site: Callable[..., Site]) -> None:
    site = make_site()
    limits = site.services.config.limits.model_copy(update={"anonymous_per_minute": 4, "waiting_per_user": 1})
    object.__setattr__(site.services.config, "limits", limits)
    site.services.limiter._clock = lambda: 0.0
    codes = [site.call("", "GET", "/api/v1/datasets").status_code for _ in range(8)]
    assert codes[0] == 200 and codes[-1] == 429
    assert site.call("ana", "GET", "/api/v1/datasets").status_code == 200
    assert int(site.call("", "GET", "/api/v1/datasets").headers["retry-after"]) >= 1
    forged = {"Authorization": "Bearer dln_a_b"}
    assert site.client.get("/api/v1/datasets", headers=forged).status_code == 429


def test_error_bodies_survive_anything() -> None:
    error = TooManyRequests("\ud800 bad", number=10**400, nan=float("nan"), nested={"a": [object()]})
    assert json.loads(json.dumps(body_of(error)))["error"]["code"] == "too_many_requests"


def test_links_name_the_configured_address(make_site: Callable[..., Site]) -> None:
    site = make_site(top='tick_milliseconds = 20\npublic_url = "https://tables.example"\n')
    links = site.call("", "GET", "/pxweb/api/v2/tables", headers={"Host": "evil.example"}).json()["links"]
    assert links[0]["href"] == "https://tables.example/pxweb/api/v2/tables"


def test_the_store_is_private_wherever_it_lies(tmp_path: Path) -> None:
    place = tmp_path / "open" / "server.sqlite"
    place.parent.mkdir(mode=0o755)
    before = os.umask(0o022)
    try:
        store = StateStore(str(place))
        store.close()
        place.chmod(0o644)
        store = StateStore(str(place))
        store.write("DELETE FROM saved WHERE name = ? AND title = ?", "nobody", "nothing")
        found = {path.name: path.stat().st_mode & 0o777 for path in place.parent.iterdir()}
        store.close()
    finally:
        os.umask(before)
    assert len(found) >= 2 and set(found.values()) == {0o600}, found
