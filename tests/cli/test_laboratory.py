"""Verbs of the laboratory: found by their entry points, and named with how to get them where it is not installed."""

import pytest
from typer.testing import CliRunner

from dalenius.cli import flags
from dalenius.cli.main import app
from dalenius.errors import MissingDistribution


@pytest.fixture
def without_laboratory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flags, "_installed", dict)


def test_verbs_of_the_laboratory_are_listed_and_run() -> None:
    listed = CliRunner().invoke(app, ["--help"]).output
    assert "attack" in listed and "reproduce" in listed
    assert "samples" in CliRunner().invoke(app, ["audit", "--help"]).output
    assert "averaging" in CliRunner().invoke(app, ["attack", "--list"]).output


@pytest.mark.parametrize("words", [name.split(".") for name in flags.LABORATORY], ids=" ".join)
def test_without_the_laboratory_its_verbs_say_how_to_get_it(words: list[str], without_laboratory: None) -> None:
    refused = CliRunner().invoke(app, words).exception
    assert isinstance(refused, MissingDistribution)
    assert refused.exit_code == 2 and "pip install ./lab" in str(refused)


def test_without_the_laboratory_its_verbs_are_not_listed(without_laboratory: None) -> None:
    listed = CliRunner().invoke(app, ["--help"])
    assert listed.exit_code == 0 and "reproduce" not in listed.output


def test_every_verb_of_the_laboratory_is_named() -> None:
    assert set(flags._installed()) == set(flags.LABORATORY)
