"""One shape for every refusal that leaves the server, and the refusals that only a server has.

Whatever goes wrong, the body is `{"error": {"code", "message", "detail"}}` with a stable code. An exception that nobody
expected becomes one fixed sentence: its own text may name values, so it is neither sent nor logged.
"""

import json
import traceback
from collections.abc import Mapping
from math import isfinite
from typing import Any

from dalenius.errors import BudgetError, DaleniusError, InternalError, PolicyError, RequestError


class NotSignedIn(PolicyError, code="not_signed_in", http_status=401):
    def __init__(self, message: str = "Sign in, or send an API token.", **detail: object) -> None:
        super().__init__(message, **detail)


class Forbidden(PolicyError, code="forbidden"): ...


class NotReleased(BudgetError, code="not_released"):
    """The one refusal for whatever an analyst may not know: what is left to others, and what others hold back.

    An account that cannot pay and a release that is kept back read the same, so that neither can be told from it.
    """

    def __init__(self) -> None:
        super().__init__(
            "This table cannot be released now: the population's account or a rule of the custodian does not allow it."
            " Nothing was spent. The custodian can say more."
        )


class NotFound(RequestError, code="not_found", http_status=404):
    """Nothing is there, or nothing that this user may know of."""


class StaleRequest(RequestError, code="stale_request", http_status=409):
    """What was sent is not what was previewed: the form, the declaration or the price changed in between."""

    def __init__(self) -> None:
        super().__init__(
            "The table on the screen is not the one that was previewed. Nothing was released or spent: look at the"
            " preview, then release it."
        )


class NotAcceptable(RequestError, code="not_acceptable", http_status=406): ...


class MethodNotAllowed(RequestError, code="method_not_allowed", http_status=405): ...


class BodyTooLarge(RequestError, code="body_too_large", http_status=413): ...


class TooManyRequests(RequestError, code="too_many_requests", http_status=429): ...


class Unavailable(InternalError, code="unavailable", http_status=503):
    """The ledger or the store cannot be reached now; nothing was charged by this call that is not in the ledger."""


def body_of(error: DaleniusError) -> dict[str, Any]:
    """The one shape, with nothing in it that JSON cannot carry."""
    return _plain(error.to_dict())  # type: ignore[no-any-return]


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > 8:
        return "…"
    if isinstance(value, Mapping):
        return {_text(str(k)): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v, depth + 1) for v in list(value)[:200]]
    if isinstance(value, bool | None):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else _text(str(value) if value.bit_length() < 4096 else "a huge integer")
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    return _text(str(value))


def _text(value: str) -> str:
    """Text that survives UTF-8: lone surrogates that a caller sent are replaced."""
    return value.encode("utf-8", "replace").decode()[:2000]


def encode(error: DaleniusError) -> bytes:
    return json.dumps(body_of(error), ensure_ascii=False, separators=(",", ":")).encode()


def places(error: BaseException) -> list[str]:
    """Where an unexpected exception came from: files and lines, never its text or any local value."""
    frames = traceback.extract_tb(error.__traceback__)
    return [f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in frames[-12:]]
