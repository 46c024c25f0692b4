"""Signing in and out, API tokens, and the password."""

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from dalenius.server.auth import CurrentUser, SignedIn, services_of, sign_in, sign_out, verified
from dalenius.server.messages import translate
from dalenius.server.pages.mine import quotas_of
from dalenius.server.pages.page import Form, language_of, local, redirect, render
from dalenius.server.pages.refusal import PageRoute

router = APIRouter(route_class=PageRoute, include_in_schema=False)


@router.get("/sign-in")
def ask(request: Request, user: CurrentUser, next: str = "/") -> Response:
    if not user.is_anonymous:
        return RedirectResponse(local(next), 303)
    return render(request, "account/sign_in.html", user, next=local(next), error="", name="")


@router.post("/sign-in")
def enter(request: Request, user: CurrentUser, form: Form) -> Response:
    """Check the password; a wrong one says the same as an unknown name."""
    name, target = form.one("name").strip(), local(form.one("next", "/"))
    account = verified(request, name, form.one("password"))
    if account is None:
        error = translate(language_of(request), "sign_in.wrong")
        return render(request, "account/sign_in.html", user, status=403, next=target, error=error, name=name[:64])
    response = RedirectResponse(target, 303)
    sign_in(request, response, account)
    return response


@router.post("/sign-out")
def leave(request: Request, user: CurrentUser, form: Form) -> Response:
    response = RedirectResponse("/", 303)
    sign_out(request, response)
    return response


@router.get("/account")
def account(request: Request, user: SignedIn) -> Response:
    return _page(request, user, "")


def _page(request: Request, user: SignedIn, secret: str) -> Response:
    tokens = services_of(request).accounts.tokens(user)
    return render(request, "account/page.html", user, tokens=tokens, secret=secret, quotas=quotas_of(request, user))


@router.post("/account/tokens")
def make_token(request: Request, user: SignedIn, form: Form) -> Response:
    days = form.one("days", "90")
    life = float(days) if days.isdecimal() and len(days) < 5 else 90.0
    secret = services_of(request).accounts.create_token(user, form.one("label").strip(), life)
    return _page(request, user, secret)


@router.post("/account/tokens/revoke")
def revoke_token(request: Request, user: SignedIn, form: Form) -> Response:
    services_of(request).accounts.revoke_token(user, form.one("id"))
    return redirect(request, "/account", "account.revoked")


@router.post("/account/password")
def change_password(request: Request, user: SignedIn, form: Form) -> Response:
    """A new password, if the old one is right; every session ends."""
    services = services_of(request)
    services.limiter.take("password of", user.name, services.config.limits.sign_ins_per_minute)
    if services.accounts.verify(user.name, form.one("old")) is None:
        return redirect(request, "/account", "account.wrong_old", "bad")
    services.accounts.set_password(user.name, form.one("new"))
    return redirect(request, "/sign-in", "account.changed")
