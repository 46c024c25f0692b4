"""What custodian and auditor do: statements, verification, grants, quotas, approvals, status, users."""

import secrets
import time

from dalenius.core.budget import UNIT, units_down
from dalenius.core.rationals import plain, rational
from dalenius.core.sealed import Confidential
from dalenius.errors import ApprovalRequired, Conflict, DaleniusError
from dalenius.ledger.account import Account
from dalenius.ledger.statement import Statement
from dalenius.ledger.verify import VerifyReport
from dalenius.server.accounts import READERS, RELEASERS, Role, User, named, require
from dalenius.server.errors import Forbidden, NotFound
from dalenius.server.operations import outages
from dalenius.server.releasing import Releasing, deactivated, renewed
from dalenius.server.views import ApprovalRule, JobView, ReleaseView
from dalenius.spec.load import load_asked

_PROPOSAL_SECONDS = 7 * 86_400.0


class Custody:
    """Nothing here reads data; `register` asks the curator to judge them once."""

    def __init__(self, releasing: Releasing) -> None:
        self._releasing, self._reading, self._desk = releasing, releasing.reading, releasing.desk
        self._store, self._accounts, self._jobs = releasing.store, releasing.accounts, releasing.jobs

    def statement(self, user: User, population: str, *, everybody: bool = False) -> Statement:
        """Movements and balances: one's own, or everybody's for custodian and auditor."""
        require(user, *(READERS if everybody else (*RELEASERS, Role.AUDITOR)))
        self._check_population(population)
        with outages():
            return self._desk.ledger.reader.statement(population, None if everybody else user.name)

    def populations(self, user: User) -> tuple[str, ...]:
        named(user)
        return self._desk.populations()

    def _check_population(self, population: str) -> None:
        if population not in self._desk.populations():
            raise NotFound("There is no such population here.")

    def ledger_lines(self, user: User, population: str | None, form: str) -> str:
        require(user, *READERS)
        with outages():
            return self._desk.ledger.reader.export(form, population)

    def verify(self, user: User) -> VerifyReport:
        """Recompute the chain, the totals and the digests of the stored releases."""
        require(user, *READERS)
        with outages():
            return self._desk.ledger.reader.verify()

    def account(self, user: User, population: str) -> Account:
        require(user, *READERS)
        with outages():
            return self._desk.ledger.reader.account(population)

    def grant(self, user: User, population: str, rho: str, delta: str, note: str = "") -> None:
        require(user, Role.CUSTODIAN)
        self._check_population(population)
        served = next(s for s in self._desk.served.values() if s.curator.domain.population == population)
        relation = served.curator.domain.neighbours.relation
        with outages():
            self._desk.ledger.declarations.grant(population, relation, rho, delta, by=user.name, note=note[:200])

    def set_quota(self, user: User, population: str, analyst: str, rho: str, delta: str) -> None:
        """Set what an analyst may spend in all, in each account that has a budget."""
        require(user, Role.CUSTODIAN)
        if self._accounts.find(analyst) is None:
            raise NotFound("There is no such user.")
        with outages():
            self._desk.ledger.quota_in_every_account(population, analyst, rho, delta, by=user.name)

    def approval_rule(self, user: User, population: str) -> ApprovalRule:
        """The rule of a second person as it is, and what somebody proposed instead."""
        require(user, *READERS)
        now = self._desk.approval_above(population)
        proposed = self._proposed(population)
        return ApprovalRule(
            above=None if now is None else plain(now * UNIT),
            proposed=None if proposed is None else {"above": proposed[0] or None, "by": proposed[1]},
        )

    def set_approval(self, user: User, population: str, above: str | None) -> bool:
        """Ask for a second person above a rho; None asks for nobody. False if it waits for another custodian.

        One custodian may ask for more approvals at once. Fewer, or none, is itself a matter for two: it is in force
        when another custodian sets the same.
        """
        require(user, Role.CUSTODIAN)
        self._check_population(population)
        now = self._desk.approval_above(population)
        wanted = None if above is None else units_down(rational(above, "above"))
        text = "" if wanted is None else plain(wanted * UNIT)
        by = user.name
        if now is not None and (wanted is None or wanted > now):
            proposed = self._proposed(population)
            if proposed is None or proposed[0] != text or not self._releasing.may_approve(by, proposed[1]):
                self._store.write(
                    "INSERT INTO proposals (population, above, by_whom, created) VALUES (?, ?, ?, ?) ON CONFLICT"
                    " (population) DO UPDATE SET above = excluded.above, by_whom = excluded.by_whom,"
                    " created = excluded.created",
                    population, text, by, time.time(),
                )  # fmt: skip
                return False
            by = f"{proposed[1]} and {by}"
        with outages():
            self._desk.ledger.declarations.approval(population, text or None, by=by)
        self._store.write("DELETE FROM proposals WHERE population = ?", population)
        return True

    def _proposed(self, population: str) -> tuple[str, str] | None:
        rows = self._store.read(
            "SELECT above, by_whom FROM proposals WHERE population = ? AND created > ?",
            population, time.time() - _PROPOSAL_SECONDS,
        )  # fmt: skip
        proposer = self._accounts.find(rows[0][1]) if rows else None
        return (str(rows[0][0]), proposer.name) if proposer is not None and proposer.is_custodian else None

    def approvals(self, user: User) -> tuple[JobView, ...]:
        require(user, Role.CUSTODIAN)
        return tuple(job.view(time.time()) for job in self._jobs.awaiting())

    def approve(self, user: User, job_id: str) -> None:
        """Let a large release go ahead; nobody approves their own."""
        require(user, Role.CUSTODIAN)
        asker = self._jobs.find(job_id).name
        if asker == user.name:
            raise Forbidden("A second person must approve this; you asked for it yourself.")
        if self._accounts.find(asker) is None:
            raise deactivated(asker)
        if not self._releasing.may_approve(user.name, asker):
            raise Forbidden(
                f"You issued the password of {asker!r}, so you are no second person to them; another custodian must"
                " approve this."
            )
        refusal = self.approval_refusal(user, job_id)
        if refusal is not None:
            raise refusal
        self._jobs.decide(job_id, user.name)

    def approval_refusal(self, user: User, job_id: str) -> DaleniusError | None:
        """What would refuse a waiting release even with this custodian's approval: the asker's quota, the account."""
        require(user, Role.CUSTODIAN)
        job = self._jobs.find(job_id)
        try:
            served = self._desk.find(job.dataset)
            request = self._desk.read_request(job.dataset, load_asked(job.request))
            quote = self._desk.quote(served, request, job.name, approved_by=user.name)
            refusal = self._desk.refusal(quote, as_new=False)
        except DaleniusError as error:
            refusal = error
        return None if isinstance(refusal, ApprovalRequired) else refusal

    def refuse(self, user: User, job_id: str, reason: str = "") -> None:
        require(user, Role.CUSTODIAN)
        refusal = Forbidden(f"The custodian refused this release. {reason[:300]}".strip())
        self._jobs.decide(job_id, user.name, refusal)

    def set_status(self, user: User, entry: str, status: str) -> ReleaseView:
        """Publish, embargo or withdraw; the charge stands."""
        require(user, Role.CUSTODIAN)
        if entry not in self._desk.catalogue.refreshed():
            raise NotFound("There is no such release.")
        with outages():
            self._desk.ledger.set_status(entry, status, by=user.name)
        return self._reading.release_view(user, entry)

    def register(self, user: User, dataset: str, accept_unseen: bool = False) -> Confidential | None:
        """Judge and register a data set; the report on its content goes back to this custodian and nowhere else."""
        require(user, Role.CUSTODIAN)
        self._desk.find(dataset)
        return self._desk.register_all(by=user.name, only=dataset, accept_unseen=accept_unseen).get(dataset)

    def is_registered(self, user: User, dataset: str) -> bool:
        require(user, *READERS)
        return self._desk.is_registered(self._desk.find(dataset))

    def create_user(self, user: User, name: str, role: str) -> str:
        """A new analyst or auditor; the password is shown this once. A custodian is made on the server machine."""
        require(user, Role.CUSTODIAN)
        if role == Role.CUSTODIAN:
            raise Forbidden(
                "Custodians approve for each other, so none makes another; on the server machine:"
                " dalenius serve CONFIG --add-user NAME:custodian."
            )
        password = secrets.token_urlsafe(15)
        self._accounts.create(name, role, password, by=user.name)
        return password

    def users(self, user: User) -> tuple[User, ...]:
        require(user, Role.CUSTODIAN)
        return self._accounts.users()

    def reset_password(self, user: User, name: str) -> str:
        """Renew a password that is not a custodian's; the user's sessions and waiting requests end."""
        require(user, Role.CUSTODIAN)
        account = self._accounts.find(name)
        if account is None:
            raise NotFound("There is no such user.")
        if account.is_custodian:
            raise Forbidden(
                "A custodian's password is changed by its owner, or renewed on the server machine:"
                " dalenius serve CONFIG --reset-password NAME."
            )
        password = secrets.token_urlsafe(15)
        self._accounts.set_password(name, password, by=user.name)
        # Who issued the password now is a second person to what comes; what was asked before, others may have asked.
        self._jobs.end_all(name, renewed(name))
        return password

    def deactivate(self, user: User, name: str) -> None:
        """Sign a user out for good; nobody does that to themselves."""
        require(user, Role.CUSTODIAN)
        if name == user.name:
            raise Conflict("You cannot deactivate yourself.")
        self._accounts.deactivate(name)
        self._jobs.end_all(name, deactivated(name))
