"""The custodian's desk: data sets, budgets, quotas, approvals, publication, policy, users."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from dalenius.core.budget import MASTER
from dalenius.core.rationals import plain
from dalenius.core.release import Status
from dalenius.errors import DaleniusError, Undeclared
from dalenius.ledger.policy import policy_digest
from dalenius.server.accounts import Role, User
from dalenius.server.auth import CurrentUser, services_of
from dalenius.server.errors import NotFound
from dalenius.server.pages import numbers
from dalenius.server.pages.page import Form, language_of, redirect, render, wording_of
from dalenius.server.pages.refusal import PageRoute
from dalenius.server.pages.wording import Wording, concentrated_epsilon
from dalenius.server.roles import require
from dalenius.server.services import Services
from dalenius.server.views import JobView
from dalenius.spec.coding import Remark
from dalenius.spec.content import ODD, worth_a_look

router = APIRouter(prefix="/custodian", route_class=PageRoute, include_in_schema=False)


def _desk(request: Request, template: str, user: User, section: str, **context: Any) -> Response:
    services = services_of(request)
    populations = services.custody.populations(user)
    budget = f"/custodian/budget/{quote(populations[0])}" if populations else "/custodian"
    further = [(name, f"/custodian/{name}") for name in ("approvals", "releases", "policy", "users")]
    tabs = [("datasets", "/custodian"), ("budget", budget), *further]
    waiting = len(services.custody.approvals(user))
    return render(
        request, template, user, section=section, custody_tabs=tabs, waiting=waiting, populations=populations, **context
    )


@router.get("")
def datasets(request: Request, user: CurrentUser) -> Response:
    require(user, Role.CUSTODIAN)
    services = services_of(request)
    cards = []
    for view in services.reading.datasets():
        listed = services.reading.list_view(view.name) if view.has_list else None
        cards.append((view.in_language(language_of(request)), services.custody.is_registered(user, view.name), listed))
    return _desk(request, "custodian/datasets.html", user, "datasets", datasets=cards)


def _account(services: Services, user: User, population: str) -> Any:
    """The account of a population, or nothing if nobody registered a data set on it."""
    try:
        return services.custody.account(user, population)
    except DaleniusError as error:
        if error.http_status >= 500:
            raise
        return None


@router.post("/datasets/{name}/register")
def register(request: Request, name: str, user: CurrentUser, form: Form) -> Response:
    """Judge and register a data set; its content is shown to this custodian, once, and kept nowhere."""
    services = services_of(request)
    try:
        report = services.custody.register(user, name, accept_unseen=form.one("accept_unseen") == "yes")
    except Undeclared as refused:
        return _content(request, user, name, refused.report, is_refused=True)
    if report is None:
        return redirect(request, "/custodian", "custody.registered_ok")
    return _content(request, user, name, report, is_refused=False)


def _content(request: Request, user: User, name: str, report: Any, *, is_refused: bool) -> Response:
    """Values by variable under the banner, what the account holds, and the word of consent where it is needed."""
    services = services_of(request)
    content = report.reveal()
    curator = services.desk.find(name).curator
    desk = _desk(
        request,
        "custodian/content.html",
        user,
        "datasets",
        name=name,
        is_refused=is_refused,
        rows=content["rows"],
        notes=[str(note) for note in (Remark.VALID, Remark.MISSING, *ODD)],
        variables=content["variables"],
        odd=worth_a_look(content["variables"]),
        account=None if is_refused else services.custody.account(user, curator.domain.population),
        policy=policy_digest(curator.policy)[:12],
        epsilon_of=lambda rho: f"{concentrated_epsilon(rho):.3g}",
    )
    desk.headers["cache-control"] = "no-store"
    return desk


@router.post("/datasets/{name}/list")
def release_list(request: Request, name: str, user: CurrentUser, form: Form) -> Response:
    services_of(request).reading.release_list(user, name)
    return redirect(request, "/custodian", "custody.list_ok")


@router.get("/budget/{population}")
def budget(request: Request, population: str, user: CurrentUser) -> Response:
    require(user, Role.CUSTODIAN)
    services = services_of(request)
    if population not in services.custody.populations(user):
        raise NotFound("There is no such population here.")
    account = _account(services, user, population)
    # An empty limit in another account than the master's says nothing.
    balances = [
        balance.to_dict()
        for balance in (account.balances if account else ())
        if balance.charges or (balance.is_limited and (balance.limit_rho or balance.key.account == MASTER))
    ]
    spent = concentrated_epsilon(account.spent.rho) if account else 0.0
    if account and account.pure is not None:
        spent = min(spent, float(account.pure))
    return _desk(
        request,
        "custodian/budget.html",
        user,
        "budget",
        population=population,
        account=account,
        balances=balances,
        users=services.custody.users(user),
        rule=services.custody.approval_rule(user, population),
        epsilon_view=wording_of(request).amount(spent),
        beside=sum(account.other_charges.values()) if account else 0,
    )


def _back(population: str) -> str:
    return f"/custodian/budget/{quote(population)}"


def _typed(request: Request, form: Form, name: str) -> str:
    """A number as documents write it, typed as the reader's language does."""
    return numbers.read(form.one(name), language_of(request))


@router.post("/budget/{population}/grant")
def grant(request: Request, population: str, user: CurrentUser, form: Form) -> Response:
    rho, delta = _typed(request, form, "rho"), _typed(request, form, "delta") or "0"
    services_of(request).custody.grant(user, population, rho, delta, form.one("note"))
    return redirect(request, _back(population), "custody.granted_ok", rho=numbers.typed(rho, language_of(request)))


@router.post("/budget/{population}/quota")
def quota(request: Request, population: str, user: CurrentUser, form: Form) -> Response:
    name, rho = form.one("analyst"), _typed(request, form, "rho")
    services_of(request).custody.set_quota(user, population, name, rho, _typed(request, form, "delta") or "0")
    text = numbers.typed(rho, language_of(request))
    return redirect(request, _back(population), "custody.quota_ok", name=name, rho=text)


@router.post("/budget/{population}/approval")
def approval(request: Request, population: str, user: CurrentUser, form: Form) -> Response:
    above = _typed(request, form, "above") or None
    if services_of(request).custody.set_approval(user, population, above):
        return redirect(request, _back(population), "custody.approval_ok")
    return redirect(request, _back(population), "custody.approval_proposed", "care")


@router.get("/approvals")
def approvals(request: Request, user: CurrentUser) -> Response:
    require(user, Role.CUSTODIAN)
    services = services_of(request)
    wording = wording_of(request)
    jobs = [
        {
            "job": job,
            "title": wording.request_title(job.dataset, job.request),
            "preview": _or_none(services.releasing.preview, user, job.dataset, dict(job.request)),
            "quota": _or_none(services.releasing.quota_of_job, user, job),
            "refusal": _approval_error(services, user, job),
        }
        for job in services.custody.approvals(user)
    ]
    return _desk(request, "custodian/approvals.html", user, "approvals", jobs=jobs)


def _or_none(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a card shows, or None where it is refused: the card itself must always be shown."""
    try:
        return function(*arguments)
    except DaleniusError:
        return None


def _approval_error(services: Services, user: User, job: JobView) -> DaleniusError | None:
    """Why a waiting request could not be released even if it were approved."""
    try:
        return services.custody.approval_refusal(user, job.id)
    except DaleniusError as error:
        return error


@router.post("/approvals/{job_id}")
def decide(request: Request, job_id: str, user: CurrentUser, form: Form) -> Response:
    services = services_of(request)
    if form.one("decision") == "approve":
        services.custody.approve(user, job_id)
        return redirect(request, "/custodian/approvals", "custody.approved_ok")
    services.custody.refuse(user, job_id, form.one("reason"))
    return redirect(request, "/custodian/approvals", "custody.refused_ok")


@router.get("/releases")
def releases(request: Request, user: CurrentUser, status: str = "") -> Response:
    require(user, Role.CUSTODIAN)
    _, views = services_of(request).reading.releases(user, status=status, limit=200)
    return _desk(request, "custodian/releases.html", user, "releases", releases=views, chosen=status)


@router.post("/releases/{entry}/status")
def set_status(request: Request, entry: str, user: CurrentUser, form: Form) -> Response:
    services = services_of(request)
    status = form.one("status")
    if status == Status.WITHDRAWN and form.one("confirm") != "yes":
        require(user, Role.CUSTODIAN)
        asked = services.reading.release_view(user, entry)
        return _desk(request, "custodian/withdraw.html", user, "releases", view=asked, back=form.one("back"))
    view = services.custody.set_status(user, entry, status)
    word = wording_of(request).t(f"status.{view.status}")
    back = "/custodian/releases" if form.one("back") else f"/r/{quote(entry)}"
    return redirect(request, back, "custody.status_ok", status=word)


@router.get("/policy")
def policy(request: Request, user: CurrentUser) -> Response:
    require(user, Role.CUSTODIAN)
    services, wording = services_of(request), wording_of(request)
    policies = []
    for view in services.reading.datasets():
        document = services.desk.find(view.name).curator.policy
        text = json.dumps(document.to_dict(), indent=2, ensure_ascii=False)
        policies.append((view, _rules(document, wording), text))
    return _desk(request, "custodian/policy.html", user, "policy", policies=policies)


def _rules(policy: Any, wording: Wording) -> list[tuple[str, str]]:
    none = wording.t("policy.none")

    def number(value: Any) -> str:
        return wording.typed(plain(value))

    def quota(part: Any) -> str:
        return (
            none if part is None else f"ρ = {number(part.rho)}" + (f", δ = {number(part.delta)}" if part.delta else "")
        )

    allow = policy.allow
    return [
        ("budget", quota(policy.budget)),
        ("default_quota", quota(policy.default_quota)),
        ("approval_above", none if policy.approval_above is None else f"ρ = {number(policy.approval_above)}"),
        ("definitions", ", ".join(allow.definitions) if allow.definitions is not None else wording.t("policy.all")),
        ("evidence", ", ".join(str(level) for level in allow.evidence)),
        ("most_cells", wording.num(allow.most_cells)),
        ("sensitive", ", ".join(f"{name} (ρ = {number(part.rho)})" for name, part in policy.sensitive.items()) or none),
        ("release", wording.t(f"status.{policy.release}")),
    ]


@router.get("/users")
def users(request: Request, user: CurrentUser) -> Response:
    require(user, Role.CUSTODIAN)
    return _users(request, user, "", "")


def _users(request: Request, user: User, name: str, password: str) -> Response:
    accounts = services_of(request).custody.users(user)
    return _desk(request, "custodian/users.html", user, "users", users=accounts, password=password, password_of=name)


@router.post("/users")
def change_user(request: Request, user: CurrentUser, form: Form) -> Response:
    """Create a user, give a new password, or sign somebody out for good."""
    services, name, what = services_of(request), form.one("name").strip(), form.one("what")
    if what == "create":
        return _users(request, user, name, services.custody.create_user(user, name, form.one("role")))
    if what == "reset":
        return _users(request, user, name, services.custody.reset_password(user, name))
    if what == "deactivate":
        services.custody.deactivate(user, name)
        return redirect(request, "/custodian/users", "custody.deactivated_ok", name=name)
    return RedirectResponse("/custodian/users", 303)
