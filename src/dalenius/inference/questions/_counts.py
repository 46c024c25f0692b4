"""What questions about a model of counts declare alike."""

from collections.abc import Callable, Mapping
from typing import Any

from dalenius.inference.parameters import COUNTS
from dalenius.inference.question import InferenceQuestion


def about_counts(
    ask: Callable[..., Any], *examples: Mapping[str, Any], assumes: tuple[str, ...] = (), **stated: Any
) -> InferenceQuestion:
    """The question named after the function that answers it; `assumes` is what it stands on beside the usual."""
    return InferenceQuestion(name=ask.__name__, ask=ask, assumes=(COUNTS, *assumes), examples=examples, **stated)
