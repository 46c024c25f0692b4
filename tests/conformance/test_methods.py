"""Every method the registry finds: words, page, and each example from the plan to the last product."""

from pathlib import Path

import pytest

from dalenius.core import registry
from dalenius.server import messages
from dalenius.spec.method import LANGUAGES
from dalenius.testing import method_kit

PAGES = Path(__file__).parents[2] / "docs" / "reference" / "methods"


def test_methods_speak_the_languages_of_the_server() -> None:
    assert set(LANGUAGES) == set(messages.languages())


@pytest.mark.parametrize("name", registry.names("methods"))
def test_from_the_plan_to_the_last_product(name: str, tmp_path: Path) -> None:
    method = registry.get("methods", name)
    assert method.name == name
    assert method_kit.check(method, tmp_path, PAGES)
