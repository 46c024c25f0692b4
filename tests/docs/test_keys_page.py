"""The page of keys says what the code says."""

from tools.keys_page import ERROR_ONLY, PLACE, page

from dalenius.core import registry
from dalenius.spec.request import PrivacyPart, TablePart


def test_the_page_is_made_from_the_code() -> None:
    assert PLACE.read_text() == page(), "run python tools/keys_page.py"


def test_every_key_has_a_meaning_and_one_that_changes_the_error_exists() -> None:
    fields = {**TablePart.model_fields, **PrivacyPart.model_fields}
    for method in registry.own("methods").values():
        fields |= method.Parameters.model_fields
    nameless = [name for name, field in fields.items() if not field.description and name not in ("keys",)]
    assert nameless == []
    assert set(fields) >= ERROR_ONLY
