"""What belongs to one user: saved tables, releases under way, quotas."""

from urllib.parse import quote, urlencode

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from dalenius.core.budget import MASTER
from dalenius.errors import DaleniusError
from dalenius.ledger.charge import ACCOUNTS
from dalenius.server.accounts import User
from dalenius.server.auth import CurrentUser, SignedIn, services_of
from dalenius.server.pages.address import from_request
from dalenius.server.pages.page import render, wording_of
from dalenius.server.pages.refusal import PageRoute
from dalenius.server.pages.state import PLACES
from dalenius.server.views import JobView, QuotaView

router = APIRouter(route_class=PageRoute, include_in_schema=False)

_STAGES = ("waiting", "planning", "charging", "measuring", "storing")


@router.get("/mine")
def mine(request: Request, user: SignedIn) -> Response:
    services = services_of(request)
    wording = wording_of(request)
    saved = [(table, _builder(request, table.dataset, dict(table.request))) for table in services.releasing.saved(user)]
    jobs = services.releasing.jobs_of(user) if user.may_release else ()
    return render(
        request,
        "mine.html",
        user,
        saved=saved,
        jobs=[(job, wording.request_title(job.dataset, job.request)) for job in jobs[:50]],
        quotas=quotas_of(request, user),
    )


def quotas_of(request: Request, user: User) -> list[QuotaView]:
    """The user's quota on each population, and in its other accounts where there is one."""
    if not user.may_release:
        return []
    services = services_of(request)
    views: dict[str, list[QuotaView]] = {}
    for dataset in services.reading.datasets():
        if dataset.population not in views:
            try:
                quotas = [services.releasing.quota(user, dataset.name, account) for account in ACCOUNTS]
            except DaleniusError:
                continue
            views[dataset.population] = [
                quota for quota in quotas if quota.account == MASTER or quota.limit is not None or quota.charges
            ]
    return [quota for quotas in views.values() for quota in quotas]


def _builder(request: Request, dataset: str, document: dict[str, object]) -> str:
    services = services_of(request)
    try:
        state = from_request(document, services.reading.dataset(dataset))
    except DaleniusError:
        return "/mine"
    return f"/d/{quote(dataset)}/table?{urlencode(state.to_pairs())}"


@router.get("/jobs/{job_id}")
def progress(request: Request, job_id: str, user: CurrentUser) -> Response:
    """How far a release is, in stages; a finished one leads on to its table."""
    services = services_of(request)
    job = services.releasing.job(user, job_id)
    layout = urlencode([(k, v) for k, v in request.query_params.multi_items() if k in PLACES])
    if job.state == "done" and "hx-request" not in request.headers:
        return RedirectResponse(f"/r/{quote(job.entry)}?{layout}", 303)
    is_failed = job.state == "failed" and user.may_release
    response = render(
        request,
        "job.html",
        user,
        job=job,
        title=wording_of(request).request_title(job.dataset, job.request),
        stages=_stages(job),
        layout_query=layout,
        quota=services.releasing.quota_of_job(user, job) if is_failed else None,
        edit_href=_builder(request, job.dataset, dict(job.request)),
    )
    if job.state == "done":
        response.headers["HX-Redirect"] = f"/r/{quote(job.entry)}?{layout}"
    return response


def _stages(job: JobView) -> list[tuple[str, str]]:
    """Each stage with whether it is done, under way or to come."""
    words = job.stage.split()
    now = next((i for i, name in enumerate(_STAGES) if words and words[0] == name), None)
    if now is None:
        now = 0 if job.state == "queued" or not job.stage else 3
    return [(name, "done" if i < now else "now" if i == now else "later") for i, name in enumerate(_STAGES)]
