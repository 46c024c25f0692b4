"""Pages without a browser: roles, forms, escaping, odd input, headers."""

import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius.errors import DocumentError
from dalenius.server.accounts import Role, User
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig

_PLACE = Path(__file__).parent.parent / "browser" / "site.py"
_SPEC = spec_from_file_location("pages_site", _PLACE)
assert _SPEC is not None and _SPEC.loader is not None
SITE = module_from_spec(_SPEC)
sys.modules["pages_site"] = SITE
_SPEC.loader.exec_module(SITE)

TABLE = "/d/commuters/table?rows=mode&columns=age&definition=pure&epsilon=0.5"


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One application, served in-process."""
    with served(SITE.write_files(tmp_path_factory.mktemp("site"))) as made:
        yield made


@contextmanager
def served(place: Path) -> Iterator[Any]:
    """The application of a site, with its users and a registered data set."""
    made = create_app(ServerConfig.load(place))
    services = made.state.services
    for name, role in SITE.ROLES.items():
        services.accounts.create(name, role, SITE.PASSWORDS[name])
    services.custody.register(User("carla", Role.CUSTODIAN), "commuters")
    with TestClient(made):
        yield made


def visitor(app: Any, name: str = "") -> TestClient:
    """A browser of one user."""
    client = TestClient(app, follow_redirects=False, headers={"accept": "text/html"})
    if name:
        form = {"csrf": token(client, "/sign-in"), "name": name, "password": SITE.PASSWORDS[name], "next": "/"}
        assert client.post("/sign-in", data=form).status_code == 303
    return client


def token(client: TestClient, path: str = "/") -> str:
    found = re.search(r'name="csrf" value="([0-9a-f]{64})"', client.get(path).text)
    assert found is not None
    return found.group(1)


def seen(client: TestClient, fields: dict[str, str]) -> str:
    """The digest of what the builder shows for these fields."""
    shown = client.get(f"/d/commuters/table?{urlencode(fields)}", follow_redirects=True)
    found = re.search(r'name="seen" value="([0-9a-f]{32})"', shown.text)
    return found.group(1) if found else ""


def release(client: TestClient, **fields: str) -> str:
    wanted = {"rows": "mode", "epsilon": "0.1", "definition": "pure", **fields}
    form = {"csrf": token(client, "/account"), **wanted, "seen": seen(client, wanted)}
    answer = client.post("/d/commuters/release", data=form)
    assert answer.status_code == 303, answer.text
    return str(answer.headers["location"])


def test_a_margin_of_error_is_priced_and_released(app: Any) -> None:
    anna = visitor(app, "anna")
    fields = {"rows": "mode", "epsilon": "", "definition": "pure", "error_at_most": "9"}
    page = anna.get(f"/d/commuters/table?{urlencode(fields)}", follow_redirects=True).text
    found = re.search(r"epsilon = (\S+) is\s+the\s+smallest\s+amount", page)
    assert found is not None
    assert f"ε = {found.group(1)}" in anna.get(release(anna, **fields)).text


def test_pages_carry_the_strict_policy_and_nothing_inline(app: Any) -> None:
    client = visitor(app, "anna")
    where = release(client)
    for path in ("/", TABLE, where, "/account", "/mine", "/explain/noise", where.split("?")[0] + "/cite"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert answer.headers["content-security-policy"].startswith("default-src 'self';")
        assert not re.search(r"<script(?! src=)|\sstyle=|\son[a-z]+=|<style|javascript:", answer.text), path
        assert not re.search(r'(?:src|href)="(?:https?:)?//', answer.text), path
    assert client.get("/account").headers["cache-control"] == "no-store"
    assert client.get(TABLE).headers["cache-control"] == "no-store"


def test_static_files_may_be_kept(app: Any) -> None:
    client = visitor(app)
    found = re.search(r'href="(/static/dalenius\.css\?v=[0-9a-f]{12})"', client.get("/").text)
    assert found is not None
    assert "max-age=31536000" in client.get(found.group(1)).headers["cache-control"]
    assert client.get("/static/../pages/state.py").status_code in (404, 400)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        ("name=" + "a" * 256_000, "application/x-www-form-urlencoded", 413),
        ("a=1&" * 5_000 + "b=1", "Application/X-WWW-Form-Urlencoded; charset=utf-8", 400),
        ("name=%ff", "application/x-www-form-urlencoded", 400),
        ("--x\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--x--\r\n", "multipart/form-data; boundary=x", 400),
        ("name=anna", "application/x-www-form-urlencoded", 403),
    ],
)
def test_forms_are_bounded_before_they_are_read(app: Any, body: str, kind: str, status: int) -> None:
    answer = visitor(app).post("/sign-in", content=body, headers={"Content-Type": kind})
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/d/commuters/release", {"rows": "mode", "epsilon": "0.1"}),
        ("/d/commuters/saved", {"rows": "mode"}),
        ("/account/tokens", {"label": "x"}),
        ("/sign-out", {}),
    ],
)
def test_a_form_without_the_token_changes_nothing(app: Any, path: str, fields: dict[str, str]) -> None:
    anna = visitor(app, "anna")
    before = app.state.services.releasing.quota(app.state.services.accounts.find("anna"), "commuters").charges
    for csrf in ("", "0" * 64, token(visitor(app, "carla"), "/account")):
        assert anna.post(path, data={**fields, "csrf": csrf}).status_code == 403
    good = token(anna, "/account")
    crossed = anna.post(path, data={**fields, "csrf": good}, headers={"sec-fetch-site": "cross-site"})
    assert crossed.status_code == 403
    assert app.state.services.releasing.quota(app.state.services.accounts.find("anna"), "commuters").charges == before
    assert anna.get("/account").status_code == 200


def test_roles(app: Any) -> None:
    desk = (
        "/custodian",
        "/custodian/budget/ridgeford",
        "/custodian/approvals",
        "/custodian/users",
        "/custodian/policy",
    )
    for path in desk:
        assert visitor(app).get(path).headers["location"].startswith("/sign-in?next=")
        assert visitor(app, "anna").get(path).status_code == 403
        assert visitor(app, "otto").get(path).status_code == 403
        assert visitor(app, "carla").get(path).status_code == 200
    assert visitor(app, "anna").get("/ledger/evidence").status_code == 403
    assert visitor(app, "otto").get("/ledger/evidence").status_code == 200
    otto = visitor(app, "otto")
    refused = otto.post("/d/commuters/release", data={"csrf": token(otto, "/account"), "rows": "mode"})
    assert refused.status_code == 403


def test_an_analyst_sees_own_lines_and_own_jobs_only(app: Any) -> None:
    anna, nina = visitor(app, "anna"), visitor(app, "nina")
    release(anna, rows="district", epsilon="0.07")
    assert "nina" not in anna.get("/ledger").text
    assert "anna" not in nina.get("/ledger").text
    job = app.state.services.releasing.jobs_of(app.state.services.accounts.find("anna"))[0].id
    assert nina.get(f"/jobs/{job}").status_code == 404
    assert anna.get(f"/jobs/{job}").status_code == 303


def test_an_embargoed_table_is_not_there_for_others(tmp_path: Path) -> None:
    place = SITE.write_files(tmp_path)
    rules = tmp_path / "policy.toml"
    rules.write_text(f'release = "embargoed"\n{rules.read_text()}')
    with served(place) as app:
        where = release(visitor(app, "anna"), rows="age", epsilon="0.08").split("?")[0]
        for path in (where, f"{where}.csv", f"{where}/cite", f"{where}/independence?run=1", f"{where}/compare"):
            assert visitor(app).get(path).status_code == 404
            assert visitor(app, "nina").get(path).status_code == 404
        assert visitor(app, "anna").get(where).status_code == 200
        carla = visitor(app, "carla")
        form = {"csrf": token(carla, "/account"), "status": "published"}
        assert carla.post(f"/custodian{where.replace('/r/', '/releases/')}/status", data=form).status_code == 303
        assert visitor(app).get(where).status_code == 200


def test_the_same_request_twice_is_charged_once(app: Any) -> None:
    anna = visitor(app, "anna")
    first = release(anna, rows="age", columns="mode", epsilon="0.11")
    charges = app.state.services.releasing.quota(app.state.services.accounts.find("anna"), "commuters").charges
    second = release(anna, rows="mode", columns="age", epsilon="0.11")
    assert "again=1" in second and second.split("?")[0] == first.split("?")[0]
    assert "nothing was charged" in anna.get(second).text
    assert app.state.services.releasing.quota(app.state.services.accounts.find("anna"), "commuters").charges == charges


def test_a_table_that_was_not_previewed_is_shown_and_not_released(app: Any) -> None:
    anna, services = visitor(app, "anna"), app.state.services
    before = services.releasing.quota(services.accounts.find("anna"), "commuters").charges
    fields = {"rows": "district", "columns": "age", "definition": "pure", "epsilon": "0.12"}
    shown = seen(anna, fields)
    form = {"csrf": token(anna, "/account"), **fields}
    for wrong in ({"seen": ""}, {"seen": shown, "epsilon": "0.13"}, {"seen": shown, "measure": "mean:minutes"}):
        answer = anna.post("/d/commuters/release", data={**form, **wrong})
        assert answer.status_code == 409 and "not the one that was previewed" in answer.text
    assert services.releasing.quota(services.accounts.find("anna"), "commuters").charges == before
    assert anna.post("/d/commuters/release", data={**form, "seen": shown}).status_code == 303


def test_what_a_caller_wrote_is_escaped(app: Any) -> None:
    anna = visitor(app, "anna")
    bad = '"><script>alert(1)</script>'
    path = f"/d/commuters/table?{urlencode({'rows': 'mode', 'definition': 'pure', 'epsilon': '0.5', 'title': bad})}"
    assert "<script>alert" not in anna.get(path).text
    assert "&lt;script&gt;alert" in anna.get(path).text
    for odd in (f"/tables?q={bad}", f"/sign-in?next={bad}", f"/d/commuters/table?rows={bad}", f"/d/{bad}"):
        assert "<script>alert" not in visitor(app).get(odd).text


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "evil"])
def test_no_way_leads_to_another_site(app: Any, target: str) -> None:
    client = visitor(app)
    assert client.get("/language/de", params={"next": target}).headers["location"] == "/"
    form = {"csrf": token(client, "/sign-in"), "name": "anna", "password": SITE.PASSWORDS["anna"], "next": target}
    assert client.post("/sign-in", data=form).headers["location"] == "/"


def test_languages(app: Any) -> None:
    client = visitor(app)
    assert '<html lang="de"' in client.get("/", headers={"accept-language": "de-CH,en;q=0.5"}).text
    client.get("/language/de")
    text = client.get(TABLE).text
    assert '<html lang="de"' in text and "Zeilen und Spalten tauschen" in text
    client.get("/language/xx")
    assert '<html lang="de"' in client.get("/").text


def test_a_wrong_password_says_no_more_than_an_unknown_name(app: Any) -> None:
    client = visitor(app)
    texts = []
    for name in ("anna", "nobody"):
        form = {"csrf": token(client, "/sign-in"), "name": name, "password": "wrong-password-1", "next": "/"}
        answer = client.post("/sign-in", data=form)
        assert answer.status_code == 403
        texts.append(re.sub(r'value="[^"]*"', "", answer.text))
    assert texts[0] == texts[1]


def test_tokens_are_shown_once(app: Any) -> None:
    anna = visitor(app, "anna")
    made = anna.post("/account/tokens", data={"csrf": token(anna, "/account"), "label": "script", "days": "7"})
    secret = re.search(r"dln_[0-9a-f]{16}_[\w-]+", made.text)
    assert secret is not None
    assert secret.group(0) not in anna.get("/account").text
    bearer = TestClient(app, headers={"authorization": f"Bearer {secret.group(0)}"})
    assert bearer.get("/api/v1/me").json()["name"] == "anna"


def test_a_form_leads_on_to_the_one_address(app: Any) -> None:
    client = visitor(app, "anna")
    raw = "/d/commuters/table?rows=&do=rows:mode&measure=count&definition=pure&epsilon=0.5&title=&margins="
    answer = client.get(raw)
    assert answer.headers["location"] == "/d/commuters/table?rows=mode&definition=pure&epsilon=0.5"
    assert client.get(answer.headers["location"]).status_code == 200


NAMES = [
    "rows",
    "columns",
    "layers",
    "level.mode",
    "pick.age",
    "group.mode",
    "cuts.minutes",
    "closed.minutes",
    "from.minutes",
    "to.minutes",
]
NAMES += ["where.age", "measure", "definition", "epsilon", "delta", "rho", "margins", "do", "title", "guide"]
WORDS = [
    "mode",
    "age",
    "minutes",
    "*",
    "bicycle",
    "effort",
    "total:minutes",
    "pure",
    "approximate",
    "0.5",
    "1e-6",
    "-1",
    "nan",
]
WORDS += ["9" * 400, "1/0", "\x00", "０", "rows:mode", "0,10,120", "a|b", "all", "\ud7ff", "1e400", "0x10", "½"]


@settings(max_examples=120, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(WORDS) | st.text(max_size=20)), max_size=10))
def test_odd_addresses_are_answered_not_broken(app: Any, pairs: list[tuple[str, str]]) -> None:
    client = CACHE.setdefault("anna", None) or visitor(app, "anna")
    CACHE["anna"] = client
    safe = [(k, v.encode("utf-8", "ignore").decode()) for k, v in pairs]
    answer = client.get(f"/d/commuters/table?{urlencode(safe)}")
    for _ in range(3):
        if answer.status_code != 303:
            break
        answer = client.get(answer.headers["location"])
    assert answer.status_code in (200, 400), answer.status_code


CACHE: dict[str, Any] = {}


def test_odd_views_of_a_released_table(app: Any) -> None:
    anna = visitor(app, "anna")
    where = release(anna, rows="mode", columns="age", epsilon="0.12").split("?")[0]
    odd = ["rows=age&rows=age&columns=age", "show=zzz&confidence=-1&as=7&chart=x&totals=q", "layers=mode&columns=none"]
    odd += ["confidence=" + "9" * 500, "rows=%00", "show=row&totals=off&chart=heat", "show=column&chart=heat"]
    for query in odd:
        assert anna.get(f"{where}?{query}").status_code == 200, query
    for query in ("a=0&b=99", "a=-1&b=x", "a=" + "9" * 100, "a=²&b=1", "a=3&b=3"):
        assert anna.get(f"{where}/compare?{query}").status_code == 200, query
    for ending in (".csv", ".json", ".html"):
        assert anna.get(where + ending).status_code == 200
    assert anna.get(where + ".exe").status_code == 406
    assert anna.get(where + "/../../etc/passwd").status_code == 404


def test_conditions_are_shown_wherever_a_table_is_named(app: Any) -> None:
    anna = visitor(app, "anna")
    where = release(anna, **{"rows": "mode", "epsilon": "0.09", "where.age": "15-24", "from.minutes": "10"}).split("?")[
        0
    ]
    told = "Age group: 15-24; Minutes on the way: 10 – …"
    for path in (where, "/tables", "/", f"{where}/cite", f"{where}/compare"):
        assert told in anna.get(path).text, path


@pytest.mark.parametrize(
    ("cuts", "closed", "classes"), [("0,10,120", "", 2), ("10", "", 2), ("10,30", "", 3), ("10,30", "1", 1)]
)
def test_what_is_copied_asks_for_the_same_table(app: Any, cuts: str, closed: str, classes: int) -> None:
    """The document, the Python text and the HTTP call on the page of a table all lead back to its stored release."""
    import ast
    import html
    import json

    from dalenius.spec.canonical import canonical
    from dalenius.spec.load import load_request

    anna = visitor(app, "anna")
    fields = {
        "rows": "minutes",
        "columns": "mode",
        "level.mode": "effort",
        "cuts.minutes": cuts,
        "closed.minutes": closed,
        "epsilon": "0.06",
    }
    box = re.search(
        r'name="closed.minutes" value="1"( checked)?>',
        anna.get("/d/commuters/table", params=fields, follow_redirects=True).text,
    )
    assert box is not None and bool(box.group(1)) is bool(closed)
    where = release(anna, **fields, **{"where.age": "15-24"})
    entry = where.split("?")[0].removeprefix("/r/")
    stored = app.state.services.reading.release(app.state.services.accounts.find("anna"), entry)
    assert len(next(axis for axis in stored.table.space.axes if axis.variable == "minutes")) == classes
    page = anna.get(f"/r/{entry}/cite?rows=minutes&columns=mode").text
    copied = {
        name: html.unescape(re.search(rf'id="copy-{name}">(.*?)</code>', page, re.DOTALL).group(1))  # type: ignore[union-attr]
        for name in ("document", "python", "api")
    }
    domain = app.state.services.desk.find("commuters").curator.domain
    assert canonical(load_request(copied["document"]), domain).digest == stored.provenance.digest
    assigned = next(
        s for s in ast.parse(copied["python"]).body if isinstance(s, ast.Assign) and s.targets[0].id == "request"
    )  # type: ignore[attr-defined]
    assert canonical(load_request(ast.literal_eval(assigned.value)), domain).digest == stored.provenance.digest

    address = re.search(r'POST "\$DALENIUS_SERVER([^"]+)"', copied["api"]).group(1)  # type: ignore[union-attr]
    body = json.loads(copied["api"].split("-d '")[1].rstrip("'"))
    secret = app.state.services.accounts.create_token(app.state.services.accounts.find("anna"), "copied")
    answer = TestClient(app).post(address, json=body, headers={"authorization": f"Bearer {secret}"})
    assert answer.status_code == 200, answer.text
    assert entry in answer.text


def test_no_page_repeats_the_host_that_a_caller_invented(app: Any) -> None:
    anna = visitor(app, "anna")
    where = release(anna, rows="mode", columns="district", epsilon="0.06").split("?")[0]
    evil = {"host": "evil.example", "x-forwarded-host": "evil.example", "forwarded": "host=evil.example"}
    pages = (TABLE, where, f"{where}/cite", "/pxweb/api/v2/tables", f"/pxweb/api/v2/tables/{where[3:]}/data")
    for path in (*pages, "/tables/", "/d/commuters/", "/api/v1/datasets/", "/custodian/"):
        answer = anna.get(path, headers=evil)
        assert "evil.example" not in answer.text + str(answer.headers), path
    cited = re.search(r'id="citation">(.*?)</code>', anna.get(f"{where}/cite").text, re.DOTALL)
    assert cited is not None and where in cited.group(1) and "//" not in cited.group(1)


def test_a_withdrawal_is_asked_about_first(app: Any) -> None:
    where = release(visitor(app, "anna"), rows="mode", columns="age", epsilon="0.05").split("?")[0]
    carla = visitor(app, "carla")
    address = f"/custodian{where.replace('/r/', '/releases/')}/status"
    form = {"csrf": token(carla, "/account"), "status": "withdrawn"}
    for back in ({}, {"back": "list"}):
        asked = carla.post(address, data={**form, **back})
        assert asked.status_code == 200 and "Withdraw this table?" in asked.text
        assert 'name="confirm" value="yes"' in asked.text and 'id="keep"' in asked.text
        assert visitor(app).get(where).status_code == 200
    anna = visitor(app, "anna")
    foreign = {**form, "csrf": token(anna, "/account")}
    assert anna.post(address, data=foreign).status_code == 403
    assert carla.post(address, data={**form, "confirm": "yes"}).status_code == 303
    assert visitor(app).get(where).status_code == 403


def test_the_builder_offers_bootstrap_errors_where_a_measure_has_them(app: Any) -> None:
    """The box changes the request, the preview says which interval is shorter, and what has no delta is refused by name."""
    anna = visitor(app, "anna")
    mean, delta = (
        "/d/commuters/table?rows=mode&measure=mean%3Aminutes",
        "&definition=approximate&epsilon=1&delta=0.0000001",
    )
    assert 'id="error-bootstrap"' not in anna.get(TABLE).text
    assert 'id="error-bootstrap"' in anna.get(mean + delta).text
    asked = anna.get(mean + "&error=bootstrap" + delta).text
    assert 'value="bootstrap" checked' in asked and "Expect the bootstrap interval to reach" in asked
    refused = anna.get(mean + "&error=bootstrap&definition=pure&epsilon=1").text
    assert "without a delta" in refused


def test_a_comparison_says_what_95_percent_means(app: Any) -> None:
    where = release(visitor(app, "anna"), rows="mode", epsilon="0.09").split("?")[0]
    for code, sure, unsure, meaning in (
        ("en", "larger than its margin of error", "within its margin of error", "of 100 intervals made in this way"),
        ("de", "größer als seine Fehlerspanne", "innerhalb seiner Fehlerspanne", "Von 100 so gebildeten Intervallen"),
    ):
        reader = visitor(app)
        reader.get(f"/language/{code}")
        texts = [reader.get(f"{where}/compare?a=0&b={b}").text for b in (1, 2, 3)]
        assert any(sure in text for text in texts) and all(meaning in text for text in texts)
        assert not any("real" in re.sub(r"<[^>]+>", " ", text).split() or "echt" in text for text in texts)
        assert unsure in reader.get(f"{where}/compare?a=0&b=1").text or sure in texts[0]


def test_two_numbers_are_compared_only_where_their_difference_has_a_margin(app: Any) -> None:
    fields = {"measure": "mode", "rows": "mode"}, {"measure": "median:minutes", "rows": "mode"}
    for asked in fields:
        where = release(visitor(app, "anna"), epsilon="0.05", **asked).split("?")[0]
        for code, verdicts in (("en", "its margin of error<"), ("de", "seiner? Fehlerspanne<")):
            reader = visitor(app)
            reader.get(f"/language/{code}")
            answer = reader.get(f"{where}/compare?a=0&b=1")
            text = answer.text
            assert answer.status_code == 200
            is_known = bool(re.search(r"<dd>± [0-9]", text))
            assert bool(re.search(rf'id="compare-v">[^<]*{verdicts}', text)) is is_known, text
            assert "nan" not in text.split("compare-v")[-1] and "± –" not in text


def test_a_table_of_some_categories_names_them_and_calls_its_total_one_of_shown(app: Any) -> None:
    where = release(visitor(app, "anna"), rows="age", columns="mode", epsilon="0.05", **{"pick.age": "15-24"})
    for code, words, total in (
        ("en", "Covers the records with Age group: 15-24, and with a declared value", "Total of shown"),
        ("de", "Umfasst die Datensätze mit Age group: 15-24 und mit einem", "Summe der gezeigten"),
    ):
        reader = visitor(app)
        reader.get(f"/language/{code}")
        text = reader.get(where.split("?")[0]).text
        assert words in text and len(re.findall(rf'class="total"[^>]*>{total}<', text)) == 1


def test_a_margin_of_a_percentage_is_never_shown_as_zero(app: Any) -> None:
    where = release(visitor(app, "anna"), rows="mode", columns="age", epsilon="0.5").split("?")[0]
    for show in ("row", "column", "total"):
        for way in ("margin", "interval"):
            text = visitor(app).get(f"{where}?show={show}&as={way}").text
            margins = re.findall(r'class="moe">([^<]+)<', text)
            assert margins and not [m for m in margins if re.search(r"[±<]\s*0[.,]0+\s*%", m)]
            # The whole is 100 % of itself by definition.
            assert not re.search(r'>100\.0\s%</span><span class="moe">', text)


def test_an_approval_card_shows_what_the_asker_can_pay(app: Any) -> None:
    services = app.state.services
    carla, anna = (services.accounts.find(name) for name in ("carla", "anna"))
    services.custody.set_approval(carla, "ridgeford", "0.2")
    try:
        page = visitor(app, "carla").get("/custodian/budget/ridgeford").text
        assert "Now: releases above ρ = 0.2 need an approval." in page
        assert "nothing was charged to another account" in page
        request = {
            "dataset": "commuters",
            "table": {"rows": ["age"]},
            "privacy": {"definition": "pure", "epsilon": "0.66"},
        }
        services.custody.set_quota(carla, "ridgeford", "anna", "0.5", "0")
        job = services.releasing.submit(anna, "commuters", request).id
        for _ in range(200):
            if services.custody.approvals(carla):
                break
            time.sleep(0.02)
        card = visitor(app, "carla").get("/custodian/approvals").text
        assert "Quota of the asker" in card and "of 0.5 left" in card and "even if you approve" not in card
        services.custody.set_quota(carla, "ridgeford", "anna", "0.1", "0")
        card = visitor(app, "carla").get("/custodian/approvals").text
        assert "even if you approve" in card and re.search(r'value="approve" type="submit" disabled', card)
        services.custody.refuse(carla, job)
    finally:
        services.custody.set_quota(carla, "ridgeford", "anna", "0.5", "0")
        services.desk.ledger.declarations.approval("ridgeford", None, by="test")


def test_fewer_approvals_are_proposed_on_the_page_and_said_there(app: Any) -> None:
    services, carla = app.state.services, visitor(app, "carla")
    services.desk.ledger.declarations.approval("ridgeford", "0.3", by="test")
    try:
        form = {"csrf": token(carla, "/account"), "above": ""}
        answer = carla.post("/custodian/budget/ridgeford/approval", data=form)
        page = carla.get(answer.headers["location"]).text
        assert "takes effect when a second custodian sets the same" in page
        assert "carla proposes that no release needs an approval." in page and "confirm-approval" not in page
    finally:
        services.desk.ledger.declarations.approval("ridgeford", None, by="test")
        services.store.write("DELETE FROM proposals")


def test_a_reader_sees_the_price_and_is_asked_to_sign_in_only_to_release(app: Any) -> None:
    address = TABLE.replace("epsilon=0.5", "epsilon=0.0123")
    text = visitor(app).get(address).text
    assert "Margin of error" in text and "sign-in-to-release" in text and 'id="release"' not in text
    assert "Quota left" not in text and 'id="save"' not in text
    auditor = visitor(app, "otto").get(address).text
    assert "Margin of error" in auditor and "it does not release" in auditor and 'id="release"' not in auditor


def test_a_stored_batch_is_shown_table_by_table(app: Any) -> None:
    curator = app.state.services.desk.find("commuters").curator
    made = curator.release(
        {
            "table": [
                {"rows": ["mode"], "title": "Everybody"},
                {"rows": ["age"], "where": {"mode": "car"}, "title": "Drivers"},
            ],
            "privacy": {"definition": "pure", "epsilon": "0.01"},
        },
        analyst="anna",
    )
    client, place = visitor(app, "anna"), f"/r/{made.provenance.ledger_entry}"
    first, second = client.get(place).text, client.get(f"{place}?member=2").text
    assert "<h1>Everybody</h1>" in first and "<h1>Drivers</h1>" in second
    assert "one of 2 tables of a batch" in first and f"{place}?member=2" in first
    for path in ("/independence", "/compare", "/cite"):
        assert client.get(f"{place}{path}?member=2").status_code == 200
    assert "Los aus 2 Tabellen" in client.get("/tables", headers={"accept-language": "de"}).text
    assert client.get(f"{place}.csv").text.count("Drivers") > 1
    several = {"table": [{"rows": ["mode"]}, {"rows": ["age"]}], "privacy": {"definition": "pure", "epsilon": "0.01"}}
    # A batch that was sent over HTTP is among one's own jobs; the builder cannot edit it.
    job = app.state.services.releasing.submit(User("anna", Role.ANALYST), "commuters", several)
    assert client.get(f"/jobs/{job.id}").status_code in (200, 303)
    assert "Batch of 2 tables" in client.get("/mine").text
    with pytest.raises(DocumentError, match="dalenius release"):
        app.state.services.releasing.save(User("anna", Role.ANALYST), "both", "commuters", several)
