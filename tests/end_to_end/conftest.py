"""A small registered data set, as a custodian would lay it out."""

from pathlib import Path

import pytest

DATASET = """
[dataset]
name = "staff"
population = "staff-of-one-office"
version = "1"
source = "staff.csv"
public = true

[unit]
relation = "add-remove"

[variables.grade]
label = "Grade"
categories = ["junior", "senior", "chief"]

[variables.branch]
categories = ["north", "south"]

[variables.gender]
categories = ["female", "male"]
missing = "female"
"""

REQUEST = """
dataset = "dataset.toml"
[table]
rows = ["grade"]
columns = ["branch"]
where = { gender = ["female"] }
measure = "count"
[privacy]
definition = "pure"
epsilon = 1
"""


def rows() -> list[str]:
    lines = ["grade,branch,gender"]
    for i in range(200):
        lines.append(
            f"{('junior', 'senior', 'chief')[i % 7 % 3]},{('north', 'south')[i % 2]},{('female', 'male', '')[i % 3]}"
        )
    return lines


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A folder with dataset.toml, request.toml and staff.csv."""
    (tmp_path / "dataset.toml").write_text(DATASET)
    (tmp_path / "request.toml").write_text(REQUEST)
    (tmp_path / "staff.csv").write_text("\n".join(rows()) + "\n")
    return tmp_path
