"""The file behind a data set: opened once, judged once, tied to its version, and recognised ever after."""

import time
from functools import cached_property

from dalenius.core import registry
from dalenius.core.contracts import ConnectedSource, FileSource, Source, StampedSource
from dalenius.core.domain import Domain
from dalenius.core.sealed import Confidential
from dalenius.engines import open_source
from dalenius.errors import DataChanged, DocumentError, NotAllowed, NotRegistered
from dalenius.ledger import Ledger
from dalenius.ledger.charge import Registration
from dalenius.ledger.known_files import SETTLED_SECONDS
from dalenius.ledger.opening import check_opening, declare_unit, register
from dalenius.ledger.policy import bind, notices, policy_in_force
from dalenius.spec.canonical import digest
from dalenius.spec.content import check_consent
from dalenius.spec.dataset import DatasetDocument
from dalenius.spec.policy import PolicyDocument


class RegisteredSource:
    """A declared data set, its file, and the account of its population."""

    extensions: tuple[registry.Extension, ...] = ()
    """The engine, where another distribution brings it."""

    def __init__(
        self, document: DatasetDocument, *, ledger: Ledger, policy: PolicyDocument | None, data: object = None
    ) -> None:
        self.document = document
        self.ledger = ledger
        self.domain: Domain = document.domain()
        self._data = data
        self._source: Source | None = None
        self._checked: tuple[object, ...] | None = None
        # Whether a stamp that an earlier process saw is enough; a server reads its files once for itself.
        self.trusts_earlier: bool = True
        if policy is not None and policy.population and policy.population != self.domain.population:
            raise NotAllowed(
                f"This policy is meant for the population {policy.population!r}, not for {self.domain.population!r}."
            )
        self.policy: PolicyDocument = policy_in_force(ledger, self.domain, policy)
        self.notices: tuple[str, ...] = notices(ledger, self.domain, policy)

    @property
    def source(self) -> Source:
        if self._source is None:
            secret = self.ledger.secret(self.domain.population)
            with registry.allowing(self.policy.extensions) as used:
                self._source = open_source(self.document, self.domain, secret=secret, data=self._data)
            self.extensions = tuple(used)
        return self._source

    def close(self) -> None:
        source, self._source = self._source, None
        if isinstance(source, ConnectedSource):
            source.close()

    @cached_property
    def domain_digest(self) -> str:
        """Digest of what was declared; where the file lies and how readers of other languages call things is not part
        of it.

        Nor is which numbers may be weights: a request names its weight, and no number means anything else by the mark.
        """
        content = self.document.to_dict()
        content.pop("translations", None)
        for part in content["variables"].values():
            part.pop("weight", None)
        place = ("source", "title", "ledger", "policy")
        content["dataset"] = {k: v for k, v in content["dataset"].items() if k not in place}
        if "tables" in content:
            # Where further tables lie is no more part of it; that there are some is.
            content["tables"] = {
                name: {k: v for k, v in part.items() if k != "source"} for name, part in content["tables"].items()
            }
        return digest(content)

    def register(self, *, by: str = "custodian", accept_unseen: bool = False) -> Confidential:
        """Judge the content once, tie the file to its version, and open the population's account.

        Where most values of a variable are not declared, the custodian consents by `accept_unseen` or it is refused.
        """
        content = dict(self.source.judge())
        if content.get("rows_skipped"):
            raise DocumentError(
                "The file holds records that cannot be read as its format says, so that others may be misread with "
                "them; repair it before you register it."
            )
        self._check_size(int(content["units"]))
        report = Confidential(f"Content of {self.domain.name} {self.domain.version}", content)
        unlisted = [name for name, variable in self.domain.variables.items() if variable.is_unlisted]
        check_consent(report, accept_unseen=accept_unseen, unlisted=unlisted)
        check_opening(self.ledger, self.domain, self.policy, by)
        declare_unit(self.ledger, self.domain, by)
        bind(self.ledger, self.domain, self.policy, by)
        stamp, started = self._stamp(), time.time()
        fingerprint = self._fingerprint()
        register(self.ledger, self.domain, self.policy, by, fingerprint=fingerprint, domain_digest=self.domain_digest)
        self._keep(fingerprint, stamp, started)
        return report

    def _check_size(self, units: int) -> None:
        """Under replace a declared size is published as an exact total, so it must be the file's.

        The custodian learns that it differs, and nothing else: a message holds no figure from a file.
        """
        declared, neighbours = self.domain.public_size, self.domain.neighbours
        if declared is not None and neighbours.is_replace and declared != units:
            what = "rows" if self.domain.unit_id is None else f"different values of {self.domain.unit_id!r}"
            raise DocumentError(
                f"[dataset] declares size = {declared:,}, and the file does not hold as many {what}. Under replace the"
                " size is public and stands in tables as an exact total: correct it, or leave it out. Nothing was"
                " registered.",
                declared=declared,
            )

    def _fingerprint(self) -> str:
        return self.source.fingerprint(self.ledger.secret(self.domain.population))

    def registration(self) -> Registration:
        """What was registered, if it is what the document declares; the file is not looked at."""
        registration = self.ledger.reader.registration(self.domain.name, self.domain.version)
        if registration is None or registration.population != self.domain.population:
            raise NotRegistered(
                f"{self.domain.name} {self.domain.version} is not registered in this ledger; run"
                " `dalenius register` first.",
                dataset=self.domain.name,
                version=self.domain.version,
            )
        if registration.domain_digest != self.domain_digest:
            raise DataChanged(
                "The declaration changed after it was registered; give it a new version and register that."
            )
        return registration

    def registered_fingerprint(self) -> str:
        """The fingerprint of the registered version; the file is hashed again whenever it may have changed."""
        fingerprint = self.registration().fingerprint
        stamp, started = self._stamp(), time.time()
        if stamp is not None and (stamp == self._checked or self._was_seen(fingerprint, stamp)):
            self._checked = stamp
            return fingerprint
        if self._fingerprint() != fingerprint:
            raise DataChanged("The file is not the one that was registered; give it a new version and register that.")
        self._checked = stamp
        self._keep(fingerprint, stamp, started)
        return fingerprint

    def _was_seen(self, fingerprint: str, stamp: tuple[object, ...]) -> bool:
        """Whether an earlier process found the fingerprint of these very files."""
        if self._checked is not None or not self.trusts_earlier or not isinstance(self.source, FileSource):
            return False
        is_lasting = self.source.changed_at() is not None
        return is_lasting and self.ledger.known_files(self.domain.population).holds(fingerprint, stamp)

    def _keep(self, fingerprint: str, stamp: tuple[object, ...] | None, started: float) -> None:
        """Spare later processes the reading of files that did not change shortly before they were read, nor since."""
        source = self.source
        changed = source.changed_at() if isinstance(source, FileSource) else None
        is_settled = changed is not None and changed < started - SETTLED_SECONDS
        if stamp is not None and is_settled and self._stamp() == stamp:
            self.ledger.known_files(self.domain.population).keep(fingerprint, stamp)

    def is_unchanged(self, fingerprint: str) -> bool:
        """Whether what was read is what was registered: by the stamp of the data, or by hashing again without one."""
        return self._fingerprint() == fingerprint if self._checked is None else self._stamp() == self._checked

    def _stamp(self) -> tuple[object, ...] | None:
        """What changes whenever the data may have changed; None where there is no such thing to watch."""
        source = self.source
        return source.stamp() if isinstance(source, StampedSource) else None


def check_source(document: DatasetDocument) -> None:
    """Refuse a missing file or column, before a ledger is opened or anything is spent.

    Names and types of columns are declared, not secret; no row is read, so that the answer does not depend on the
    content.
    """
    open_source(document)
