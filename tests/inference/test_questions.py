"""Every question that the registry finds is declared in full, answers its examples alike by library and verb, and is one file."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from dalenius.cli.infer import app
from dalenius.core.estimate import plain_values
from dalenius.core.law import Withheld
from dalenius.errors import DaleniusError
from dalenius.inference.question import REQUIRED, Hint, InferenceQuestion, every_question
from dalenius.publish.to_json import write_json
from dalenius_lab.planting import planted

RUNNER = CliRunner()
TABLE = np.array([[[60, 20], [31, 44]], [[25, 33], [12, 70]]])
QUESTIONS = every_question()
EXAMPLES = [
    pytest.param(question, example, id=f"{name} {number}")
    for name, question in QUESTIONS.items()
    for number, example in enumerate(question.examples)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, laplace, make_release) -> Path:
    place = tmp_path_factory.mktemp("questions")
    (place / "release.json").write_bytes(write_json(make_release(TABLE, laplace("1"))))
    (place / "again.json").write_bytes(write_json(make_release(TABLE + 1, laplace("1"))))
    return place


def options(question: InferenceQuestion, example: Mapping[str, Any]) -> list[str]:
    """An example as somebody types it."""
    words: list[str] = []
    for parameter in question.parameters:
        value = example.get(parameter.name)
        spelled = (parameter.hint.options or (f"--{parameter.name}",))[0].partition("/")[0]
        if value is None:
            continue
        if parameter.hint.is_positional:
            words.append(str(value))
        elif parameter.is_selection:
            words += [w for axis, ls in value.items() for label in ls for w in (spelled, f"{axis}={label}")]
        elif isinstance(value, tuple):
            words += [word for item in value for word in (spelled, str(item))]
        else:
            words += [spelled] if value is True else [spelled, str(value)]
    return words


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_a_question_declares_itself(question: InferenceQuestion) -> None:
    assert question.examples and question.assumes
    assert question.help.endswith(".") and len(question.help) < 100
    for parameter in question.parameters:
        assert isinstance(parameter.hint, Hint) and parameter.hint.help
        assert parameter.key != "method", "a document names the question by this key"
        if parameter.hint.choices and parameter.default is not REQUIRED:
            assert parameter.default in parameter.hint.choices
    assert question.is_simulated == any(p.name == "replicates" for p in question.parameters)
    verbs = [verb for other in QUESTIONS.values() for verb in other.verbs]
    assert len(verbs) == len(set(verbs))


@pytest.mark.parametrize("question, example", EXAMPLES)
def test_library_and_verb_give_the_same_answer(
    question: InferenceQuestion, example: Mapping[str, Any], folder: Path, laplace, make_release
) -> None:
    several = [make_release(TABLE + i, laplace("1")) for i in range(2)]
    is_several = question.name == "combine"
    answer = question.answer(several if is_several else several[0], **example)
    also = ["--also", str(folder / "again.json")] if is_several else []
    words = [question.verbs[0], str(folder / "release.json"), *options(question, example), *also, "--json"]
    done = RUNNER.invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == json.loads(json.dumps(plain_values(answer.to_dict())))
    assert str(answer)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=list(QUESTIONS))
def test_a_withheld_law_is_refused(question: InferenceQuestion, make_release) -> None:
    hidden = make_release(TABLE, Withheld("depends on data"))
    release: Any = [hidden, hidden] if question.name == "combine" else hidden
    with pytest.raises(DaleniusError):
        question.answer(release, **question.examples[0])


def test_both_names_of_a_question_are_verbs(folder: Path) -> None:
    texts = [
        RUNNER.invoke(app, [verb, str(folder), "-a", "B", "--replicates", "99"]).output
        for verb in ("gof", "goodness-of-fit")
    ]
    assert texts[0] == texts[1] and "At 5 %" in texts[0]


def test_cells_of_several_labels_and_their_refusal(folder: Path, make_release, laplace) -> None:
    words = ["total", str(folder), "--first", "A=a0", "--first", "A=a1", "--first", "B=b0", "--json"]
    found = json.loads(RUNNER.invoke(app, words).output)
    assert found["value"] == TABLE[:, 0].sum()
    whole = json.loads(RUNNER.invoke(app, ["total", str(folder), "--json"]).output)
    assert whole["value"] == TABLE.sum()
    with pytest.raises(DaleniusError, match="axis=label"):
        RUNNER.invoke(app, ["total", str(folder), "--first", "a0"], catch_exceptions=False)


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


def test_a_new_question_is_one_file(folder: Path) -> None:
    with planted("inference.questions", "largest", QUESTION):
        assert "The largest released value." in RUNNER.invoke(app, ["--help"]).output
        done = RUNNER.invoke(app, ["largest", str(folder), "--times", "2", "--json"])
        assert json.loads(done.output)["value"] == 140
        assert RUNNER.invoke(app, ["largest", str(folder), "--times", "10"]).exit_code == 2
    assert RUNNER.invoke(app, ["largest", str(folder)]).exit_code == 2
