"""What custodian and auditor do: statements, verification, grants, quotas, approvals, status, users."""

import secrets
import time

from dalenius.errors import Conflict
from dalenius.ledger.account import Account
from dalenius.ledger.statement import Statement
from dalenius.ledger.verify import VerifyReport
from dalenius.server.accounts import Role, User
from dalenius.server.auth import require
from dalenius.server.errors import Forbidden, NotFound
from dalenius.server.parts import READERS, RELEASERS
from dalenius.server.reading import Reading
from dalenius.server.views import JobView, ReleaseView


class Custody(Reading):
    """Nothing here reads data; `register` asks the curator to judge them once."""

    def statement(self, user: User, population: str, *, everybody: bool = False) -> Statement:
        """Movements and balances: one's own, or everybody's for custodian and auditor."""
        require(user, *(READERS if everybody else (*RELEASERS, Role.AUDITOR)))
        if population not in self.served_populations():
            raise NotFound("There is no such population here.")
        with self.desk.outages():
            return self.desk.ledger.statement(population, None if everybody else user.name)

    def populations(self, user: User) -> tuple[str, ...]:
        """Populations of the served data sets."""
        self.named(user)
        return self.served_populations()

    def ledger_lines(self, user: User, population: str | None = None, form: str = "json") -> str:
        """Every line of the ledger."""
        require(user, *READERS)
        with self.desk.outages():
            return self.desk.ledger.export(form, population)

    def verify(self, user: User) -> VerifyReport:
        """Recompute the chain, the totals and the digests of the stored releases."""
        require(user, *READERS)
        with self.desk.outages():
            return self.desk.ledger.verify()

    def account(self, user: User, population: str) -> Account:
        """The master account."""
        require(user, *READERS)
        with self.desk.outages():
            return self.desk.ledger.account(population)

    def grant(self, user: User, population: str, rho: str, delta: str, note: str = "") -> None:
        """Add to a population's budget."""
        require(user, Role.CUSTODIAN)
        if population not in self.served_populations():
            raise NotFound("There is no such population here.")
        served = next(s for s in self.desk.served.values() if s.curator.domain.population == population)
        relation = served.curator.domain.neighbours.relation
        with self.desk.outages():
            self.desk.ledger.grant(population, relation, rho, delta, by=user.name, note=note[:200])

    def set_quota(self, user: User, population: str, analyst: str, rho: str, delta: str) -> None:
        """Set what an analyst may spend in all."""
        require(user, Role.CUSTODIAN)
        if self.accounts.find(analyst) is None:
            raise NotFound("There is no such user.")
        with self.desk.outages():
            self.desk.ledger.quota(population, analyst, rho, delta, by=user.name)

    def set_approval(self, user: User, population: str, above: str | None) -> None:
        """Ask for a second person above a rho; None asks no more."""
        require(user, Role.CUSTODIAN)
        with self.desk.outages():
            self.desk.ledger.approval(population, above, by=user.name)

    def approvals(self, user: User) -> tuple[JobView, ...]:
        """What awaits a second person."""
        require(user, Role.CUSTODIAN)
        return tuple(job.view(time.time()) for job in self.jobs.awaiting())

    def approve(self, user: User, job_id: str) -> None:
        """Let a large release go ahead; nobody approves their own."""
        require(user, Role.CUSTODIAN)
        if self.jobs.find(job_id).name == user.name:
            raise Forbidden("A second person must approve this; you asked for it yourself.")
        self.jobs.decide(job_id, user.name)

    def refuse(self, user: User, job_id: str, reason: str = "") -> None:
        """Refuse a large release; nothing was spent."""
        require(user, Role.CUSTODIAN)
        refusal = Forbidden(f"The custodian refused this release. {reason[:300]}".strip())
        self.jobs.decide(job_id, user.name, refusal)

    def set_status(self, user: User, entry: str, status: str) -> ReleaseView:
        """Publish, embargo or withdraw; the charge stands."""
        require(user, Role.CUSTODIAN)
        if entry not in self.desk.catalogue.refreshed():
            raise NotFound("There is no such release.")
        with self.desk.outages():
            self.desk.ledger.set_status(entry, status, by=user.name)
        return self.release_view(user, entry)

    def register(self, user: User, dataset: str) -> None:
        """Judge and register a data set; the report stays with the custodian's own tools."""
        require(user, Role.CUSTODIAN)
        self.desk.find(dataset)
        self.desk.register_all(by=user.name, only=dataset)

    def create_user(self, user: User, name: str, role: str) -> str:
        """A new user; the password is shown this once."""
        require(user, Role.CUSTODIAN)
        password = secrets.token_urlsafe(15)
        self.accounts.create(name, role, password)
        return password

    def users(self, user: User) -> tuple[User, ...]:
        """Everybody who may sign in."""
        require(user, Role.CUSTODIAN)
        return self.accounts.users()

    def reset_password(self, user: User, name: str) -> str:
        """A new one-time password; the user's sessions end."""
        require(user, Role.CUSTODIAN)
        if self.accounts.find(name) is None:
            raise NotFound("There is no such user.")
        password = secrets.token_urlsafe(15)
        self.accounts.set_password(name, password)
        return password

    def deactivate(self, user: User, name: str) -> None:
        """Sign a user out for good; nobody does that to themselves."""
        require(user, Role.CUSTODIAN)
        if name == user.name:
            raise Conflict("You cannot deactivate yourself.")
        self.accounts.deactivate(name)
