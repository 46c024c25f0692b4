"""A request that was read and written is the same request: a method's own keys keep their one spelling."""

from typing import Any

import pytest

from dalenius.core import registry
from dalenius.errors import DocumentError
from dalenius.spec.request import RequestDocument

EXAMPLES = [
    pytest.param(example, id=f"{name}-{number}")
    for name, method in registry.every("methods").items()
    for number, example in enumerate(method.examples)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_written_request_reads_back_as_itself(example: dict[str, Any]) -> None:
    request = RequestDocument.from_dict(example)
    document = request.to_dict()
    assert "keys" not in document["table"] and RequestDocument.from_dict(document) == request
    assert RequestDocument.from_dict(document).to_dict() == document


def test_keys_cannot_be_written_as_such() -> None:
    with pytest.raises(DocumentError, match="no key 'keys'"):
        RequestDocument.from_dict(
            {"table": {"keys": {"learn": "1/5"}}, "privacy": {"definition": "pure", "epsilon": 1}}
        )
