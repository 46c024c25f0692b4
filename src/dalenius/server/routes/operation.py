"""Health and metrics, for whoever runs the server."""

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response

from dalenius.server.accounts import Role, require
from dalenius.server.auth import current_user, services_of
from dalenius.server.errors import Unavailable
from dalenius.version import VERSION

router = APIRouter(tags=["operation"])


@router.get("/healthz", summary="Whether the process answers")
def health() -> dict[str, str]:
    """Alive; says nothing about ledger or data."""
    return {"status": "ok", "version": VERSION}


@router.get("/readyz", summary="Whether ledger and store answer and every data set is registered")
def ready(request: Request) -> Response:
    """Ready to plan and release."""
    services = services_of(request)
    try:
        services.desk.catalogue.refreshed()
        services.store.read("SELECT 1")
        missing = services.desk.unregistered()
    except Exception:
        raise Unavailable("The ledger or the store cannot be reached.") from None
    if not services.is_ready:
        raise Unavailable("Data sets are being registered.")
    if missing:
        raise Unavailable(f"Not registered yet: {', '.join(missing)}. The custodian registers it.")
    return Response(b'{"status":"ready"}', media_type="application/json")


@router.get("/metrics", summary="Counters in the Prometheus text format", response_class=PlainTextResponse)
def metrics(request: Request) -> PlainTextResponse:
    """For custodian and auditor, or for everybody if the configuration opens it."""
    services = services_of(request)
    if not services.config.open_metrics:
        require(current_user(request), Role.CUSTODIAN, Role.AUDITOR)
    gauges = {f'jobs{{state="{state}"}}': float(count) for state, count in services.jobs.counts().items()}
    return PlainTextResponse(services.metrics.text(gauges))
