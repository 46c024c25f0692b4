"""Counts seen through noise that is zero but for a chance of 1e-12: answers are those of textbooks."""

import numpy as np
import pytest

from dalenius.core.release import Release
from dalenius.inference.question import every_question

TABLE = np.array([[[60, 20], [31, 44]], [[25, 33], [12, 70]]])


@pytest.fixture(scope="session")
def counts(laplace, make_release) -> Release:
    """A 2 x 2 x 2 table over A, B and C."""
    return make_release(TABLE, laplace("30"))  # type: ignore[no-any-return]


@pytest.fixture(scope="session")
def ask():
    """Ask a question by its name."""
    return lambda name, release, **given: every_question()[name].answer(release, **given)
