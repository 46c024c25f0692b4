"""Every method the registry finds: its errors are judged on simulated releases, by no test of its author."""

from pathlib import Path

import pytest
from verify._known_errors import KNOWN

from dalenius.core import registry
from dalenius.testing import error_kit

RECORD = Path(__file__).parents[2] / "docs" / "decisions" / "0012-kits-judge-errors.md"


@pytest.mark.parametrize("name", registry.names("methods"))
def test_errors_are_what_they_are_stated_to_be(name: str) -> None:
    method = registry.get("methods", name)
    claims = sum(error_kit.claims_error(method, example) for example in method.examples)
    assert error_kit.check(method, KNOWN) == claims
    assert claims or not method.has_error


def test_what_is_not_kept_is_listed_where_it_is_seen() -> None:
    text = RECORD.read_text()
    for name, reasons in KNOWN.items():
        for judgement in reasons:
            assert any(f"| {name}" in line and f"| {judgement}" in line for line in text.splitlines()), (
                name,
                judgement,
            )
