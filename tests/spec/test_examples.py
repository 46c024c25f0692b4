"""The examples in the documentation are documents."""

import re
from pathlib import Path

import pytest

from dalenius.spec.load import load_any, load_dataset

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(
    r"```toml\n(.*?)```", (DOCS / "reference" / "documents.md").read_text(encoding="utf-8"), re.S
)


@pytest.mark.parametrize(("text", "kind"), list(zip(BLOCKS, ("dataset", "request", "policy"), strict=True)))
def test_reference_examples(text: str, kind: str) -> None:
    assert load_any(text).kind == f"{kind} document"


def test_the_walk_through_of_describing_data(tmp_path: Path) -> None:
    page = (DOCS / "how-to" / "describe-your-data.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```toml\n(.*?)```", page, re.S)
    (tmp_path / "regions.csv").write_text("code,label\n1,North\n2,South\n99,Unknown\n")
    (tmp_path / "regions_levels.csv").write_text("code,known\n1,yes\n2,yes\n99,no\n")
    further = (
        '[variables.age_group]\ncategories = ["0-14", "15+"]\n'
        '[variables.status]\ncategories = ["single", "married", "widowed", "divorced"]\n'
    )
    (tmp_path / "dataset.toml").write_text("\n".join([*blocks[:3], further, *blocks[3:]]))
    domain = load_dataset(tmp_path / "dataset.toml").domain()
    assert domain.variable("region").categories.unseen == "99"
    assert domain.neighbours.max_rows == 4
    assert len(domain.structural_zeros[0]["status"]) == 3
