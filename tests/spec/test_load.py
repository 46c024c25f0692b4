"""Reading documents: files that are not there, bad syntax, the wrong kind."""

from decimal import Decimal
from pathlib import Path

import pytest

from dalenius.demo import population
from dalenius.errors import DocumentError, RequestError
from dalenius.spec.load import dataset_of, load_any, load_dataset, load_policy, load_request, read_mapping


def test_floats_are_read_as_the_decimals_they_are_written_as() -> None:
    content, _ = read_mapping("x = 0.1\n")
    assert content == {"x": Decimal("0.1")}
    assert read_mapping('{"x": 0.1}')[0] == {"x": Decimal("0.1")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a = 1\na = 2\n", "line 2"),
        ("a = [1,\n", "TOML"),
        ('{"a": 1,}', "JSON"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": ' + "[" * 100_000, "could not be read|JSON"),
        ("\n[dataset]\nname = 1\n", "dataset.name"),
    ],
)
def test_bad_syntax(text: str, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        load_dataset(text)


def test_files(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="There is no dataset document"):
        load_dataset(tmp_path / "none.toml")
    with pytest.raises(DocumentError, match="could not be read"):
        load_dataset(tmp_path)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DocumentError, match="UTF-8"):
        load_dataset(tmp_path / "binary.toml")
    (tmp_path / "list.json").write_text("[1, 2]")
    with pytest.raises(DocumentError, match="table of keys"):
        load_any(tmp_path / "list.json")


def test_wrong_kind(tmp_path: Path) -> None:
    path = population.materialise(tmp_path)
    with pytest.raises(DocumentError, match="looks like a dataset document"):
        load_request(path)
    with pytest.raises(DocumentError, match="looks like a request document"):
        load_dataset(path.parent / "request.toml")
    with pytest.raises(DocumentError, match="looks like a dataset document"):
        load_policy(path)
    with pytest.raises(DocumentError, match="was expected"):
        load_policy(load_dataset(path))
    with pytest.raises(DocumentError, match="received int"):
        load_policy(3)  # type: ignore[arg-type]
    assert [load_any(path.parent / f"{n}.toml").kind for n in ("dataset", "request", "policy")] == [
        "dataset document",
        "request document",
        "policy document",
    ]
    with pytest.raises(RequestError):
        load_any({"nothing": 1})
    request = path.parent / "request.toml"
    assert dataset_of(load_request(request), request) == path
