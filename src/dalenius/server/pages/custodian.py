"""The custodian's desk: data sets, budgets, quotas, approvals, publication, policy, users."""

import json
from collections.abc import Callable
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends
from fastapi.responses import RedirectResponse, Response

from dalenius.core.budget import MASTER
from dalenius.core.rationals import plain
from dalenius.core.release import Status
from dalenius.errors import DaleniusError, Undeclared
from dalenius.ledger.policy import policy_digest
from dalenius.server.accounts import Role, require
from dalenius.server.errors import NotFound
from dalenius.server.pages.page import Caller, Form, PageRoute, Visit
from dalenius.server.pages.wording import Wording, concentrated_epsilon
from dalenius.spec.coding import Remark
from dalenius.spec.content import ODD, worth_a_look

router = APIRouter(prefix="/custodian", route_class=PageRoute, include_in_schema=False)


def _custodian(visit: Caller) -> Visit:
    require(visit.user, Role.CUSTODIAN)
    return visit


Custodian = Annotated[Visit, Depends(_custodian)]


def _desk(visit: Visit, template: str, section: str, **context: Any) -> Response:
    custody = visit.services.custody
    populations = custody.populations(visit.user)
    budget = f"/custodian/budget/{quote(populations[0])}" if populations else "/custodian"
    further = [(name, f"/custodian/{name}") for name in ("approvals", "releases", "policy", "users")]
    tabs = [("datasets", "/custodian"), ("budget", budget), *further]
    waiting = len(custody.approvals(visit.user))
    return visit.render(
        template, section=section, custody_tabs=tabs, waiting=waiting, populations=populations, **context
    )


@router.get("")
def datasets(visit: Custodian) -> Response:
    reading, cards = visit.services.reading, []
    for view in reading.datasets():
        is_registered = visit.services.custody.is_registered(visit.user, view.name)
        listed = reading.list_view(view.name) if view.has_list else None
        cards.append((view.in_language(visit.wording.language), is_registered, listed))
    return _desk(visit, "custodian/datasets.html", "datasets", datasets=cards)


def _account(visit: Visit, population: str) -> Any:
    """The account of a population, or nothing if nobody registered a data set on it."""
    try:
        return visit.services.custody.account(visit.user, population)
    except DaleniusError as error:
        if error.http_status >= 500:
            raise
        return None


@router.post("/datasets/{name}/register")
def register(visit: Caller, name: str, form: Form) -> Response:
    """Judge and register a data set; its content is shown to this custodian, once, and kept nowhere."""
    accepts = form.one("accept_unseen") == "yes"
    try:
        report = visit.services.custody.register(visit.user, name, accept_unseen=accepts)
    except Undeclared as refused:
        return _content(visit, name, refused.report, is_refused=True)
    if report is None:
        return visit.redirect("/custodian", "custody.registered_ok")
    return _content(visit, name, report, is_refused=False)


def _content(visit: Visit, name: str, report: Any, *, is_refused: bool) -> Response:
    """Values by variable under the banner, what the account holds, and the word of consent where it is needed."""
    content = report.reveal()
    curator = visit.services.desk.find(name).curator
    desk = _desk(
        visit,
        "custodian/content.html",
        "datasets",
        name=name,
        is_refused=is_refused,
        rows=content["rows"],
        notes=[str(note) for note in (Remark.VALID, Remark.MISSING, *ODD)],
        variables=content["variables"],
        odd=worth_a_look(content["variables"]),
        account=None if is_refused else visit.services.custody.account(visit.user, curator.domain.population),
        policy=policy_digest(curator.policy)[:12],
        epsilon_of=lambda rho: f"{concentrated_epsilon(rho):.3g}",
    )
    desk.headers["cache-control"] = "no-store"
    return desk


@router.post("/datasets/{name}/list")
def release_list(visit: Caller, name: str, form: Form) -> Response:
    visit.services.reading.release_list(visit.user, name)
    return visit.redirect("/custodian", "custody.list_ok")


@router.get("/budget/{population}")
def budget(visit: Custodian, population: str) -> Response:
    user, custody = visit.user, visit.services.custody
    if population not in custody.populations(user):
        raise NotFound("There is no such population here.")
    account = _account(visit, population)
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
        visit,
        "custodian/budget.html",
        "budget",
        population=population,
        account=account,
        balances=balances,
        users=custody.users(user),
        rule=custody.approval_rule(user, population),
        epsilon_view=visit.wording.amount(spent),
        beside=sum(account.other_charges.values()) if account else 0,
    )


def _back(population: str) -> str:
    return f"/custodian/budget/{quote(population)}"


def _typed(visit: Visit, form: Form, name: str) -> str:
    return visit.wording.read(form.one(name))


@router.post("/budget/{population}/grant")
def grant(visit: Caller, population: str, form: Form) -> Response:
    rho, delta = _typed(visit, form, "rho"), _typed(visit, form, "delta") or "0"
    visit.services.custody.grant(visit.user, population, rho, delta, form.one("note"))
    return visit.redirect(_back(population), "custody.granted_ok", rho=visit.wording.typed(rho))


@router.post("/budget/{population}/quota")
def quota(visit: Caller, population: str, form: Form) -> Response:
    name, rho = form.one("analyst"), _typed(visit, form, "rho")
    visit.services.custody.set_quota(visit.user, population, name, rho, _typed(visit, form, "delta") or "0")
    return visit.redirect(_back(population), "custody.quota_ok", name=name, rho=visit.wording.typed(rho))


@router.post("/budget/{population}/approval")
def approval(visit: Caller, population: str, form: Form) -> Response:
    above = _typed(visit, form, "above") or None
    if visit.services.custody.set_approval(visit.user, population, above):
        return visit.redirect(_back(population), "custody.approval_ok")
    return visit.redirect(_back(population), "custody.approval_proposed", "care")


@router.get("/approvals")
def approvals(visit: Custodian) -> Response:
    user, custody, releasing = visit.user, visit.services.custody, visit.services.releasing
    jobs = [
        {
            "job": job,
            "title": visit.wording.request_title(job.dataset, job.request),
            "preview": _or_none(releasing.preview, user, job.dataset, dict(job.request)),
            "quota": _or_none(releasing.quota_of_job, user, job),
            "refusal": custody.approval_refusal(user, job.id),
        }
        for job in custody.approvals(user)
    ]
    return _desk(visit, "custodian/approvals.html", "approvals", jobs=jobs)


def _or_none(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a card shows, or None where it is refused: the card itself must always be shown."""
    try:
        return function(*arguments)
    except DaleniusError:
        return None


@router.post("/approvals/{job_id}")
def decide(visit: Caller, job_id: str, form: Form) -> Response:
    if form.one("decision") == "approve":
        visit.services.custody.approve(visit.user, job_id)
        return visit.redirect("/custodian/approvals", "custody.approved_ok")
    visit.services.custody.refuse(visit.user, job_id, form.one("reason"))
    return visit.redirect("/custodian/approvals", "custody.refused_ok")


@router.get("/releases")
def releases(visit: Custodian, status: str = "") -> Response:
    _, views = visit.services.reading.releases(visit.user, status=status, limit=200)
    return _desk(visit, "custodian/releases.html", "releases", releases=views, chosen=status)


@router.post("/releases/{entry}/status")
def set_status(visit: Caller, entry: str, form: Form) -> Response:
    status = form.one("status")
    if status == Status.WITHDRAWN and form.one("confirm") != "yes":
        require(visit.user, Role.CUSTODIAN)
        asked = visit.services.reading.release_view(visit.user, entry)
        return _desk(visit, "custodian/withdraw.html", "releases", view=asked, back=form.one("back"))
    view = visit.services.custody.set_status(visit.user, entry, status)
    back = "/custodian/releases" if form.one("back") else f"/r/{quote(entry)}"
    return visit.redirect(back, "custody.status_ok", status=visit.wording.t(f"status.{view.status}"))


@router.get("/policy")
def policy(visit: Custodian) -> Response:
    policies = []
    for view in visit.services.reading.datasets():
        document = visit.services.desk.find(view.name).curator.policy
        text = json.dumps(document.to_dict(), indent=2, ensure_ascii=False)
        policies.append((view, _rules(document, visit.wording), text))
    return _desk(visit, "custodian/policy.html", "policy", policies=policies)


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
def users(visit: Custodian) -> Response:
    return _users(visit, "", "")


def _users(visit: Visit, name: str, password: str) -> Response:
    accounts = visit.services.custody.users(visit.user)
    return _desk(visit, "custodian/users.html", "users", users=accounts, password=password, password_of=name)


@router.post("/users")
def change_user(visit: Caller, form: Form) -> Response:
    custody, user, name, what = visit.services.custody, visit.user, form.one("name").strip(), form.one("what")
    if what == "create":
        return _users(visit, name, custody.create_user(user, name, form.one("role")))
    if what == "reset":
        return _users(visit, name, custody.reset_password(user, name))
    if what == "deactivate":
        custody.deactivate(user, name)
        return visit.redirect("/custodian/users", "custody.deactivated_ok", name=name)
    return RedirectResponse("/custodian/users", 303)
