"""The examples in the documentation are documents."""

import re
from pathlib import Path

import pytest

from dalenius.spec.load import load_any

DOCS = Path(__file__).parents[2] / "docs"
BLOCKS = re.findall(r"```toml\n(.*?)```", (DOCS / "reference" / "documents.md").read_text(encoding="utf-8"), re.S)


@pytest.mark.parametrize(("text", "kind"), list(zip(BLOCKS, ("dataset", "request", "batch", "policy"), strict=True)))
def test_reference_examples(text: str, kind: str) -> None:
    assert load_any(text).kind == f"{kind} document"
