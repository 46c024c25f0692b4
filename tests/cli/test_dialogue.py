"""Answers from before are taken where what was said before the question is the same, and nowhere else."""

from pathlib import Path

import pytest
import typer

from dalenius.cli.dialogue import Dialogue


def test_an_answer_is_not_taken_for_another_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed: list[str] = []

    def prompt(question: str, **_: object) -> str:
        typed.append(question)
        return "no" if len(typed) > 2 else "yes"

    monkeypatch.setattr(typer, "prompt", prompt)
    file = tmp_path / "answers.json"
    first = Dialogue(file)
    assert [first.ask("Right?", str, about=about) for about in ("job: a, b", "pay: 0 to 9")] == ["yes", "yes"]
    again = Dialogue(file)
    assert again.ask("Right?", str, about="job: a, b") == "yes"
    assert len(typed) == 2
    assert again.ask("Right?", str, about="pay: 0 to 10") == "no"
    assert "0 to 10" not in file.read_text()
