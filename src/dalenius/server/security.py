"""What every answer and every unsafe call must satisfy: headers, body limit, rate limits.

Guard is the outermost layer: long bodies are refused while they arrive, every exception gets the one error shape, and
content is `no-store` unless the route says that it is public.
"""

import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from dalenius.errors import DaleniusError, InternalError
from dalenius.server import logs
from dalenius.server.errors import BodyTooLarge, TooManyRequests, encode, places
from dalenius.server.metrics import Metrics

CONTENT_SECURITY_POLICY = (
    "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
VISIT = "dalenius_visit"


class Guard:
    def __init__(self, app: Any, *, body_bytes: int, metrics: Metrics, secure: bool, public_url: str = "") -> None:
        self._app = app
        self._scheme, _, self._host = public_url.partition("://")
        self._most = body_bytes
        self._metrics = metrics
        self._secure = secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        # No link names what a caller wrote as Host: it is the configured address, or nothing.
        scope["headers"] = [pair for pair in scope["headers"] if pair[0] != b"host"]
        if self._host:
            scope["scheme"] = self._scheme
            scope["headers"].insert(0, (b"host", self._host.encode()))
        answer = _Answer(scope, receive, send, secure=self._secure)
        try:
            await self._app(scope, self._limited(receive), answer.send)
        except DaleniusError as error:
            await answer.refuse(error)
        except Exception as error:
            logs.event("exception", 40, request=answer.id, kind=type(error).__name__, places=places(error))
            await answer.refuse(InternalError("Something went wrong on our side.", request=answer.id))
        finally:
            self._note(scope, answer, time.perf_counter() - started)

    def _limited(self, receive: Receive) -> Receive:
        length = 0

        async def limited() -> Message:
            nonlocal length
            message = await receive()
            length += len(message.get("body", b""))
            if length > self._most:
                raise BodyTooLarge(f"A body may have {self._most:,} bytes.", limit=self._most)
            return message

        return limited

    def _note(self, scope: Scope, answer: "_Answer", seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "unmatched")
        self._metrics.request(scope["method"] if scope["method"].isalpha() else "other", route, answer.status, seconds)
        user = scope.get("state", {}).get("user_name", "")
        logs.event(
            "request",
            request=answer.id,
            method=scope["method"],
            route=route,
            status=answer.status,
            milliseconds=round(seconds * 1000),
            user=user,
        )


class _Answer:
    def __init__(self, scope: Scope, receive: Receive, send: Send, *, secure: bool) -> None:
        self.id = secrets.token_hex(8)
        self.status = 500
        self._scope = scope
        self._receive = receive
        self._send = send
        self._secure = secure
        self._is_started = False
        visit = Request(scope).cookies.get(VISIT, "")
        self._is_new = not (20 <= len(visit) <= 100)
        state = scope.setdefault("state", {})
        state["request_id"] = self.id
        state["visit"] = secrets.token_urlsafe(24) if self._is_new else visit

    async def send(self, message: Message) -> None:
        """Add the headers to the first message; pass on the rest."""
        if message["type"] == "http.response.start":
            self._is_started = True
            self.status = message["status"]
            self._complete(MutableHeaders(scope=message))
        await self._send(message)

    def _complete(self, headers: MutableHeaders) -> None:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        headers["x-request-id"] = self.id
        if self._secure:
            headers["strict-transport-security"] = "max-age=31536000"
        is_page = headers.get("content-type", "").startswith("text/html")
        if self._is_new and (is_page or self._scope["state"].get("needs_visit", False)):
            secure = "; Secure" if self._secure else ""
            cookie = f"{VISIT}={self._scope['state']['visit']}; Path=/; HttpOnly; SameSite=Lax{secure}"
            headers.append("set-cookie", cookie)

    async def refuse(self, error: DaleniusError) -> None:
        if not self._is_started:
            response = Response(encode(error), error.http_status, media_type="application/json")
            await response(self._scope, self._receive, self.send)


class RateLimiter:
    """Token buckets, one for each caller and purpose; in memory, so a worker counts for itself."""

    def __init__(self, workers: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self._share = workers
        self._clock = clock
        self._lock = threading.Lock()
        self._buckets: dict[tuple[str, str], tuple[float, float]] = {}

    def take(self, purpose: str, caller: str, per_minute: int) -> None:
        """Take one, or refuse and say when the next one is there."""
        limit = max(per_minute / self._share, 1.0)
        now = self._clock()
        with self._lock:
            if len(self._buckets) > 50_000:
                self._buckets = {key: value for key, value in self._buckets.items() if now - value[1] < 120}
            left, since = self._buckets.get((purpose, caller), (limit, now))
            left = min(limit, left + (now - since) * limit / 60)
            if left < 1:
                wait = (1 - left) * 60 / limit
                self._buckets[purpose, caller] = (left, now)
                raise TooManyRequests(
                    f"At most {per_minute} requests a minute are served; wait {wait:.0f} s.",
                    limit=per_minute,
                    retry_after=int(wait) + 1,
                )
            self._buckets[purpose, caller] = (left - 1, now)
