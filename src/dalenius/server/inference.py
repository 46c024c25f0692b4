"""Inference on a release for pages and API: the library's own functions, named, with their results as plain values.

Selections (`first`, `second`) name cells by axis and labels. Methods that simulate take a bounded number of replicates, and
at most two run at a time in each worker.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dalenius.core.estimate import plain_values
from dalenius.core.release import Release
from dalenius.errors import ParameterError, RequestError, TooLarge, UnknownName
from dalenius.server.errors import TooManyRequests

SIMULATED = ("independence", "homogeneity", "goodness_of_fit", "cramers_v")
_MOST_CELLS = 20_000
_MOST_SIMULATED = 5_000_000
_PATIENCE = 3.0
_AT_ONCE = threading.BoundedSemaphore(2)
Selection = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of a release."""

    names: tuple[str, ...] = ()
    confidence: float = 0.95
    first: Selection = field(default_factory=dict)
    second: Selection = field(default_factory=dict)
    method: str = "monte-carlo"
    replicates: int = 999

    @property
    def pair(self) -> tuple[str, str]:
        """The two axes of a two-way question; empty for the table's own."""
        if self.names and len(self.names) != 2:
            raise ParameterError("Name the two axes of the table, or none for the first two.")
        return (self.names[0], self.names[1]) if self.names else ("", "")


def _interval(release: Release, asked: Question) -> Any:
    from dalenius.inference import intervals

    return intervals(release, *asked.names, confidence=asked.confidence)


def _independence(release: Release, asked: Question) -> Any:
    from dalenius.inference import independence

    return independence(release, *asked.names, method=asked.method, replicates=asked.replicates)


def _homogeneity(release: Release, asked: Question) -> Any:
    from dalenius.inference import homogeneity

    if len(asked.names) != 2:
        raise ParameterError("Name two axes: the groups, then the outcome.")
    return homogeneity(release, *asked.names, method=asked.method, replicates=asked.replicates)


def _goodness_of_fit(release: Release, asked: Question) -> Any:
    from dalenius.inference import goodness_of_fit

    return goodness_of_fit(release, None, *asked.names, method=asked.method, replicates=asked.replicates)


def _cramers_v(release: Release, asked: Question) -> Any:
    from dalenius.inference import cramers_v

    return cramers_v(release, *asked.pair, confidence=asked.confidence, replicates=min(asked.replicates, 999))


def _odds_ratio(release: Release, asked: Question) -> Any:
    from dalenius.inference import odds_ratio

    return odds_ratio(release, *asked.pair, confidence=asked.confidence)


def _total(release: Release, asked: Question) -> Any:
    from dalenius.inference import total

    return total(release, asked.first, confidence=asked.confidence)


def _difference(release: Release, asked: Question) -> Any:
    from dalenius.inference import difference

    return difference(release, asked.first, asked.second, confidence=asked.confidence)


def _proportion(release: Release, asked: Question) -> Any:
    from dalenius.inference import proportion

    return proportion(release, asked.first, asked.second or None, confidence=asked.confidence)


def _ratio(release: Release, asked: Question) -> Any:
    from dalenius.inference import ratio

    return ratio(release, asked.first, asked.second, confidence=asked.confidence)


METHODS: dict[str, tuple[str, Callable[[Release, Question], Any]]] = {
    "interval": ("Confidence interval of each cell's population value", _interval),
    "independence": ("Test that the axes of a table are independent", _independence),
    "homogeneity": ("Test that an outcome is distributed alike in all groups", _homogeneity),
    "goodness_of_fit": ("Test that all cells are equally likely", _goodness_of_fit),
    "cramers_v": ("Cramer's V of two axes, corrected for noise", _cramers_v),
    "odds_ratio": ("Odds ratio of the first two labels of two axes", _odds_ratio),
    "total": ("Sum of the cells in `first`", _total),
    "difference": ("Count of `first` minus count of `second`", _difference),
    "proportion": ("Share of `first` in `second`, or in the whole table", _proportion),
    "ratio": ("Count of `first` over count of `second`", _ratio),
}


def infer(release: Release, method: str, asked: Question) -> dict[str, Any]:
    """Run one method on the first table, or on the table over the named axes."""
    if method not in METHODS:
        raise UnknownName.among("method", method, METHODS)
    size = release.table.space.size
    if size > _MOST_CELLS or (method in SIMULATED and size * asked.replicates > _MOST_SIMULATED):
        raise TooLarge(
            f"The server computes on at most {_MOST_CELLS:,} cells, and simulates at most {_MOST_SIMULATED:,} of them;"
            " ask for fewer replicates, or download the release and use the library.",
            limit=_MOST_CELLS,
        )
    known = {axis.name for table in release.tables for axis in table.space.axes}
    for name in (*asked.names, *asked.first, *asked.second):
        if name not in known:
            raise UnknownName.among("axis", name, known)
    if not _AT_ONCE.acquire(timeout=_PATIENCE):
        raise TooManyRequests("The server is computing for others; ask again in a moment.", retry_after=2)
    try:
        found = METHODS[method][1](release, asked)
    except (ValueError, ArithmeticError, LookupError, TypeError) as error:
        raise RequestError(f"{method} cannot be computed from this table ({type(error).__name__}).") from None
    finally:
        _AT_ONCE.release()
    return {"method": method, "result": plain_values(found.to_dict())}
