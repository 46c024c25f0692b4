"""The ledger and the evidence, for those who may read them; an analyst sees own lines only."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dalenius.core import registry
from dalenius.server import messages
from dalenius.server.accounts import Role
from dalenius.server.auth import CurrentUser, SignedIn, services_of
from dalenius.server.errors import NotFound
from dalenius.server.pages.page import language_of, render, wording_of
from dalenius.server.pages.refusal import PageRoute
from dalenius.server.pages.wording import Wording
from dalenius.server.roles import require

router = APIRouter(prefix="/ledger", route_class=PageRoute, include_in_schema=False)

_MOST_LINES = 300


@router.get("")
def statement(request: Request, user: SignedIn, population: str = "") -> Response:
    services = services_of(request)
    populations = services.custody.populations(user)
    chosen = population or (populations[0] if populations else "")
    if chosen not in populations:
        raise NotFound("There is no such population here.")
    movements = services.custody.statement(user, chosen, everybody=user.may_read_ledger)
    lines, words = movements.lines[::-1], messages.catalogue(language_of(request))
    return render(
        request,
        "auditor/ledger.html",
        user,
        statement=movements,
        lines=lines[:_MOST_LINES],
        more=max(len(lines) - _MOST_LINES, 0),
        population=chosen,
        populations=populations,
        everybody=user.may_read_ledger,
        kind_name=lambda kind: words.get(f"ledger.kind_{kind}", kind),
        status_name=lambda status: words.get(f"status.{status}", status),
    )


@router.get("/export")
def export(request: Request, user: CurrentUser, population: str = "") -> Response:
    text = services_of(request).custody.ledger_lines(user, population or None, "jsonl")
    headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"'}
    return Response(text, 200, headers, "application/x-ndjson")


@router.get("/evidence")
def evidence(request: Request, user: CurrentUser) -> Response:
    """Verify the ledger now, and say how each claim of privacy is supported."""
    require(user, Role.CUSTODIAN, Role.AUDITOR)
    report = services_of(request).custody.verify(user)
    return render(request, "auditor/evidence.html", user, report=report, claims=_claims(wording_of(request)))


def _claims(wording: Wording) -> list[dict[str, Any]]:
    claims = []
    for package, kind in (("mechanisms", "mechanism"), ("definitions", "definition")):
        for name in registry.names(package):
            support = registry.get(package, name).evidence
            document = support.to_dict()
            claims.append(
                {
                    "name": wording.known(kind, name),
                    "kind": kind,
                    "level": str(document.get("level", "")),
                    "is_strong": support.is_strong,
                    "reference": "; ".join(str(r) for r in document.get("references", ())),
                }
            )
    return claims
