"""What belongs to one user: signing in and out, API tokens, saved tables, releases under way, quotas."""

from contextlib import suppress
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from fastapi.responses import RedirectResponse, Response

from dalenius.core.budget import MASTER
from dalenius.errors import DaleniusError
from dalenius.ledger.charge import ACCOUNTS
from dalenius.server.auth import sign_in, sign_out, verified
from dalenius.server.pages.address import from_request
from dalenius.server.pages.page import Caller, Form, Member, PageRoute, Visit, local
from dalenius.server.pages.state import PLACES
from dalenius.server.views import JobView, QuotaView

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_STAGES = ("waiting", "planning", "charging", "measuring", "storing")


@router.get("/mine")
def mine(visit: Member) -> Response:
    releasing, user = visit.services.releasing, visit.user
    saved = [(table, _builder(visit, table.dataset, dict(table.request))) for table in releasing.saved(user)]
    jobs = releasing.jobs_of(user)[:50] if user.may_release else ()
    titles = [visit.wording.request_title(job.dataset, job.request) for job in jobs]
    return visit.render("mine.html", saved=saved, jobs=list(zip(jobs, titles, strict=True)), quotas=quotas_of(visit))


def quotas_of(visit: Visit) -> list[QuotaView]:
    """The user's quota on each population, and in its other accounts where there is one."""
    if not visit.user.may_release:
        return []
    services = visit.services
    views: dict[str, list[QuotaView]] = {}
    for dataset in services.reading.datasets():
        if dataset.population not in views:
            with suppress(DaleniusError):
                quotas = [services.releasing.quota(visit.user, dataset.name, account) for account in ACCOUNTS]
                views[dataset.population] = quotas
    every = (quota for quotas in views.values() for quota in quotas)
    return [quota for quota in every if quota.account == MASTER or quota.limit is not None or quota.charges]


def _builder(visit: Visit, dataset: str, document: dict[str, object]) -> str:
    try:
        state = from_request(document, visit.services.reading.dataset(dataset))
    except DaleniusError:
        return "/mine"
    return f"/d/{quote(dataset)}/table?{urlencode(state.to_pairs())}"


@router.get("/jobs/{job_id}")
def progress(visit: Caller, job_id: str) -> Response:
    """How far a release is, in stages; a finished one leads on to its table."""
    user, releasing = visit.user, visit.services.releasing
    job = releasing.job(user, job_id)
    layout = urlencode([(k, v) for k, v in visit.request.query_params.multi_items() if k in PLACES])
    if job.state == "done" and not visit.wants_part:
        return RedirectResponse(f"/r/{quote(job.entry)}?{layout}", 303)
    is_failed = job.state == "failed" and user.may_release
    response = visit.render(
        "job.html",
        job=job,
        title=visit.wording.request_title(job.dataset, job.request),
        stages=_stages(job),
        layout_query=layout,
        quota=releasing.quota_of_job(user, job) if is_failed else None,
        edit_href=_builder(visit, job.dataset, dict(job.request)),
    )
    if job.state == "done":
        response.headers["HX-Redirect"] = f"/r/{quote(job.entry)}?{layout}"
    return response


def _stages(job: JobView) -> list[tuple[str, str]]:
    words = job.stage.split()
    now = next((i for i, name in enumerate(_STAGES) if words and words[0] == name), None)
    if now is None:
        now = 0 if job.state == "queued" or not job.stage else 3
    return [(name, "done" if i < now else "now" if i == now else "later") for i, name in enumerate(_STAGES)]


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
    services, name = visit.services, visit.user.name
    services.limiter.take("password of", name, services.config.limits.sign_ins_per_minute)
    if services.accounts.verify(name, form.one("old")) is None:
        return visit.redirect("/account", "account.wrong_old", "bad")
    services.accounts.set_password(name, form.one("new"))
    return visit.redirect("/sign-in", "account.changed")
