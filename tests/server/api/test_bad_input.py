"""Hostile documents and addresses: never a 5xx, never a traceback, never a value from the data."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.api.conftest import Site, assert_no_canary, document, error_code

BOUNDED = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PLAN, RELEASE = "/api/v1/datasets/towns/plan", "/api/v1/datasets/towns/releases"

names = st.sampled_from(
    ["town", "sex", "age", "work", "income", "nope", "", "\x00", "town\x00", "__proto__", "../x", "a" * 300, "é"]
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["1e400", "-0", "1/0", "0x10", "NaN", "Infinity", "1" * 5000, "0." + "0" * 400 + "1"]),
)
axes = st.one_of(
    names,
    st.fixed_dictionaries(
        {"variable": names},
        optional={
            "level": names,
            "categories": st.lists(st.sampled_from(["Aby", "Bro", "female", "x", "\x00"]), max_size=4),
            "groups": st.dictionaries(names, st.lists(st.sampled_from(["Aby", "Bro"]), max_size=3), max_size=3),
            "cuts": st.lists(scalars, max_size=5),
        },
    ),
)
tables = st.fixed_dictionaries(
    {"rows": st.lists(axes, max_size=4)},
    optional={
        "columns": st.lists(axes, max_size=3),
        "layers": st.lists(axes, max_size=2),
        "where": st.dictionaries(names, st.one_of(scalars, st.lists(scalars, max_size=3)), max_size=3),
        "measure": st.one_of(st.sampled_from(["count", "total", "mean", "median", "drop table"]), scalars),
        "of": names,
        "weight": names,
        "margins": st.one_of(st.sampled_from(["none", "all"]), st.lists(st.lists(names, max_size=2), max_size=3)),
    },
)
privacies = st.fixed_dictionaries(
    {"definition": st.one_of(st.sampled_from(["pure", "approximate", "zero_concentrated", "nope"]), scalars)},
    optional={
        "epsilon": scalars,
        "delta": scalars,
        "rho": scalars,
        "mechanism": st.one_of(st.sampled_from(["discrete_laplace", "__init__", "../x"]), scalars),
        "strategy": scalars,
    },
)
documents = st.one_of(
    st.fixed_dictionaries({"table": tables, "privacy": privacies}, optional={"dataset": scalars, "title": scalars}),
    st.recursive(scalars, lambda inner: st.dictionaries(st.text(max_size=8), inner, max_size=4), max_leaves=10),
)


good_axes = st.one_of(
    st.sampled_from(["town", "sex", "age", "work"]),
    st.just({"variable": "town", "level": "coast"}),
    st.just({"variable": "income", "cuts": [0, 100, "500", 1000]}),
    st.just({"variable": "age", "categories": ["65+", "0-17"]}),
)
sound = st.fixed_dictionaries(
    {
        "table": st.fixed_dictionaries(
            {"rows": st.lists(good_axes, max_size=3, unique_by=str)},
            optional={
                "where": st.sampled_from([{"sex": "male"}, {"income": {"at_least": 10}}, {"town": ["Aby", "Bro"]}]),
                "margins": st.sampled_from(["none", "all"]),
            },
        ),
        "privacy": st.one_of(
            st.fixed_dictionaries({"definition": st.just("pure"), "epsilon": st.sampled_from(["0.01", "1e-9", 3])}),
            st.just({"definition": "zero_concentrated", "rho": "0.01"}),
            st.just({"definition": "approximate", "epsilon": "0.5", "delta": "1e-9"}),
        ),
    }
)


@settings(BOUNDED, max_examples=40)
@given(document=sound, place=st.sampled_from([None, "table", "privacy"]), key=names, value=scalars)
def test_sound_documents_and_their_near_misses(
    site: Site, document: Any, place: str | None, key: str, value: Any
) -> None:
    if place is not None:
        document = {**document, place: {**document[place], key: value}}
    answer = site.call("ben", "POST", RELEASE, content=json.dumps(document))
    assert answer.status_code < 500, answer.text
    assert_no_canary(answer.content)
    if place is not None:
        assert answer.status_code == 400 and error_code(answer)


@BOUNDED
@given(document=documents)
def test_any_document_is_planned_or_refused(site: Site, document: Any) -> None:
    answer = site.call("ana", "POST", PLAN, content=json.dumps(document))
    assert answer.status_code < 500, answer.text
    assert_no_canary(answer.content)
    if answer.status_code >= 400:
        error_code(answer)


@settings(BOUNDED, max_examples=25)
@given(document=st.fixed_dictionaries({"table": tables, "privacy": privacies}))
def test_any_document_is_released_or_refused(site: Site, document: Any) -> None:
    answer = site.call("ana", "POST", RELEASE, content=json.dumps(document))
    assert answer.status_code < 500, answer.text
    assert_no_canary(answer.content)


@settings(BOUNDED, max_examples=40)
@given(body=st.one_of(st.binary(max_size=200), st.text(max_size=100).map(lambda t: t.encode("utf-8", "replace"))))
@pytest.mark.parametrize("kind", ["application/json", "application/toml", "text/plain", "multipart/form-data"])
def test_any_bytes_are_refused(site: Site, body: bytes, kind: str) -> None:
    answer = site.call("ana", "POST", PLAN, content=body, headers={"Content-Type": kind})
    assert answer.status_code in (400, 413)
    error_code(answer)


@pytest.mark.parametrize(
    "body",
    [
        b'{"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": NaN}}',
        b'{"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": 1e999}}',
        b'{"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": ' + b"9" * 6000 + b"}}",
        b'{"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": "' + b"9" * 6000 + b'"}}',
        b'{"table": {"rows": ["town"]}, "privacy": {"definition": "pure", "epsilon": 1}, "privacy": {}}',
        b'{"table": {"rows": ["to\\u0000wn"]}, "privacy": {"definition": "pure", "epsilon": 1}}',
        b'{"table": {"rows": ["\\ud800"]}, "privacy": {"definition": "pure", "epsilon": 1}}',
        b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
        b"[" * 100_000,
        b"/etc/passwd",
        b"dataset.toml",
        b"people.csv",
        b"\xff\xfe",
        b"",
    ],
    ids=range(14),
)
def test_malformed_documents(site: Site, body: bytes) -> None:
    for path in (PLAN, RELEASE, "/api/v1/datasets/towns/tables"):
        answer = site.call("ana", "POST", path, content=body)
        is_deep = error_code(answer) == "document_limit"
        assert answer.status_code == (422 if is_deep else 400), answer.text
        assert is_deep or error_code(answer) in ("bad_document", "bad_parameter", "unknown_name", "bad_request")
        assert_no_canary(answer.content)


def test_a_document_cannot_name_a_file(site: Site) -> None:
    sneaky = document("0.4") | {"dataset": "../../etc/passwd"}
    answer = site.call("ana", "POST", PLAN, json=sneaky)
    assert answer.status_code == 200 and answer.json()["dataset"] == "towns"


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/releases/..%2f..%2fetc%2fpasswd",
        "/api/v1/releases/../../server.toml",
        "/api/v1/releases/%00",
        "/api/v1/releases/" + "a" * 5000,
        "/api/v1/jobs/..%2f..%2f",
        "/api/v1/datasets/..%2fdataset.toml",
        "/api/v1/datasets/%00/plan",
        "/pxweb/api/v2/tables/..%2f..%2fpeople.csv/data",
        "/static/..%2f..%2fpeople.csv",
        "/static/%2e%2e/%2e%2e/people.csv",
    ],
)
def test_path_traversal(site: Site, path: str) -> None:
    answer = site.call("ana", "GET", path)
    assert answer.status_code in (400, 404, 405)
    error_code(answer)
    assert_no_canary(answer.content)


def test_a_million_cells_are_queued_or_refused_with_the_limit(make_site: Callable[..., Site]) -> None:
    site = make_site(rows=50)
    cuts = {"variable": "income", "cuts": list(range(1001))}
    big = document("1", ["town", "sex", "age", cuts])
    limits = site.services.config.limits.model_copy(update={"most_cells": 10_000, "direct_cells": 100})
    queued = site.call("ana", "POST", PLAN, json=big).json()
    assert queued["cells"] == 18_000 and queued["is_queued"] is False
    object.__setattr__(site.services.config, "limits", limits)
    refused = site.release("ana", big)
    assert refused.status_code == 400 and error_code(refused) == "too_large"
    assert refused.json()["error"]["detail"] == {"received": 18_000, "limit": 10_000}
    waiting = site.release("ana", document("1", ["town", cuts]))
    assert waiting.status_code == 202 and waiting.json()["cells"] == 3000


def test_duplicate_parameters_and_fields(site: Site) -> None:
    answer = site.call("", "GET", "/api/v1/releases?limit=1&limit=2&offset=0&offset=x")
    assert answer.status_code in (200, 400)
    twice = b'{"label": "a", "label": "b"}'
    assert site.call("ana", "POST", "/api/v1/tokens", content=twice).status_code < 500
    unknown = site.call("ana", "POST", "/api/v1/tokens", json={"label": "a", "role": "custodian"})
    assert unknown.status_code == 400
    for limit in ("-1", "0", "1e9", "9" * 400, "\x00", "ä"):
        assert site.call("", "GET", "/api/v1/releases", params={"limit": limit}).status_code == 400
    for amount in ("nan", "-1", "1e400", "9" * 90, "1/0", "", "0x1"):
        body = {"rho": amount, "delta": "0"}
        answer = site.call("cus", "POST", "/api/v1/populations/townspeople/grants", json=body)
        assert answer.status_code == 400, (amount, answer.text)


def test_inference_refuses_odd_options(site: Site) -> None:
    made = site.release("ana", document("0.5", ["town", "sex"]))
    path = made.headers["content-location"] + "/inference"
    for body in (
        {"method": "independence", "replicates": 10**9},
        {"method": "independence", "test": "__import__"},
        {"method": "ratio", "first": {"town": ["Aby"]}, "second": {"town": ["Nowhere"]}},
        {"method": "independence", "table": ["town"]},
        {"method": "interval", "confidence": 1.5},
        {"method": "interval", "table": ["nope"]},
        {"method": "interval", "table": ["\x00"]},
        {"method": "x" * 41},
    ):
        answer = site.call("", "POST", path, json=body)
        assert answer.status_code == 400, (body, answer.text)
        error_code(answer)
