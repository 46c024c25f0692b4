"""Every inference question the registry finds: declared in full, refused for a withheld law, right as often as it says."""

import pytest

from dalenius.core import registry
from dalenius.testing import inference_kit


@pytest.mark.parametrize("name", registry.names("inference.questions"))
def test_answers_are_right_as_often_as_they_say(name: str) -> None:
    inference_kit.check(registry.get("inference.questions", name))
