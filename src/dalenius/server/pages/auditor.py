"""The ledger and the evidence, for those who may read them; an analyst sees own lines only."""

from fastapi import APIRouter
from fastapi.responses import Response

from dalenius.core import registry
from dalenius.core.evidence import UNVETTED
from dalenius.server import messages
from dalenius.server.pages.page import Caller, Member, PageRoute

router = APIRouter(prefix="/ledger", route_class=PageRoute, include_in_schema=False)

_MOST_LINES = 300


@router.get("")
def statement(visit: Member, population: str = "") -> Response:
    user, custody = visit.user, visit.services.custody
    populations = custody.populations(user)
    chosen = population or (populations[0] if populations else "")
    movements = custody.statement(user, chosen, everybody=user.may_read_ledger)
    lines, words = movements.lines[::-1], messages.catalogue(visit.wording.language)
    return visit.render(
        "auditor/ledger.html",
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
def export(visit: Caller, population: str = "") -> Response:
    text = visit.services.custody.ledger_lines(visit.user, population or None, "jsonl")
    headers = {"Content-Disposition": 'attachment; filename="ledger.jsonl"'}
    return Response(text, 200, headers, "application/x-ndjson")


@router.get("/evidence")
def evidence(visit: Caller) -> Response:
    report = visit.services.custody.verify(visit.user)
    claims = [
        {
            "name": visit.wording.known(kind, name),
            "kind": kind,
            "level": str(support.level),
            "is_strong": support.is_strong,
            "reference": "; ".join(support.references),
        }
        for kind in ("mechanism", "definition")
        for name, extension in registry.every(f"{kind}s").items()
        # What another distribution says of itself nobody here examined.
        for support in [UNVETTED if registry.origin(f"{kind}s", name) else extension.evidence]
    ]
    return visit.render("auditor/evidence.html", report=report, claims=claims)
