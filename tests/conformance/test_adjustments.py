"""Every adjustment the registry finds: what was measured stays, what was done is recorded, a bias is declared."""

import pytest

from dalenius.core import registry
from dalenius.testing import adjustment_kit


@pytest.mark.parametrize("name", registry.names("postprocess"))
def test_an_adjustment_is_recorded_and_declares_its_bias(name: str) -> None:
    assert adjustment_kit.check(registry.get("postprocess", name))
