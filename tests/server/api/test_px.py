"""PxWeb API 2: the request format by a real HTTP client over a socket, and the selection grammar."""

import csv
import io

import httpx
import pytest
from tests.server.api.conftest import Live, assert_no_canary, document, users_of, write_site

from dalenius.errors import DaleniusError
from dalenius.server.routes.px import Dimension, split_codes

ROOT = "/pxweb/api/v2"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A live server with one released table: its client and the table's id."""
    place = write_site(tmp_path_factory.mktemp("px"), top="tick_milliseconds = 20\n")
    headers = users_of(place)
    live = Live(place)
    with httpx.Client(base_url=live.url, timeout=30) as client:
        made = client.post(
            "/api/v1/datasets/towns/releases", json=document("1", ["town", "work"]), headers=headers["ana"]
        )
        yield client, made.headers["content-location"].rpartition("/")[2], made.json()
    live.stop()


def test_a_client_finds_describes_and_reads_a_table(served: tuple[httpx.Client, str, dict]) -> None:  # type: ignore[type-arg]
    client, entry, release = served
    settings = client.get(f"{ROOT}/config").json()
    assert settings["apiVersion"].startswith("2.") and "json-stat2" in settings["dataFormats"]
    listed = client.get(f"{ROOT}/tables", params={"query": "town", "pageSize": 5}).json()
    assert [t["id"] for t in listed["tables"]] == [entry]
    assert listed["page"]["totalElements"] == 1
    links = {link["rel"]: link["href"] for link in listed["tables"][0]["links"]}
    described = client.get(links["metadata"]).json()
    assert described["class"] == "dataset" and described["id"] == ["town", "work", "ContentsCode"]
    assert described["size"] == [3, 3, 4] and "value" not in described
    codes = described["dimension"]["work"]["category"]
    assert list(codes["index"]) == ["c0", "c1", "c2"] and codes["label"]["c1"] == "=office"
    whole = client.get(links["data"], params={"lang": "en", "outputFormat": "json-stat2"}).json()
    assert whole["value"] == release["tables"][0]["values"] and whole["size"] == [3, 3, 1]
    assert_no_canary(str(described), str(whole))


def test_selections_by_address_and_by_body_agree(served: tuple[httpx.Client, str, dict]) -> None:  # type: ignore[type-arg]
    client, entry, release = served
    values = release["tables"][0]["values"]
    path = f"{ROOT}/tables/{entry}/data"
    got = client.get(f"{path}?valueCodes[town]=Bro,Cedar&valuecodes[WORK]=TOP(1)&valueCodes[ContentsCode]=value").json()
    assert got["value"] == [values[3], values[6]]
    body = {
        "selection": [
            {"variableCode": "town", "valueCodes": ["FROM(Bro)"]},
            {"variableCode": "work", "valueCodes": ["c0"]},
        ],
        "placement": {"heading": ["town"], "stub": ["work"]},
    }
    assert client.post(path, json=body).json()["value"] == got["value"]
    rows = list(csv.reader(io.StringIO(client.post(path, json=body, params={"outputFormat": "csv"}).text)))
    assert rows[0] == ["town", "work", "value"] and [r[0] for r in rows[1:]] == ["Bro", "Cedar"]
    assert [int(r[2]) for r in rows[1:]] == got["value"]
    every = client.get(f"{path}?valueCodes[ContentsCode]=*&valueCodes[town]=A?y&outputFormat=csv").text
    assert every.splitlines()[0] == "town,work,value,std_error,lower,upper"


@pytest.mark.parametrize(
    "query",
    [
        "valueCodes[town]=Nowhere",
        "valueCodes[nope]=1",
        "valueCodes[town]=TOP(x)",
        "valueCodes[town]=RANGE(Aby)",
        "valueCodes[town]=[a-z]*",
        "outputFormat=px",
        "lang=xx",
        "valueCodes[town]=TOP(" + "9" * 400 + ")",
        "valueCodes[town]=z*",
    ],
)
def test_odd_selections_are_refused(served: tuple[httpx.Client, str, dict], query: str) -> None:  # type: ignore[type-arg]
    client, entry, _ = served
    answer = client.get(f"{ROOT}/tables/{entry}/data?{query}")
    assert answer.status_code == 400 and set(answer.json()["error"]) == {"code", "message", "detail"}


def test_nothing_under_this_root_can_spend(served: tuple[httpx.Client, str, dict]) -> None:  # type: ignore[type-arg]
    client = served[0]
    described = client.get("/api/v1/openapi.json").json()["paths"]
    calls = {(method, path) for path, item in described.items() if path.startswith(ROOT) for method in item}
    assert {path for method, path in calls if method != "get"} == {f"{ROOT}/tables/{{id}}/data"}
    assert client.get(f"{ROOT}/tables/{'0' * 32}").status_code == 404
    assert client.post(f"{ROOT}/tables/{'0' * 32}/data", json={}).status_code == 404


def test_dimension_grammar() -> None:
    axis = Dimension.of("x", ("a", "b", "c", "d"))
    known = {
        "TOP(2)": [0, 1],
        "top(2,1)": [1, 2],
        "BOTTOM(1)": [3],
        "bottom(2,1)": [1, 2],
        "FROM(c)": [2, 3],
        "TO(b)": [0, 1],
        "RANGE(b,c)": [1, 2],
        "*": [0, 1, 2, 3],
        "?": [0, 1, 2, 3],
        "d": [3],
    }
    assert {text: axis.select((text,)) for text in known} == known
    for text in ("e", "TOP()", "FROM(e)", "RANGE(a,b,c)", "TOP(-1)", ""):
        with pytest.raises(DaleniusError):
            axis.select((text,))
    assert split_codes("a,[b,c],TOP(1,2),") == ("a", "b,c", "TOP(1,2)")
