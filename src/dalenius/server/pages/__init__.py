"""The web pages: HTML routes over the services that the HTTP interface uses; `mount` puts them on the application."""

import os
from typing import Any

from fastapi import FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from dalenius.server.errors import NotFound
from dalenius.server.pages import account, auditor, builder, custodian, home, reading, released
from dalenius.server.pages.page import HERE, environment, refuse


class _Kept(StaticFiles):
    """Static files may be kept for long: their addresses change with their content."""

    def file_response(
        self, full_path: Any, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        is_named = b"v=" in scope.get("query_string", b"")
        response.headers["Cache-Control"] = f"public, max-age={31_536_000 if is_named else 3_600}"
        return response


def mount(app: FastAPI) -> None:
    """Add every page. Files of a release come first: their addresses look like the release's own with an ending."""
    environment()
    app.mount("/static", _Kept(directory=HERE / "static"), name="static")
    _not_found(app)
    for module in (reading, released, builder, home, account, custodian, auditor):
        app.include_router(module.router)


def _not_found(app: FastAPI) -> None:
    """An address that leads nowhere is a page for readers, and stays the one error shape for programs."""
    shaped: Any = app.exception_handlers[HTTPException]

    async def answer(request: Request, error: HTTPException) -> Response:
        is_reader = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith("/api/")
        if error.status_code == 404 and is_reader:
            return await run_in_threadpool(refuse, request, NotFound("There is nothing at this address."))
        response: Response = await shaped(request, error)
        return response

    app.exception_handlers[HTTPException] = answer
