"""Who is calling: a proxy's header, an API token, a session cookie, or nobody.

The order is fixed. A token that is wrong is refused, never treated as anonymous. A session cookie is signed, names a
session kept on the server, and moves something only together with a form token. The proxy's headers are believed only
from the peers that the configuration lists, and only together with the secret that the proxy was given.
"""

import hashlib
import hmac
import secrets
from typing import Annotated, Any

from fastapi import Depends, Request
from itsdangerous import BadData, URLSafeSerializer
from starlette.responses import Response

from dalenius.server.accounts import ANONYMOUS, User
from dalenius.server.errors import Forbidden, NotSignedIn
from dalenius.server.services import Services

SESSION = "dalenius_session"
KNOWN = "dalenius_known"
_SAFE = ("GET", "HEAD", "OPTIONS")
_REMEMBERED = 86_400
_NAMES_AT_ONE_ADDRESS = 6


def services_of(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


def set_cookie(request: Request, response: Response, name: str, value: str, seconds: int) -> None:
    """Set a cookie that no script and no other site may use."""
    secure = services_of(request).config.secure_cookies
    response.set_cookie(name, value, max_age=seconds, httponly=True, samesite="lax", secure=secure)


def _set_signed(request: Request, response: Response, name: str, value: object, seconds: int) -> None:
    text = URLSafeSerializer(services_of(request).key, salt=name).dumps(value)
    set_cookie(request, response, name, str(text), seconds)


def _read_signed(request: Request, name: str) -> Any:
    """Return what a signed cookie holds; None if there is none or it was forged."""
    cookie = request.cookies.get(name, "")
    try:
        return URLSafeSerializer(services_of(request).key, salt=name).loads(cookie) if len(cookie) <= 500 else None
    except BadData:
        return None


def session_id(request: Request) -> str:
    """The session that the signed cookie names; empty if there is none or it was forged."""
    return _read_signed(request, SESSION) or ""


def verified(request: Request, name: str, password: str) -> User | None:
    """The user with this password. Attempts are limited for each name from each address, and for each address.

    A browser in which somebody signed in before carries a signed cookie that says so, and has attempts of its own for
    that name: whoever guesses passwords from the same address or another cannot lock its owner out.
    """
    services = services_of(request)
    limit = services.config.limits.sign_ins_per_minute
    mark, whose = _read_signed(request, KNOWN) or ("", "")
    if mark and whose == name:
        services.limiter.take("sign-in in a known browser", mark, limit)
    else:
        address = caller_address(request)
        services.limiter.take("sign-in", address, _NAMES_AT_ONE_ADDRESS * limit)
        services.limiter.take("sign-in as", f"{address}\0{name[:64]}", limit)
    return services.accounts.verify(name, password)


def sign_in(request: Request, response: Response, user: User) -> None:
    """Open a session and set its cookie; an old session of the browser is closed first."""
    services = services_of(request)
    if old := session_id(request):
        services.accounts.close_session(old)
    # The cookie outlives the session, so that a page can say that the session has ended.
    seconds = int(services.config.limits.session_hours * 3600) + _REMEMBERED
    _set_signed(request, response, SESSION, services.accounts.open_session(user), seconds)
    _set_signed(request, response, KNOWN, [secrets.token_hex(8), user.name], 365 * _REMEMBERED)


def has_ended(request: Request, user: User) -> bool:
    return user.is_anonymous and bool(session_id(request))


def sign_out(request: Request, response: Response) -> None:
    if session := session_id(request):
        services_of(request).accounts.close_session(session)
    response.delete_cookie(SESSION, path="/")


def peer_of(request: Request) -> str:
    return request.client.host if request.client else ""


def is_from_proxy(request: Request) -> bool:
    """Whether the sign-on proxy sent this: from a listed address, with the secret."""
    services = services_of(request)
    proxy = services.config.proxy
    if proxy is None or peer_of(request) not in proxy.trusted:
        return False
    sent = request.headers.get(proxy.secret_header, "")
    return hmac.compare_digest(sent.encode("utf-8", "replace"), services.proxy_secret.encode())


def caller_address(request: Request) -> str:
    """The client's address: as the trusted proxy reports it, or the peer's own."""
    peer = peer_of(request)
    if is_from_proxy(request):
        forwarded = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        return forwarded[:64] or peer
    return peer


def _from_proxy(request: Request) -> User | None:
    services = services_of(request)
    proxy = services.config.proxy
    name = request.headers.get(proxy.header, "").strip() if proxy is not None and is_from_proxy(request) else ""
    if proxy is None or not name:
        return None
    user = services.accounts.find(name)
    if user is None and proxy.create_as:
        user = services.accounts.create(name, proxy.create_as, None)
    if user is None:
        raise NotSignedIn("The sign-on proxy named a user who has no account here.")
    return user


def identify(request: Request) -> tuple[User, str]:
    """The user, and how they were recognised: proxy, token, session or nothing."""
    accounts = services_of(request).accounts
    user = _from_proxy(request)
    if user is not None:
        return user, "proxy"
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme:
        owner = accounts.token_user(token.strip()) if scheme.lower() == "bearer" else None
        if owner is None:
            raise NotSignedIn("The API token is unknown, expired or revoked; send 'Authorization: Bearer TOKEN'.")
        return owner, "token"
    session = session_id(request)
    owner = accounts.session_user(session) if session else None
    return (ANONYMOUS, "") if owner is None else (owner, "session")


def is_unmarked(request: Request) -> bool:
    """Whether nothing in the request could name a user, so that nobody need be looked up."""
    proxy = services_of(request).config.proxy
    return not (
        "authorization" in request.headers
        or SESSION in request.cookies
        or (proxy is not None and proxy.header in request.headers)
    )


def current_user(request: Request) -> User:
    """The caller, within the rate limit. Cookies (and proxies) change nothing without a form token.

    Pages check the token of their own forms with `check_form`; API calls send it as `X-CSRF-Token`.
    """
    services = services_of(request)
    limits = services.config.limits
    try:
        user, how = identify(request)
    except NotSignedIn:
        services.limiter.take("anonymous", caller_address(request), limits.anonymous_per_minute)
        raise
    if user.is_anonymous:
        services.limiter.take("anonymous", caller_address(request), limits.anonymous_per_minute)
    else:
        services.limiter.take("user", user.name, limits.requests_per_minute)
        request.state.user_name = user.name
    is_api = request.url.path.startswith("/api/")
    if is_api and how in ("session", "proxy") and request.method not in _SAFE:
        check_form(request, request.headers.get("x-csrf-token", ""))
    return user


def limit_previews(request: Request, user: User) -> None:
    """A preview is free and takes work: an address that has not signed in may ask for so many a minute."""
    services = services_of(request)
    if user.is_anonymous:
        services.limiter.take("preview", caller_address(request), services.config.limits.previews_per_minute)


def csrf_token(request: Request) -> str:
    request.state.needs_visit = True
    return _form_token(request)


def _form_token(request: Request) -> str:
    text = f"form\0{request.state.visit}\0{session_id(request)}"
    return hmac.new(services_of(request).key, text.encode(), hashlib.sha256).hexdigest()


def check_form(request: Request, received: str) -> None:
    """Refuse a form that another site, or another session, made."""
    refuse_other_sites(request)
    if not hmac.compare_digest(_form_token(request).encode(), received.encode("utf-8", "replace")):
        raise Forbidden("This form is not from this session: load the page again and send it once more.")


def refuse_other_sites(request: Request) -> None:
    """Refuse what a browser says that another site sent."""
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise Forbidden("This was sent by another site.")


def signed_in(request: Request) -> User:
    user = current_user(request)
    if user.is_anonymous:
        raise NotSignedIn
    return user


CurrentUser = Annotated[User, Depends(current_user)]
SignedIn = Annotated[User, Depends(signed_in)]
