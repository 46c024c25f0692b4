"""Extensions that are one file each are served by themselves, and are gone with their file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.architecture.plants import METHOD, STATISTIC, STRATEGY
from tests.conformance.unknown_files import ESTIMATORS, METHODS
from tests.server.api.conftest import Site, document, make_users, write_site
from tests.server.api.toys import serving

from dalenius.core import registry
from dalenius.core.estimate import plain_values
from dalenius.publish.to_json import from_json
from dalenius.server.app import create_app
from dalenius.server.config import ServerConfig
from dalenius.server.inference import questions
from dalenius.testing.inference_kit import COUNTS
from dalenius.testing.rule_kit import policy_of
from dalenius_lab.planting import planted


@contextmanager
def opened(folder: Path) -> Iterator[Site]:
    """A site with pages."""
    place = write_site(folder)
    app = create_app(ServerConfig.load(place).model_copy(update={"pages": True}))
    services = app.state.services
    services.desk.register_all(by="test")
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Site(place, services, client, make_users(services.store))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that the tests share."""
    with opened(tmp_path_factory.mktemp("site")) as made:
        yield made


def test_a_new_statistic_is_offered_previewed_and_released(tmp_path: Path) -> None:
    asked = document("40", ["sex"], measure="energy", of="income")
    with (
        planted("statistics", "energy", STATISTIC),
        planted("methods", "energy", METHOD),
        opened(tmp_path / "site") as own,
    ):
        page = own.call("ana", "GET", "/d/towns/table", params={"rows": "sex", "measure": "energy:income"}).text
        assert '<option value="energy:income" selected>Energy of Income</option>' in page
        planned = own.call("ana", "POST", "/api/v1/datasets/towns/plan", json=asked)
        assert planned.status_code == 200, planned.text
        made = own.release("ana", asked)
        assert made.json()["tables"][0]["measure"] == "energy"
        shown = own.call("", "GET", f"/r/{made.headers['content-location'].rpartition('/')[2]}").text
        assert "Energy of Income" in shown


def test_a_new_estimator_is_offered_on_the_page_previewed_and_released(site: Site) -> None:
    asked = {"rows": ["sex"], "measure": "gini", "of": "income"}
    with planted("estimators", "gini", ESTIMATORS["gini"]), planted("methods", "gini", METHODS["gini"]):
        page = site.call("ana", "GET", "/d/towns/table", params={"rows": "sex", "measure": "gini:income"}).text
        assert '<option value="gini:income" selected>Gini index of Income</option>' in page
        document = {"table": asked, "privacy": {"definition": "zero_concentrated", "rho": 40}}
        made = site.release("ana", document)
        assert made.status_code == 200, made.text
        # Incomes are spread evenly from zero: the index is a third.
        assert made.json()["tables"][0]["values"] == pytest.approx([1 / 3, 1 / 3], abs=0.05)
        shown = site.call("", "GET", f"/r/{made.headers['content-location'].rpartition('/')[2]}").text
        assert "Gini index of Income" in shown


def test_a_new_strategy_measures_margins(site: Site) -> None:
    asked = document("0.41", ["town", "sex"], margins="all", universe="complete")
    asked["privacy"]["strategy"] = "last"
    refused = site.release("ana", asked)
    assert refused.status_code == 400
    with planted("plans.margins.strategies", "last", STRATEGY):
        made = site.release("ana", asked)
        assert made.json()["provenance"]["strategy"] == "last"
        assert site.call("", "GET", f"/r/{made.headers['content-location'].rpartition('/')[2]}").status_code == 200


FORMAT = """
    from dalenius.publish import Format

    __all__ = ["SUM"]

    SUM = Format(
        name="sum",
        suffixes=(".sum",),
        media_type="text/x-sum",
        write=lambda release: str(int(release.table.values.sum())),
    )
"""


def test_a_new_format_is_offered_and_sent(site: Site) -> None:
    made = site.release("ana", document("0.31"))
    path = made.headers["content-location"]
    total = str(sum(made.json()["tables"][0]["values"]))
    page = f"/r/{path.rpartition('/')[2]}"
    with planted("publish", "to_sum", FORMAT):
        named = site.call("", "GET", path, params={"format": "sum"})
        accepted = site.call("", "GET", path, headers={"Accept": "text/x-sum"})
        assert named.text == accepted.text == total
        assert named.headers["content-disposition"].endswith('.sum"')
        assert site.call("", "GET", f"{page}.sum").text == total
        assert 'id="download-sum"' in site.call("", "GET", page).text
    assert 'id="download-sum"' not in site.call("", "GET", page).text
    assert site.call("", "GET", path, headers={"Accept": "text/x-sum"}).status_code == 406


def test_tab_separated_text_is_sent(site: Site) -> None:
    path = site.release("ana", document("0.31")).headers["content-location"]
    tabbed = site.call("", "GET", path, headers={"Accept": "text/tab-separated-values"})
    assert tabbed.status_code == 200 and tabbed.text.startswith("town\tvalue\tstd_error")
    assert site.call("", "GET", path).headers["content-type"] == "application/json"


QUESTION = '''
    """The largest released value."""

    from typing import Annotated

    from dalenius.core.estimate import Estimate
    from dalenius.inference.question import Hint, InferenceQuestion

    __all__ = ["LARGEST"]


    def ask(release, times: Annotated[int, Hint(help="A factor.", least=1, most=9)] = 1) -> Estimate:
        """The largest released value."""
        return Estimate(name="largest", value=times * float(release.table.values.max()), std_error=0.0)


    LARGEST = InferenceQuestion(name="largest", ask=ask, assumes=("Nothing.",), examples=({},))
'''


def test_a_new_question_is_listed_described_and_answered(site: Site) -> None:
    made = site.release("ana", document("0.31"))
    path = f"{made.headers['content-location']}/inference"
    with planted("inference.questions", "largest", QUESTION):
        assert site.call("", "GET", "/api/v1/inference").json()["largest"] == "The largest released value."
        described = site.call("", "GET", "/api/v1/inference/largest").json()
        assert described["parameters"]["times"]["maximum"] == 9
        found = site.call("", "POST", path, json={"method": "largest", "times": 2}).json()["result"]
        assert found["value"] == 2 * max(made.json()["tables"][0]["values"])
        for odd in ({"times": 10}, {"times": "x"}, {"replicates": 99}):
            assert site.call("", "POST", path, json={"method": "largest", **odd}).status_code == 400
    assert "largest" not in site.call("", "GET", "/api/v1/inference").json()
    assert site.call("", "POST", path, json={"method": "largest"}).status_code == 400


def test_every_question_is_answered_as_the_library_answers(tmp_path: Path) -> None:
    """Each with its own examples, which are about a table over A, B and C."""
    axes = {name: [f"{name.lower()}{k}" for k in range(2)] for name in "ABC"}
    cells = list(product(*axes.values()))
    rows = [cell for cell, count in zip(cells, COUNTS.ravel(), strict=True) for _ in range(int(count))]
    columns = dict(zip(axes, map(list, zip(*rows, strict=True)), strict=True))
    declared = {
        "dataset": {"name": "kit", "population": "kit", "public": True},
        "variables": {name: {"categories": labels} for name, labels in axes.items()},
    }
    with serving(tmp_path, {"kit": policy_of(None)}, {}, declared, columns) as toys:
        asked = {"table": {"rows": list(axes)}, "privacy": {"definition": "pure", "epsilon": 2}}
        made = toys.post("kit/releases", asked)
        assert made.status_code == 200, made.text
        release, path = from_json(made.content), f"{made.headers['content-location']}/inference"
        for name, question in questions().items():
            keys = {p.name: p.key for p in question.parameters}
            for example in question.examples:
                body = {"method": name, **{keys[key]: value for key, value in example.items()}}
                answer = toys.client.post(path, json=body, headers=toys.headers)
                assert answer.status_code == 200, (body, answer.text)
                expected = plain_values(question.answer(release, **example).to_dict())
                assert answer.json()["result"] == json.loads(json.dumps(expected))


def test_a_question_of_more_axes_than_a_table_has_is_refused(site: Site) -> None:
    path = site.release("ana", document("2", ["town", "sex"])).headers["content-location"]
    answer = site.call("", "POST", f"{path}/inference", json={"method": "conditional_independence"})
    assert answer.status_code == 400 and "three axes" in answer.json()["error"]["message"]


def test_a_key_that_a_question_does_not_read_is_refused(site: Site) -> None:
    path = site.release("ana", document("0.31")).headers["content-location"] + "/inference"
    answer = site.call("", "POST", path, json={"method": "interval", "second": {"town": ["Aby"]}})
    assert answer.status_code == 400 and "second" in answer.json()["error"]["message"]
    assert site.call("", "GET", "/api/v1/inference/binomial").status_code == 400
    assert site.call("", "POST", path, json={"method": "loglinear"}).status_code == 400


def test_a_new_engine_reads_the_file_that_a_served_document_names(tmp_path: Path) -> None:
    asked = {"table": {"rows": ["region"]}, "privacy": {"definition": "pure", "epsilon": 400}}
    with serving(tmp_path, {"toys": policy_of(None)}, {}) as toys:
        assert "columns" in registry.names("engines")
        made = toys.post("toys/releases", asked)
        assert made.json()["tables"][0]["values"] == [9, 9, 9]
