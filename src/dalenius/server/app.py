"""The application: services, guard, error shape, routes; `create_app(config)` makes one for a worker process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException

from dalenius.errors import DaleniusError, DocumentError, RequestError
from dalenius.server.config import ServerConfig
from dalenius.server.errors import MethodNotAllowed, NotAcceptable, NotFound, TooManyRequests, encode
from dalenius.server.routes.bodies import describe
from dalenius.server.security import Guard
from dalenius.server.services import Services
from dalenius.version import VERSION


def create_app(config: ServerConfig) -> FastAPI:
    services = Services(config)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        services.start()
        try:
            yield
        finally:
            services.close()

    app = FastAPI(
        title=f"{config.title}: protected tables",
        version=VERSION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
        # A redirect to the address without its last slash would be absolute, with a name that the caller chose.
        redirect_slashes=False,
    )
    app.state.services = services
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    _errors(app)
    for router in _routers():
        app.include_router(router)
    if config.pages:
        from dalenius.server.pages import mount

        mount(app)
    app.add_middleware(
        Guard,
        body_bytes=config.limits.body_bytes,
        metrics=services.metrics,
        secure=config.secure_cookies,
        public_url=config.public_url,
    )
    return app


def _errors(app: FastAPI) -> None:
    @app.exception_handler(DaleniusError)
    async def ours(request: Request, error: DaleniusError) -> Response:
        headers = {}
        if isinstance(error, TooManyRequests) and "retry_after" in error.detail:
            headers["Retry-After"] = str(error.detail["retry_after"])
        if error.http_status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return Response(encode(error), error.http_status, headers, "application/json")

    @app.exception_handler(HTTPException)
    async def theirs(request: Request, error: HTTPException) -> Response:
        kind = {404: NotFound, 405: MethodNotAllowed, 406: NotAcceptable}.get(error.status_code, RequestError)
        message = "There is nothing at this address." if kind is NotFound else str(error.detail)[:200]
        return Response(encode(kind(message)), error.status_code, dict(error.headers or {}), "application/json")

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0]
        place = ".".join(str(step) for step in first.get("loc", ()))
        refusal = DocumentError(f"{place}: {str(first.get('msg', 'not accepted'))[:200]}.", place=place)
        return Response(encode(refusal), refusal.http_status, None, "application/json")


def _routers() -> tuple[APIRouter, ...]:
    from dalenius.server.routes import api, custody, operation, px

    return (operation.router, api.router, custody.router, px.router)


def preload(*, with_pages: bool) -> None:
    """Import what every worker needs, before they are forked."""
    from dalenius.core import registry
    from dalenius.server import downloads

    _ = (_routers(), downloads.formats())
    for package in ("mechanisms", "definitions"):
        registry.every(package)
    if with_pages:
        from dalenius.server import pages

        _ = pages
