"""Dataset documents: the shape of the issue, every refusal, code lists from files."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from dalenius.core.neighbours import Relation
from dalenius.errors import DaleniusError, DocumentError, ParameterError, RequestError, TooLarge, UnknownName
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.load import load_dataset

TEXT = """
[dataset]
name = "military-2010"
population = "us-active-duty"
version = "2010-1"
source = "military.parquet"
[unit]
relation = "replace"
id = "person"
max_rows = 4
[variables.branch]
label = "Branch of service"
categories = ["army", "navy", "air force", "marine corps"]
unseen = "army"
[variables.branch.hierarchies.place]
land = ["army"]
other = ["navy", "air force", "marine corps"]
[variables.income]
bounds = [0, 200000]
step = 0.1
missing = 0
outside = "drop"
[[structural_zeros]]
branch = ["army", "navy"]
"""


def plain(**variable: Any) -> dict[str, Any]:
    return {"dataset": {"name": "d", "population": "p"}, "variables": {"x": variable}}


def test_the_declared_domain() -> None:
    domain = load_dataset(TEXT).domain()
    assert (domain.name, domain.population, domain.version) == ("military-2010", "us-active-duty", "2010-1")
    assert domain.neighbours.relation is Relation.REPLACE
    assert (domain.neighbours.unit, domain.neighbours.max_rows, domain.unit_id) == ("person", 4, "person")
    branch = domain.variable("branch")
    assert branch.categories.labels == ("army", "navy", "air force", "marine corps")
    assert branch.categories.unseen == "army"
    assert branch.hierarchy("place").parent == (0, 1, 1, 1)
    bounds = domain.variable("income").bounds
    assert bounds.step == Fraction(1, 10)
    assert (bounds.high, bounds.missing_code, bounds.outside) == (2_000_000, 0, "drop")
    assert domain.structural_zeros == ({"branch": ("army", "navy")},)
    assert not domain.is_public


def test_toml_json_and_python_are_the_same(tmp_path: Path) -> None:
    import json

    from dalenius.spec.canonical import digest

    document = load_dataset(TEXT)
    path = tmp_path / "dataset.json"
    path.write_text(json.dumps(document.to_dict()))
    assert digest(load_dataset(path)) == digest(document) == digest(load_dataset(document.to_dict()))
    assert load_dataset(path).base == tmp_path


def test_numbers_and_booleans_may_name_categories() -> None:
    document = load_dataset('[dataset]\nname="d"\npopulation="p"\n[variables.x]\ncategories=[1, 2.0, true, "z"]\n')
    assert document.domain().variable("x").categories.labels == ("1", "2", "true", "z")


def test_code_lists_and_hierarchies_from_files(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "region.csv").write_text("code,label\n01,North\n02,South\n03,\n")
    (tmp_path / "lists" / "levels.csv").write_text("code,half,all\n01,upper,land\n02,lower,land\n03,lower,land\n")
    (tmp_path / "dataset.toml").write_text(
        '[dataset]\nname="d"\npopulation="p"\n[variables.region]\n'
        'categories_file = "lists/region.csv"\nhierarchies_file = "lists/levels.csv"\n'
    )
    region = load_dataset(tmp_path / "dataset.toml").domain().variable("region")
    assert region.categories.labels == ("North", "South", "03")
    assert region.categories.texts == ("01", "02", "03")
    assert region.categories.code("02") == region.categories.code("South") == 1
    assert region.hierarchy("half").groups == ("upper", "lower")
    assert region.hierarchy("all").parent == (0, 0, 0)


REFUSED: list[tuple[dict[str, Any], type[DaleniusError], str]] = [
    (plain(categoris=["a"]), DocumentError, "Did you mean 'categories'"),
    (plain(categories=[]), DocumentError, "empty"),
    (plain(categories=["a", "a"]), DocumentError, "twice"),
    (plain(categories=[1, "1"]), DocumentError, "twice"),
    (plain(categories=[1, 1.0]), DocumentError, "twice"),
    (plain(categories=[None]), DocumentError, "category"),
    (plain(categories=["a"], bounds=[0, 1]), DocumentError, "either"),
    (plain(), DocumentError, "either"),
    (plain(bounds=[0, 1]), DocumentError, "step"),
    (plain(bounds=[0, float("nan")], step=1), DocumentError, "finite"),
    (plain(bounds=[0, float("inf")], step=1), DocumentError, "finite"),
    (plain(bounds=[False, True], step=1), DocumentError, "number"),
    (plain(bounds=[0, "many"], step=1), DocumentError, "number"),
    (plain(bounds=[0], step=1), DocumentError, "bounds"),
    (plain(bounds=[1, 0], step=1), ParameterError, "lower, upper"),
    (plain(bounds=[0, 1], step=0), ParameterError, "positive"),
    (plain(bounds=[0, 1], step=-1), ParameterError, "positive"),
    (plain(bounds=[0, 1], step="0.3"), ParameterError, "multiples"),
    (plain(bounds=[0, 10**30], step=1), TooLarge, "2^52"),
    (plain(bounds=[0, 1], step=1, missing="none"), ParameterError, "missing"),
    (plain(bounds=[0, 1], step=1, missing=7), ParameterError, "inside"),
    (plain(bounds=[0, 10], step=2, missing=1), DocumentError, "multiple"),
    (plain(bounds=[0, 1], step=1, outside="explode"), DocumentError, "clamp"),
    (plain(categories=["a"], missing_codes=["a"]), DocumentError, "is a category"),
    (plain(categories=["a"], missing_codes=[9, "9"]), DocumentError, "twice"),
    (plain(bounds=[0, 1], step=1, missing_codes=[9, 9.0]), DocumentError, "twice"),
    (plain(bounds=[0, 1], step=1, missing_codes=["none"]), ParameterError, "missing_codes"),
    (plain(bounds=[0, 1], step=1, missing_codes=[10**30]), TooLarge, "2^52"),
    (
        plain(categories=["a"], missing_codes=[9], lookup={"entries": [["k", "a"]], "unmatched": "drop"}),
        DocumentError,
        "unmatched",
    ),
    (plain(categories=["a"], unseen="b"), UnknownName, "'b'"),
    (plain(categories=["a"], missing="b"), UnknownName, "'b'"),
    (plain(categories=["a"], step=1), DocumentError, "bounds"),
    (plain(categories=["a", "b"], hierarchies={"l": {"g": ["a"]}}), DocumentError, "'b'"),
    (plain(categories=["a"], hierarchies={"l": {"g": ["a"], "h": ["a"]}}), DocumentError, "two groups"),
    (plain(categories={"1": "one", "2": "one"}), DocumentError, "twice"),
    (plain(categories={"1": "2", "2": "x"}), DocumentError, "label of another"),
    (plain(categories=["a"], confirmed="yes"), DocumentError, "confirmed"),
    ({"dataset": {"name": "d"}, "variables": {"x": {"categories": ["a"]}}}, DocumentError, "population"),
    ({"dataset": {"name": "d", "population": "p"}, "variables": {}}, DocumentError, "variables"),
    ({"dataset": {"name": "d", "population": "p"}}, DocumentError, "variables"),
    ({**plain(categories=["a"]), "unit": {"max_rows": 0}}, DocumentError, "max_rows"),
    ({**plain(categories=["a"]), "unit": {"max_rows": True}}, DocumentError, "max_rows"),
    ({**plain(categories=["a"]), "unit": {"max_rows": 2}}, DocumentError, "id"),
    ({**plain(categories=["a"]), "unit": {"relation": "swap"}}, DocumentError, "add-remove"),
    ({**plain(categories=["a"]), "structural_zeros": [{"y": ["a"]}]}, UnknownName, "'y'"),
    ({**plain(categories=["a"]), "structural_zeros": [{"x": ["b"]}]}, UnknownName, "'b'"),
    ({**plain(categories=["a"]), "structural_zeros": [{}]}, DocumentError, "at least one"),
    ({**plain(categories=["a"]), "extra": 1}, DocumentError, "'extra'"),
]


@pytest.mark.parametrize(
    ("content", "error", "words"), REFUSED, ids=[w + str(i) for i, (_, _, w) in enumerate(REFUSED)]
)
def test_refusals_say_what_was_wrong(content: dict[str, Any], error: type[DaleniusError], words: str) -> None:
    with pytest.raises(error, match=words.replace("^", r"\^")) as caught:
        load_dataset(content)
    assert isinstance(caught.value, RequestError)
    assert caught.value.exit_code == 2


def test_documents_are_frozen() -> None:
    document = load_dataset(TEXT)
    with pytest.raises(Exception, match="frozen"):
        document.dataset.name = "other"  # type: ignore[misc]
    assert isinstance(document, DatasetDocument)
