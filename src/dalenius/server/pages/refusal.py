"""Refusals as pages: what was refused, its code, and a way on; who has not signed in is asked to."""

from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from dalenius.errors import DaleniusError, InternalError
from dalenius.server import logs
from dalenius.server.accounts import ANONYMOUS
from dalenius.server.auth import identify
from dalenius.server.errors import NotFound, NotSignedIn, places
from dalenius.server.pages.page import Visit, here


class PageRoute(APIRoute):
    """A route whose refusals are pages; who has not signed in is asked to."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def shown(request: Request) -> Response:
            try:
                return await handler(request)
            except NotSignedIn as error:
                if request.method == "GET" and "authorization" not in request.headers:
                    return Visit(request, ANONYMOUS).lead(f"/sign-in?next={quote(here(request))}")
                return refuse(request, error)
            except DaleniusError as error:
                return refuse(request, error)
            except HTTPException:
                raise
            except Exception as error:
                logs.event(
                    "exception", 40, request=request.state.request_id, kind=type(error).__name__, places=places(error)
                )
                return refuse(request, InternalError("Something went wrong on our side."))

        return shown


def refuse(request: Request, error: DaleniusError) -> HTMLResponse:
    """A refusal as a page: what was refused, its code, and a way on."""
    try:
        user, _ = identify(request)
    except DaleniusError:
        user = ANONYMOUS
    visit, status = Visit(request, user), error.http_status
    kinds = {
        "not_found": isinstance(error, NotFound),
        "slow_down": status == 429,
        "ours": status >= 500,
        "budget": error.exit_code == 3,
        "forbidden": status in (401, 403),
    }
    key = next((name for name, is_so in kinds.items() if is_so), "refused")
    headers = {"Retry-After": str(error.detail["retry_after"])} if "retry_after" in error.detail else {}
    return visit.render(
        "error.html",
        status=status,
        headers=headers,
        heading=visit.wording.t(f"error.{key}"),
        message=error.message,
        http_status=status,
        advice=visit.wording.t("error.budget_advice") if key == "budget" else "",
        code=error.code,
        request_id=request.state.request_id if status >= 500 else "",
    )
