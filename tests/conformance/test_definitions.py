"""Every definition the registry finds: monotone, the whole costs at least its parts, order does not matter."""

import pytest

from dalenius.core import registry
from dalenius.testing import definition_kit

JUDGED = [name for name, kind in registry.every("definitions").items() if definition_kit.is_judged(kind())]


@pytest.mark.parametrize("name", JUDGED)
def test_a_definition_composes(name: str) -> None:
    assert definition_kit.check(registry.get("definitions", name))


def test_the_usual_definitions_are_judged() -> None:
    assert {"pure", "approximate", "zero_concentrated"} <= set(JUDGED)
