"""What a stranger may make a worker do: documents are bounded before they are parsed, and nothing is parsed in the event loop."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.api.conftest import Site, document, error_code

from dalenius.server.routes import bodies

PLAN = "/api/v1/datasets/towns/plan"
PATHS = (PLAN, "/api/v1/datasets/towns/tables", "/api/v1/datasets/towns/releases")
TOML = {"Content-Type": "application/toml"}
SMALL = 'table = { rows = ["town"] }\nprivacy = { definition = "pure", epsilon = 1 }\n'
BODIES = (
    ("POST", "/api/v1/session"),
    ("POST", "/api/v1/tokens"),
    ("PUT", "/api/v1/saved/mine"),
    ("POST", "/api/v1/releases/aa/inference"),
    ("POST", "/pxweb/api/v2/tables/aa/data"),
)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Where documents were parsed."""
    places: list[str] = []
    own = bodies.parse

    def watched(*args: Any, **kwargs: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            places.append("thread")
        else:
            places.append("loop")
        return own(*args, **kwargs)

    monkeypatch.setattr(bodies, "parse", watched)
    yield places


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "status", "limit"),
    [
        (".".join(["a"] * 30_000) + " = 1\n", 422, "dots"),
        ("x = " + "[" * 13 + "]" * 13 + "\n", 422, "depth"),
        (SMALL + f"title = '{'a' * 64_000}'\n", 413, "size"),
    ],
)
def test_toml_is_bounded(site: Site, path: str, body: str, status: int, limit: str) -> None:
    answer = site.call("ana", "POST", path, content=body, headers=TOML)
    assert answer.status_code == status and error_code(answer) == "document_limit"
    assert answer.json()["error"]["detail"]["limit"] == limit


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("body", "limit"), [('{"a": ' * 13 + "1" + "}" * 13, "depth"), ('{"a": [' + "1," * 20_001 + "1]}", "items")]
)
def test_json_is_bounded(site: Site, path: str, body: str, limit: str) -> None:
    answer = site.call("ana", "POST", path, content=body)
    assert answer.status_code == 422 and error_code(answer) == "document_limit"
    assert answer.json()["error"]["detail"]["limit"] == limit


def test_a_body_of_more_than_a_megabyte_is_refused_while_it_arrives(site: Site) -> None:
    answer = site.call("", "POST", PLAN, content=b'{"title": "' + b"a" * 1_000_000 + b'"}')
    assert answer.status_code == 413 and error_code(answer) == "body_too_large"


@pytest.mark.parametrize(("method", "path"), BODIES)
def test_every_small_body_is_bounded_and_parsed_outside_of_the_loop(
    site: Site, parsed: list[str], method: str, path: str
) -> None:
    headers = {"Content-Type": "application/json"}
    for body in ('{"a": ' * 13 + "1" + "}" * 13, '{"a": [' + "1," * 20_001 + "1]}"):
        answer = site.call("ana", method, path, content=body, headers=headers)
        assert answer.status_code == 422 and error_code(answer) == "document_limit"
    answer = site.call("ana", method, path, content=json.dumps({"no": {"such": 1.5}}), headers=headers)
    assert answer.status_code in (400, 404)
    assert parsed == ["thread"] * 3


def test_every_route_with_a_body_bounds_it(site: Site) -> None:
    routes = [r for r in _flat(site.client.app.routes) if getattr(r, "body_field", None) is not None]  # type: ignore[attr-defined]
    assert len(routes) > len(BODIES)
    assert all(isinstance(route, bodies.BoundedRoute) for route in routes), routes


def _flat(routes: Any) -> Iterator[Any]:
    for route in routes:
        inner = getattr(route, "original_router", None) or getattr(route, "router", None)
        if inner is not None:
            yield from _flat(inner.routes)
        else:
            yield route


@pytest.mark.parametrize("kind", ["json", "toml"])
def test_documents_are_parsed_outside_of_the_event_loop(site: Site, parsed: list[str], kind: str) -> None:
    if kind == "json":
        answer = site.call("", "POST", PLAN, json=document())
    else:
        answer = site.call("", "POST", PLAN, content=SMALL, headers=TOML)
    assert answer.status_code == 200 and parsed == ["thread"]


def test_eight_thousand_codes_are_read(site: Site) -> None:
    codes = [f"{number:08}" for number in range(8000)]
    asked = document(where={"town": codes})
    answer = site.call("", "POST", PLAN, json=asked)
    assert answer.status_code == 400 and error_code(answer) == "unknown_name"


def test_a_saved_request_keeps_its_numbers(site: Site) -> None:
    asked = document() | {"privacy": {"definition": "pure", "epsilon": 0.5}}
    body = {"dataset": "towns", "request": asked}
    assert site.call("ana", "PUT", "/api/v1/saved/halves", json=body).status_code == 204
    (kept,) = [s for s in site.call("ana", "GET", "/api/v1/saved").json() if s["title"] == "halves"]
    assert kept["request"]["privacy"]["epsilon"] == "0.5"
