"""Everything the server can do, for pages and API alike: plain results, refusals as errors, roles checked here.

Services(config)
    config, key, store, accounts, limiter, metrics, desk, jobs          parts, for auth.py and the routes

  data sets (everybody)
    datasets(user) -> tuple[DatasetView, ...]
    dataset(name) -> DatasetView                                        NotFound
  planning and releasing (analyst, custodian)
    read_request(dataset, document) -> RequestDocument                  DocumentError, UnknownName, …
    preview(user, dataset, document) -> Preview                         free; no data are read
    submit(user, dataset, document, key="") -> JobView                  queued; `key` makes it idempotent
    await wait(user, job_id, seconds=None) -> JobView                   returns on a tick, when finished or after `seconds`
    job(user, job_id) -> JobView                                        own jobs; a custodian sees all
    jobs_of(user) -> tuple[JobView, ...]
  released tables (everybody: published; owner and custodian: drafts and embargoed)
    releases(user, dataset="", query="", status="", offset=0, limit=50) -> tuple[int, tuple[ReleaseView, ...]]
    release_view(user, entry) -> ReleaseView                            NotFound; NotPublic if withdrawn
    release(user, entry) -> Release                                     the document as the library's own type
    download(user, entry, format) -> Download                           json, csv, html and every other publish/to_*.py
    anchored(user, entry) -> Release                                    tied to the first publication, which wins
    formats() -> Mapping[str, str]                                      name -> media type
  lists (everybody)
    list_answer(user, dataset, document, explains) -> Release | None    from the stored list; free, never reads data
    list_view(dataset) -> ReleaseView | None                            the published list itself
    release_list(user, dataset) -> ReleaseView | None                   (custodian) release the list, once
    download_of(release, format) -> Download
  saved tables (signed in)
    saved(user) -> tuple[SavedTable, ...]; save(user, title, dataset, document); forget(user, title)
  money
    quota(user, dataset) -> QuotaView                                   the user's own
    statement(user, population, everybody=False) -> Statement           own lines; everybody's: custodian, auditor
    populations(user) -> tuple[str, ...]
    ledger_lines(user, population=None) -> str                          export (custodian, auditor)
    verify(user) -> VerifyReport                                        (custodian, auditor)
  the custodian
    account(user, population) -> Account                                (custodian, auditor)
    grant(user, population, rho, delta, note); set_quota(user, population, analyst, rho, delta)
    set_approval(user, population, above)
    approvals(user) -> tuple[JobView, ...]; approve(user, job_id); refuse(user, job_id, reason)
    set_status(user, entry, status) -> ReleaseView                      embargoed, published, withdrawn
    register(user, dataset, accept_unseen=False) -> Confidential | None the content, for the custodian's eyes; None if it was already
    create_user(user, name, role) -> str                                the one-time password
    users(user) -> tuple[User, ...]; reset_password(user, name) -> str; deactivate(user, name)
"""

from dalenius.server.config import ServerConfig
from dalenius.server.custody import Custody
from dalenius.server.runners import Jobs


class Services(Custody):
    """One for each worker process; safe to call from several threads."""

    def __init__(self, config: ServerConfig) -> None:
        super().__init__(config)
        self.jobs = Jobs(
            self.store,
            self.run_job,
            tick=config.tick,
            runners=config.runners,
            lease_seconds=config.lease_seconds,
        )
