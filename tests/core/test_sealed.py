"""An exact value does not show itself, however it is asked."""

import io
import pickle

import numpy as np
import pytest
from rich.console import Console
from rich.pretty import pretty_repr

from dalenius.core.sealed import Sealed
from dalenius.curator.inspection import Confidential
from dalenius.errors import NotPublic

SECRET = 8675309


def inspected(value: object) -> str:
    from rich import inspect

    out = io.StringIO()
    inspect(value, console=Console(file=out, width=200), all=True, private=True, dunder=True, value=True)
    return out.getvalue() + pretty_repr(value) + repr(value) + f"{value!r}"


@pytest.mark.parametrize("content", [SECRET, np.array([SECRET]), {"cell": SECRET}])
def test_no_listing_of_attributes_shows_a_sealed_value(content: object) -> None:
    box = Sealed(content)
    assert str(SECRET) not in inspected(box)
    for name in dir(box):
        try:
            shown = repr(getattr(box, name))
        except NotPublic:
            continue
        assert str(SECRET) not in shown
    with pytest.raises(NotPublic):
        pickle.dumps(box)
    assert box.open_below_the_gate() is content


def test_a_confidential_result_is_revealed_or_printed_under_its_banner_only() -> None:
    result = Confidential("Content of d", {"rows": SECRET})
    shown = [repr(getattr(result, name)) for name in dir(result) if name not in ("__str__",)]
    assert str(SECRET) not in "".join(shown)
    assert "CONFIDENTIAL" in str(result) and result.reveal() == {"rows": SECRET}
    nested = Confidential(
        "Content", {"variables": {"sex": {"valid": 3, "missing": 0}}, "questions": ["Why?"], "scales": [1, 2]}
    )
    assert str(nested).splitlines()[2:] == [
        "  variables:",
        "    sex: valid 3, missing 0",
        "  questions:",
        "    1: Why?",
        "  scales: [1, 2]",
    ]
