"""The HTTP interface for accounts, quotas, ledger, approvals, status and users."""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import PlainTextResponse, Response

from dalenius.server import auth
from dalenius.server.accounts import User
from dalenius.server.errors import NotSignedIn
from dalenius.server.routes import bodies
from dalenius.server.routes.api import EntryName, JobName, Name
from dalenius.server.views import plain

router = APIRouter(prefix="/api/v1", tags=["custody"], route_class=bodies.BoundedRoute)


@router.get("/me")
def me(user: auth.CurrentUser) -> dict[str, str]:
    """Who you are to the server."""
    return {"name": user.name, "role": user.role}


@router.post("/tokens", status_code=201)
def create_token(request: Request, body: bodies.TokenBody, user: auth.CurrentUser) -> dict[str, str]:
    """A new API token, shown this once. Signed in, or with name and password."""
    if user.is_anonymous and not body.name:
        raise NotSignedIn("Sign in, or send name and password.")
    owner = _verified(request, body.name, body.password) if body.name else user
    return {"token": auth.services_of(request).accounts.create_token(owner, body.label, body.days), "name": owner.name}


def _verified(request: Request, name: str, password: str) -> User:
    account = auth.verified(request, name, password)
    if account is None:
        raise NotSignedIn("The name or the password is wrong.")
    return account


@router.get("/session")
def session(request: Request, user: auth.CurrentUser) -> dict[str, str]:
    """Who you are, and the token that calls with a session cookie send as X-CSRF-Token."""
    return {"name": user.name, "role": user.role, "csrf": auth.csrf_token(request)}


@router.post("/session")
def open_session(request: Request, response: Response, body: bodies.SignInBody) -> dict[str, str]:
    """Sign in with a cookie, as a browser does."""
    auth.refuse_other_sites(request)
    user = _verified(request, body.name, body.password)
    auth.sign_in(request, response, user)
    return {"name": user.name, "role": user.role}


@router.delete("/session", status_code=204)
def close_session(request: Request, response: Response, user: auth.CurrentUser) -> None:
    """Sign out."""
    auth.sign_out(request, response)


@router.get("/tokens")
def tokens(request: Request, user: auth.SignedIn) -> list[dict[str, Any]]:
    """Your tokens, without their secrets."""
    return [plain(token) for token in auth.services_of(request).accounts.tokens(user)]


@router.delete("/tokens/{identity}", status_code=204)
def revoke_token(request: Request, identity: Name, user: auth.SignedIn) -> None:
    """End a token of yours."""
    auth.services_of(request).accounts.revoke_token(user, identity)


@router.get("/datasets/{name}/quota")
def quota(request: Request, name: Name, user: auth.SignedIn) -> dict[str, Any]:
    """What you may spend on the population of a data set, and have spent."""
    return plain(auth.services_of(request).releasing.quota(user, name))  # type: ignore[no-any-return]


@router.get("/ledger/populations")
def populations(request: Request, user: auth.SignedIn) -> list[str]:
    """Populations of the served data sets."""
    return list(auth.services_of(request).custody.populations(user))


@router.get("/ledger/statements/{population}")
def statement(
    request: Request, population: Name, user: auth.SignedIn, everybody: Annotated[bool, Query()] = False
) -> dict[str, Any]:
    """Your own movements; everybody's for custodian and auditor."""
    movements = auth.services_of(request).custody.statement(user, population, everybody=everybody)
    return movements.to_dict()


@router.get("/ledger/export", response_class=PlainTextResponse)
def export(request: Request, user: auth.SignedIn, form: Annotated[str, Query(max_length=10)] = "jsonl") -> str:
    """Every line of the ledger, for custodian and auditor."""
    return auth.services_of(request).custody.ledger_lines(user, None, form)


@router.get("/ledger/verify")
def verify(request: Request, user: auth.SignedIn) -> dict[str, Any]:
    """Recompute the chain and the totals, for custodian and auditor."""
    return auth.services_of(request).custody.verify(user).to_dict()


@router.post("/populations/{population}/grants", status_code=204)
def grant(request: Request, population: Name, body: bodies.AmountsBody, user: auth.SignedIn) -> None:
    """Add to a population's budget."""
    auth.services_of(request).custody.grant(user, population, body.rho, body.delta, body.note)


@router.put("/populations/{population}/quotas/{analyst}", status_code=204)
def set_quota(request: Request, population: Name, analyst: Name, body: bodies.AmountsBody, user: auth.SignedIn) -> None:
    """Set what an analyst may spend in all."""
    auth.services_of(request).custody.set_quota(user, population, analyst, body.rho, body.delta)


@router.get("/populations/{population}/approval")
def approval_rule(request: Request, population: Name, user: auth.SignedIn) -> dict[str, Any]:
    """The rho above which a second person approves, and what a custodian proposed instead."""
    return plain(auth.services_of(request).custody.approval_rule(user, population))  # type: ignore[no-any-return]


@router.put(
    "/populations/{population}/approval",
    status_code=204,
    responses={202: {"description": "Asks for fewer approvals: waits until another custodian sets the same."}},
)
def set_approval(request: Request, population: Name, body: bodies.ThresholdBody, user: auth.SignedIn) -> Response:
    """Set the rho above which a second person approves; fewer approvals need a second custodian."""
    is_in_force = auth.services_of(request).custody.set_approval(user, population, body.above)
    return Response(status_code=204 if is_in_force else 202)


@router.get("/approvals")
def approvals(request: Request, user: auth.SignedIn) -> list[dict[str, Any]]:
    """Releases that await a second person."""
    return [plain(job) for job in auth.services_of(request).custody.approvals(user)]


@router.post("/approvals/{job}", status_code=204)
def decide(request: Request, job: JobName, body: bodies.ApprovalBody, user: auth.SignedIn) -> None:
    """Approve or refuse a large release."""
    services = auth.services_of(request)
    if body.approve:
        services.custody.approve(user, job)
    else:
        services.custody.refuse(user, job, body.reason)


@router.post("/releases/{entry}/status")
def set_status(request: Request, entry: EntryName, body: bodies.StatusBody, user: auth.SignedIn) -> dict[str, Any]:
    """Embargo, publish or withdraw a release."""
    view = auth.services_of(request).custody.set_status(user, entry, body.status)
    return plain(view)  # type: ignore[no-any-return]


@router.get("/users")
def users(request: Request, user: auth.SignedIn) -> list[dict[str, str]]:
    """Everybody who may sign in."""
    return [{"name": u.name, "role": u.role} for u in auth.services_of(request).custody.users(user)]


@router.post("/users", status_code=201)
def create_user(request: Request, body: bodies.UserBody, user: auth.SignedIn) -> dict[str, str]:
    """A new user; the password is shown this once."""
    password = auth.services_of(request).custody.create_user(user, body.name, body.role)
    return {"name": body.name, "role": body.role, "password": password}


@router.delete("/users/{name}", status_code=204)
def deactivate(request: Request, name: Name, user: auth.SignedIn) -> None:
    """Sign a user out for good."""
    auth.services_of(request).custody.deactivate(user, name)
