"""Planning and releasing: previews without data, releases as jobs, quotas and saved tables."""

import asyncio
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import astuple
from typing import Any

from dalenius import errors
from dalenius.core import registry
from dalenius.core.budget import MASTER
from dalenius.core.release import Status
from dalenius.server import logs, presentation
from dalenius.server.accounts import RELEASERS, Accounts, Role, User, named, require
from dalenius.server.errors import Forbidden, NotFound, NotReleased, StaleRequest, body_of
from dalenius.server.jobs import Job, Queue
from dalenius.server.operations import Document, Quote, RequestService, Served
from dalenius.server.reading import Reading
from dalenius.server.security import RateLimiter
from dalenius.server.store import StateStore
from dalenius.server.views import JobView, Preview, QuotaView, ReleaseView, SavedTable
from dalenius.spec.batch import Asked, BatchDocument, members_of
from dalenius.spec.load import load_asked


def deactivated(name: str) -> Forbidden:
    """The refusal for whatever a user left behind who may no longer sign in."""
    return Forbidden(f"The account of {name!r} was deactivated; what it asked for is not released.")


def renewed(name: str) -> Forbidden:
    """The refusal for what awaited approval when somebody else renewed the asker's password."""
    return Forbidden(f"The password of {name!r} was renewed; what was asked for before is not released. Ask again.")


def _answers(view: ReleaseView | None, user: User) -> bool:
    """Whether a stored release would be served again to this user, for free."""
    if view is None or view.status == Status.PUBLISHED:
        return view is not None
    return view.analyst == user.name and view.status in (Status.DRAFT, Status.EMBARGOED)


def _without_quota(user: User, served: Served, quota: QuotaView) -> errors.QuotaExhausted | None:
    """On confidential data an analyst spends inside a quota, so that what is left to others cannot be sounded out."""
    if user.may_read_ledger or served.curator.domain.is_public or quota.limit is not None:
        return None
    return errors.QuotaExhausted(
        f"You have no quota on the population {quota.population!r} yet; the custodian gives you one."
        if quota.account == MASTER
        else f"You have no quota in the {quota.account} account of the population {quota.population!r}; the custodian "
        "gives you one.",
        population=quota.population,
        account=quota.account,
    )


class Releasing:
    """For analysts and custodians; previews are for everybody."""

    def __init__(
        self, key: bytes, store: StateStore, accounts: Accounts, limiter: RateLimiter, jobs: Queue, reading: Reading
    ) -> None:
        self._key, self._limiter = key, limiter
        self.store, self.accounts, self.jobs, self.reading = store, accounts, jobs, reading
        self.desk: RequestService = reading.desk
        self._lists, self._limits = reading.lists, reading.desk.config.limits

    def preview(self, user: User, dataset: str, document: Document) -> Preview:
        """Cells, cost, expected error, and whether it was released before; the own quota of who may release.

        Documents alone are read, so everybody may ask; of a batch, which takes more arithmetic, those who may release.
        """
        served, (asked, advice) = self.desk.find(dataset), self.desk.read_priced(dataset, document)
        if isinstance(asked, BatchDocument):
            require(user, *RELEASERS)
        quote = self.desk.quote(served, asked, user.name, is_stored=True)
        quota = self.quota(user, dataset, quote.charge.account) if user.may_release else None
        stored = self.reading.shown(user, self.desk.stored(quote))
        already, from_list = stored if _answers(stored, user) else None, self._is_listed(served, asked)
        refusal = None
        if quota is not None:
            refusal = self._preview_refusal(user, served, quote, quota, is_known=stored is not None)
        return presentation.preview(
            quote,
            self._limits.direct_cells,
            advice,
            digest=self._digest(quote),
            quota=quota,
            already=already,
            from_list=from_list,
            refusal=None if already is not None or from_list else refusal,
        )

    def _is_listed(self, served: Served, asked: Asked) -> bool:
        """Whether the stored list answers what is asked, or a table of it: there is one number for one fact."""
        return any(self._lists.answer(served, member) is not None for member in members_of(asked))

    def _digest(self, quote: Quote) -> str:
        """What a preview showed, in a word: the request, what it means here, the plan and the price.

        Keyed, because the memo key binds the file's fingerprint, of which nothing is told.
        """
        charge = quote.charge
        text = "\0".join(("preview", charge.key, charge.plan_digest, *map(str, astuple(charge.units))))
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()[:32]

    def _preview_refusal(
        self, user: User, served: Served, quote: Quote, quota: QuotaView, *, is_known: bool
    ) -> Mapping[str, Any] | None:
        """The refusal that a preview names: to an analyst the own quota's and the policy's, never the population's.

        What is left to everybody speaks only to who really asks for a release.
        """
        refusal = self.desk.refusal(quote, as_new=not (is_known or user.may_read_ledger))
        if not user.may_read_ledger:
            refusal = _without_quota(user, served, quota) or refusal
            if isinstance(refusal, errors.BudgetExhausted):
                return None
        return None if refusal is None else body_of(refusal)

    def submit(
        self, user: User, dataset: str, document: Document, key: str = "", *, seen: str | None = None
    ) -> JobView:
        """Queue a release. Everything that can be refused without data is refused here, before anything is queued.

        `seen` is the digest of the preview that the caller looked at; a request that is not that one is refused.
        """
        require(user, *RELEASERS)
        if len(key) > 200 or not key.isprintable():
            raise errors.ParameterError("An idempotency key has at most 200 printable characters.")
        served = self.desk.find(dataset)
        request = self.desk.read_asked(dataset, document)
        if served.entry.mode == "list" and not user.is_custodian:
            for member in members_of(request):
                self._lists.find(served, member)
            raise errors.NotAllowed(
                f"{served.name} is served from its stored list; tables that the list does not hold are not released.",
                dataset=served.name,
            )
        if self._is_listed(served, request):
            what = "a table of this batch" if isinstance(request, BatchDocument) else "this table"
            raise errors.Conflict(f"The stored list holds {what}: it is free, and there is one number for one fact.")
        self._limiter.take("release", user.name, self._limits.releases_per_minute)
        quote = self.desk.quote(served, request, user.name, is_stored=True)
        if seen is not None and not hmac.compare_digest(seen.encode(), self._digest(quote).encode()):
            raise StaleRequest
        refusal = _without_quota(user, served, self.quota(user, dataset, quote.charge.account))
        if refusal is not None:
            raise refusal
        job = self.jobs.submit(
            user.name, dataset, request.to_dict(), quote.cells, key, most=self._limits.waiting_per_user
        )
        return self.job(user, job)

    def run_job(self, job: Job, stage: Any) -> str:
        served = self.desk.find(job.dataset)
        request = self.desk.read_asked(job.dataset, load_asked(job.request))
        user = self.accounts.find(job.name)
        if user is None or not user.may_release:
            raise deactivated(job.name)
        approved_by = job.approved_by if self.may_approve(job.approved_by, job.name) else ""
        try:
            entry = self.desk.release(served, request, analyst=job.name, approved_by=approved_by, stage=stage)
        except (errors.BudgetExhausted, errors.NotPublic, errors.Conflict) as error:
            raise self._public_error(user, served, request, error) from None
        view = self.desk.catalogue.refreshed().get(entry)
        if self.reading.shown(user, view) is None:
            # The charge of a worker that died was completed for somebody else, who holds the release back.
            raise NotReleased
        return entry

    def may_approve(self, name: str, asker: str) -> bool:
        """Whether somebody is a second person: an active custodian, not the asker, and without the asker's password."""
        approver = self.accounts.find(name) if name else None
        if approver is None or not approver.is_custodian:
            return False
        return name != asker and self.accounts.issuer(asker) != name

    def _public_error(
        self, user: User, served: Served, request: Asked, error: errors.DaleniusError
    ) -> errors.DaleniusError:
        """Return what an analyst may read: as if nobody else had asked, and nothing of what is left to others."""
        if user.may_read_ledger or (isinstance(error, errors.Conflict) and "key" in error.detail):
            return error
        if not isinstance(error, errors.BudgetExhausted):
            quote = self.desk.quote(served, request, user.name)
            if self.reading.shown(user, self.desk.stored(quote)) is not None:
                return error
            otherwise = self.desk.refusal(quote, as_new=True)
            if otherwise is not None and not isinstance(otherwise, errors.BudgetExhausted):
                return otherwise
        logs.event("refused", code=error.code, dataset=served.name, user=user.name)
        return NotReleased()

    async def wait(self, user: User, job_id: str, seconds: float | None = None) -> JobView:
        """The job when it is finished, or as it stands after `seconds`; looked at on ticks only."""
        loop = asyncio.get_running_loop()
        view = await loop.run_in_executor(None, self.job, user, job_id)
        until = time.time() + (self._limits.wait_seconds if seconds is None else seconds)
        while not view.is_finished and view.state != "awaiting approval" and time.time() < until:
            tick = self.jobs.next_tick(view.created, time.time())
            await asyncio.sleep(max(tick - time.time(), 0.0) + 0.001)
            view = await loop.run_in_executor(None, self.job, user, job_id)
        return view

    def job(self, user: User, job_id: str) -> JobView:
        """A job of one's own; a custodian sees everybody's."""
        require(user, *RELEASERS)
        job = self.jobs.find(job_id)
        if job.name != user.name and not user.is_custodian:
            raise NotFound("There is no such job.")
        return job.view(time.time())

    def jobs_of(self, user: User) -> tuple[JobView, ...]:
        require(user, *RELEASERS)
        return tuple(job.view(time.time()) for job in self.jobs.of(user.name))

    def quota(self, user: User, dataset: str, account: str = MASTER) -> QuotaView:
        require(user, *RELEASERS)
        return self.desk.quota(dataset, user.name, account)

    def quota_of_job(self, user: User, job: JobView) -> QuotaView:
        """The quota that a job is paid from: its asker's, for themselves and for who decides about it."""
        require(user, *RELEASERS)
        if job.analyst != user.name:
            require(user, Role.CUSTODIAN)
        definition = load_asked(dict(job.request)).privacy.definition
        return self.desk.quota(job.dataset, job.analyst, registry.get("definitions", definition).account)

    def saved(self, user: User) -> tuple[SavedTable, ...]:
        sql = "SELECT title, dataset, request, created FROM saved WHERE name = ? ORDER BY created DESC"
        return tuple(
            SavedTable(title=title, dataset=dataset, request=json.loads(text), created=created)
            for title, dataset, text, created in self.store.read(sql, named(user))
        )

    def save(self, user: User, title: str, dataset: str, document: Document) -> None:
        if not 0 < len(title) <= 200 or not title.isprintable():
            raise errors.ParameterError("A title has 1 to 200 printable characters.")
        text = json.dumps(self.desk.read_request(dataset, document).to_dict(), sort_keys=True)
        self.store.write(
            "INSERT INTO saved (name, title, dataset, request, created) VALUES (?, ?, ?, ?, ?) ON CONFLICT (name,"
            " title) DO UPDATE SET dataset = excluded.dataset, request = excluded.request, created = excluded.created",
            named(user), title, dataset, text, time.time(),
        )  # fmt: skip

    def forget(self, user: User, title: str) -> None:
        self.store.write("DELETE FROM saved WHERE name = ? AND title = ?", named(user), title)
