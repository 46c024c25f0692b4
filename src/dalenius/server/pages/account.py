"""Signing in and out, API tokens, and the password."""

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from dalenius.server.auth import sign_in, sign_out, verified
from dalenius.server.pages.mine import quotas_of
from dalenius.server.pages.page import Caller, Form, Member, Visit, local
from dalenius.server.pages.refusal import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/sign-in")
def ask(visit: Caller, next: str = "/") -> Response:
    if not visit.user.is_anonymous:
        return RedirectResponse(local(next), 303)
    return visit.render("account/sign_in.html", next=local(next), error="", name="")


@router.post("/sign-in")
def enter(visit: Caller, form: Form) -> Response:
    """Check the password; a wrong one says the same as an unknown name."""
    name, target = form.one("name").strip(), local(form.one("next", "/"))
    account = verified(visit.request, name, form.one("password"))
    if account is None:
        error = visit.wording.t("sign_in.wrong")
        return visit.render("account/sign_in.html", status=403, next=target, error=error, name=name[:64])
    response = RedirectResponse(target, 303)
    sign_in(visit.request, response, account)
    return response


@router.post("/sign-out")
def leave(visit: Caller, form: Form) -> Response:
    response = RedirectResponse("/", 303)
    sign_out(visit.request, response)
    return response


@router.get("/account")
def account(visit: Member) -> Response:
    return _page(visit, "")


def _page(visit: Visit, secret: str) -> Response:
    tokens = visit.services.accounts.tokens(visit.user)
    return visit.render("account/page.html", tokens=tokens, secret=secret, quotas=quotas_of(visit))


@router.post("/account/tokens")
def make_token(visit: Member, form: Form) -> Response:
    days = form.one("days", "90")
    life = float(days) if days.isdecimal() and len(days) < 5 else 90.0
    return _page(visit, visit.services.accounts.create_token(visit.user, form.one("label").strip(), life))


@router.post("/account/tokens/revoke")
def revoke_token(visit: Member, form: Form) -> Response:
    visit.services.accounts.revoke_token(visit.user, form.one("id"))
    return visit.redirect("/account", "account.revoked")


@router.post("/account/password")
def change_password(visit: Member, form: Form) -> Response:
    """A new password, if the old one is right; every session ends."""
    services, name = visit.services, visit.user.name
    services.limiter.take("password of", name, services.config.limits.sign_ins_per_minute)
    if services.accounts.verify(name, form.one("old")) is None:
        return visit.redirect("/account", "account.wrong_old", "bad")
    services.accounts.set_password(name, form.one("new"))
    return visit.redirect("/sign-in", "account.changed")
