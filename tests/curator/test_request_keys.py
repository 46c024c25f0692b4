"""Every key of a request changes the plan or is refused by name; no method can read around the marks."""

import ast
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import dalenius
from dalenius.core import registry
from dalenius.curator.memo import plan_digest
from dalenius.errors import DaleniusError
from dalenius.spec.document import Part
from dalenius.spec.load import load_dataset, load_policy
from dalenius.spec.request import PrivacyPart, RequestDocument, TablePart
from dalenius.testing import rule_kit
from dalenius.testing.asking import plan_of

DOMAIN = load_dataset(rule_kit.DATASET).domain()
POLICY = load_policy(rule_kit.policy_of(None))

# A sensible value of every key of [table] and [privacy], with what it needs beside it.
TABLE: dict[str, dict[str, Any]] = {
    "rows": {"rows": ["status"]},
    "columns": {"columns": ["status"]},
    "layers": {"layers": ["status"]},
    "where": {"where": {"age": {"at_least": 30}}},
    "measure": {"measure": "median"},
    "of": {"of": "age"},
    "weight": {"weight": "weight"},
    "margins": {"margins": "all"},
    "weights": {"margins": [["sex"], []], "weights": [1, 7]},
    "universe": {"margins": "all", "universe": "complete"},
    "objective": {"margins": [["sex"], []], "weights": [1, 7], "objective": "maximum"},
    "expected": {
        "margins": [["sex"], []],
        "objective": "relative",
        "expected": {"name": "sizes.csv", "public": True, "sha256": "0" * 64, "weights": ["1/100", "1/900"]},
    },
}
PRIVACY: dict[str, dict[str, Any]] = {
    "definition": {"definition": "approximate", "delta": "1e-5"},
    "epsilon": {"epsilon": 3},
    "delta": {"delta": "1e-4"},
    "rho": {"rho": 3},
    "mechanism": {"mechanism": "staircase"},
    "strategy": {"strategy": "split"},
    "group": {"group": 2},
    "waves": {"waves": 2},
    # An accuracy stands in the place of amounts, which every example has.
    "error_at_most": {"error_at_most": 5},
    "in_table": {"error_at_most": 5, "in_table": []},
    "in_cells_of": {"in_cells_of": 77},
    "noise": {
        "definition": "approximate",
        "epsilon": 3,
        "delta": "1e-2",
        "mechanism": "truncated_laplace",
        "noise": {"limit": 9},
    },
}
# Values that no example of a method writes; a method with other keys writes them in its examples.
OWN: dict[str, Any] = {
    "common_weight": "1.5",
    "q": "1/5", "method": "lomax", "bins": [20, 50], "beyond": "1/8", "learn": "1/3", "clamp": "size", "rule": {"p": 25},
    "membership": "public", "declared": ["7"],
    "which": "smallest", "refine": {"half": 7},
    "error": "noise", "other": "weight", "among": ["single"], "per": 50,
    "model": "median", "clip": [0, 50], "blocks": 11, "aggregate": "median", "correction": "none",
    "estimate": "interquartile", "bounds": 3, "replicates": 60,
    "sample": "1/3", "keyed": True, "most": 2,
    "function": "f sha256:0", "seconds": "1/2",
}  # fmt: skip


@cache
def _kept(text: str) -> str | None:
    try:
        plan = plan_of(DOMAIN, RequestDocument.from_dict(json.loads(text)), POLICY)
    except DaleniusError as refusal:
        assert refusal.message
        return None
    return plan_digest(plan, POLICY) + repr(plan.measurements) + repr(plan.preview)


def kept(document: Mapping[str, Any]) -> str | None:
    """What a request would do: laws, everything that is asked of the data, what it weighs; None if it is refused."""
    return _kept(json.dumps(document))


def values_of(method: Any) -> dict[str, Any]:
    """A value of each of a method's own keys: from the list above, or as one of its examples writes it."""
    # Keys of modifiers are written by examples of any method.
    shared = {
        key: value
        for each in registry.every("methods").values()
        for one in each.examples
        for key, value in one["table"].items()
    }
    written = shared | {key: value for example in method.examples for key, value in example["table"].items()}
    return {key: value for key, value in (written | OWN).items() if key in method.Parameters.model_fields}


def keys_of(method: Any, example: Mapping[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(key, part, what it is written with) for every key that a request may write beside an example."""
    own = {key: {key: value} for key, value in values_of(method).items()}
    for part, keys in (("table", TABLE | own), ("privacy", PRIVACY)):
        for key, beside in keys.items():
            if key != "measure" and example[part].get(key) != beside[key]:
                yield key, part, beside


EXAMPLES = [
    pytest.param(method, example, id=f"{name}-{number}")
    for name, method in registry.every("methods").items()
    for number, example in enumerate(method.examples)
]


def test_every_key_of_the_request_document_has_a_value_to_try() -> None:
    assert set(TABLE) | {"keys"} == set(TablePart.model_fields)
    assert set(PRIVACY) == set(PrivacyPart.model_fields)
    for name, method in registry.every("methods").items():
        assert set(values_of(method)) == set(method.Parameters.model_fields), f"no example of {name} writes a key"


@pytest.mark.parametrize(("method", "example"), EXAMPLES)
def test_a_written_key_changes_the_plan_or_is_refused(method: Any, example: dict[str, Any]) -> None:
    """Alone, and with what it needs beside it."""
    for key, part, beside in keys_of(method, example):
        for more in ({key: beside[key]}, beside):
            rest = {name: value for name, value in more.items() if name != key}
            after = kept({**example, part: {**example[part], **more}})
            if after is not None:
                assert after != kept({**example, part: {**example[part], **rest}}), f"{key} changed nothing"


class QuietParameters(Part):
    """One key that no plan reads."""

    colour: str | None = None


def test_a_key_that_no_plan_reads_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a method declares a key and forgets it."""
    monkeypatch.setattr(registry.get("methods", "count"), "Parameters", QuietParameters)
    document = {"table": {"rows": ["sex"], "colour": "red"}, "privacy": {"definition": "pure", "epsilon": 1}}
    with pytest.raises(DaleniusError, match="'colour'"):
        plan_of(DOMAIN, document, POLICY)


def test_no_method_reads_a_request_around_the_marks() -> None:
    """A method sees a question's public attributes only; what it is made of stays with the planner."""
    package = Path(dalenius.__file__).parent
    for path in sorted((package / "methods").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "question":
                assert not node.attr.startswith("_") and node.attr not in ("request", "form"), f"{path}:{node.lineno}"
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("vars", "getattr"):
                first = node.args[0] if node.args else None
                assert not (isinstance(first, ast.Name) and first.id == "question"), f"{path}:{node.lineno}"


def test_a_key_that_needs_another_says_which() -> None:
    request = {
        "table": {"measure": "mean", "of": "age", "beyond": "1/20"},
        "privacy": {"definition": "pure", "epsilon": 1},
    }
    with pytest.raises(DaleniusError, match="It belongs to learn"):
        plan_of(DOMAIN, request, POLICY)
    for method in registry.every("methods").values():
        assert set(getattr(method, "belongs", {})) <= set(method.Parameters.model_fields)
