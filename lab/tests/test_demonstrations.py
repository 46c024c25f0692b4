"""Every attack that can be shown succeeds on a broken server and gains no more than was guaranteed on ours."""

import json

import pytest
from typer.testing import CliRunner

from dalenius.cli.main import app
from dalenius_lab.demonstration import attacks, demonstrate

ATTACKS = (
    "averaging",
    "cell_key",
    "clamp",
    "differencing",
    "floating_point",
    "outsider",
    "reconstruction",
    "tracker",
    "two_custodians",
)


def test_every_attack_is_found() -> None:
    assert attacks() == ATTACKS


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_breaks_the_broken_and_not_ours(name: str) -> None:
    *broken, ours = demonstrate(name)
    assert all(result.succeeded for result in broken)
    assert not ours.succeeded


def test_every_wording_of_one_question_has_one_answer() -> None:
    *_, ours = demonstrate("averaging")
    assert ours.advantage == 0
    assert ours.details["error_of_one"] > 0


def test_two_accounts_keep_the_sum_of_their_guarantees_and_no_less() -> None:
    _, two, one = demonstrate("two_custodians")
    # Where both answers agree they are right with odds e^2 : 1, and e : 1 where both share one account.
    assert two.details["right"] == pytest.approx(0.8808, abs=0.02)
    assert one.details["right"] == pytest.approx(0.7311, abs=0.03)


def test_the_verb_shows_the_attacks_by_name() -> None:
    runner = CliRunner()
    assert runner.invoke(app, ["attack", "--list"]).output.split() == list(ATTACKS)
    answer = json.loads(runner.invoke(app, ["attack", "tracker", "--json"]).output)
    assert [result["succeeded"] for result in answer["tracker"]] == [True, False]
    assert "succeeds" in runner.invoke(app, ["attack", "differencing"]).output
    refusal = runner.invoke(app, ["attack", "nothing"])
    assert refusal.exit_code != 0
    assert "averaging" in str(refusal.exception)
