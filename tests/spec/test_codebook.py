"""Codebooks and code lists: read as they stand, found by their names, refused in words."""

from pathlib import Path

import pytest

from dalenius.errors import DocumentError
from dalenius.spec.codebook import find_codebook, read_code_list, read_codebook

BOOK = 'variable,code,label\nsex,0,male\nsex,1,female\neduc,1,"None, or less"\n'


def test_labels_stand_by_code_and_variable(tmp_path: Path) -> None:
    (tmp_path / "codebook.csv").write_text(BOOK)
    assert read_codebook(tmp_path / "codebook.csv") == {
        "sex": {"0": "male", "1": "female"},
        "educ": {"1": "None, or less"},
    }


def test_a_code_list_is_of_one_variable(tmp_path: Path) -> None:
    (tmp_path / "regions.csv").write_text("code,label\n01,North\n02,\n")
    assert read_code_list(tmp_path / "regions.csv") == {"01": "North", "02": "02"}


@pytest.mark.parametrize(
    ("data", "book", "is_found"),
    [
        ("survey_2024.csv", "codebook.csv", True),
        ("survey_2024.csv", "survey_codebook.csv", True),
        ("survey_2024.csv.gz", "survey_2024_codebook.csv", True),
        ("survey_2024.csv", "census_codebook.csv", False),
        ("survey_2024.csv", "survey_labels.csv", False),
    ],
)
def test_a_codebook_is_found_by_its_name(data: str, book: str, is_found: bool, tmp_path: Path) -> None:
    (tmp_path / book).write_text(BOOK)
    assert (find_codebook(tmp_path / data, ["sex", "age"]) is not None) is is_found
    assert find_codebook(tmp_path / data, ["age"]) is None


@pytest.mark.parametrize(
    "text", ["a,b,c\n1,2,3\n", "variable,code,label\n", "variable,code,label\nx,1\n", BOOK + "sex,1,x\n"]
)
def test_what_is_no_codebook_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "codebook.csv").write_text(text)
    with pytest.raises(DocumentError):
        read_codebook(tmp_path / "codebook.csv")
    assert find_codebook(tmp_path / "survey.csv", ["sex"]) is None
