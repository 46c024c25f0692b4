"""Inference on a release for pages and API: the library's own functions, named, with their results as plain values."""

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from dalenius.core.release import Release, Table
from dalenius.core.tabulation import bounds, tidy
from dalenius.errors import ParameterError, RequestError, TooLarge, UnknownName

_MOST_CELLS = 20_000
_AT_ONCE = threading.BoundedSemaphore(2)

Options = Mapping[str, Any]


def _table(release: Release, names: tuple[str, ...]) -> Table:
    return release.margin(*names) if names else release.table


def _interval(release: Release, names: tuple[str, ...], confidence: float, options: Options) -> Any:
    table = _table(release, names)
    lower, upper = bounds(release, table, confidence)
    cells = table.space.labels() or [()]
    return {
        "axes": [axis.name for axis in table.space.axes],
        "confidence": confidence,
        "kind": "population value (privacy noise only)",
        "cells": [
            {"labels": list(labels), "value": tidy(v), "lower": tidy(a), "upper": tidy(b)}
            for labels, v, a, b in zip(
                cells, table.values.tolist(), lower.tolist(), upper.tolist(), strict=True
            )
        ],
    }


def _independence(release: Release, names: tuple[str, ...], confidence: float, options: Options) -> Any:
    from dalenius.inference.independence import independence

    method = str(options.get("method", "monte-carlo"))
    replicates = options.get("replicates", 999)
    if isinstance(replicates, bool) or not isinstance(replicates, int) or not 99 <= replicates <= 9999:
        raise ParameterError("replicates must be a whole number from 99 to 9999.")
    return independence(release, *names, method=method, replicates=replicates)


METHODS: dict[str, tuple[str, Callable[[Release, tuple[str, ...], float, Options], Any]]] = {
    "interval": ("Confidence interval of each cell's population value", _interval),
    "independence": ("Test that the axes of a table are independent", _independence),
}


def infer(
    release: Release, method: str, names: tuple[str, ...], confidence: float, options: Options
) -> dict[str, Any]:
    """Run one method; at most two at a time in each worker, because some of them simulate."""
    if method not in METHODS:
        raise UnknownName.among("method", method, METHODS)
    if release.table.space.size > _MOST_CELLS:
        raise TooLarge(
            f"The server computes on tables of at most {_MOST_CELLS:,} cells; download the release and use the library.",
            limit=_MOST_CELLS,
        )
    known = {axis.name for table in release.tables for axis in table.space.axes}
    for name in names:
        if name not in known:
            raise UnknownName.among("axis", name, known)
    with _AT_ONCE:
        try:
            found = METHODS[method][1](release, names, confidence, options)
        except (ValueError, ArithmeticError, IndexError, KeyError, TypeError) as error:
            raise RequestError(
                f"{method} cannot be computed from this table ({type(error).__name__})."
            ) from None
    return {"method": method, "result": plain(found)}


def plain(value: Any) -> Any:
    """JSON-able: infinite and missing numbers become text and null."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else (None if math.isnan(value) else str(value))
    return value if isinstance(value, str | int | bool | None) else str(value)
