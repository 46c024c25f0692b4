"""The page of keys says what the code says."""

from tools.keys_page import ERROR_ONLY, PLACE, WHEN, page

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
    assert set(WHEN) == set(fields) - {"keys"}


def test_there_are_at_most_fifty_names_each_with_one_meaning_one_type_and_one_default() -> None:
    """Keys of a measure, of a modifier and of every table together."""
    found: dict[str, set[tuple[str, str, str]]] = {}
    shared = {name: field for name, field in TablePart.model_fields.items() if name != "keys"}
    for fields in (shared, *(method.Parameters.model_fields for method in registry.own("methods").values())):
        for name, field in fields.items():
            said = str(field.annotation), repr(field.get_default(call_default_factory=True)), field.description or ""
            found.setdefault(name, set()).add(said)
    assert len(found) <= 50, sorted(found)
    assert {name: said for name, said in found.items() if len(said) > 1} == {}
