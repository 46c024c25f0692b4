"""The queue: ticks, fairness between users, take-over of a dead worker's job, retries; no HTTP."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dalenius.errors import AfterCharge, ApprovalRequired, Conflict, RequestError
from dalenius.server.errors import NotFound, TooManyRequests, Unavailable
from dalenius.server.jobs import Job, Queue, Runners
from dalenius.server.store import StateStore

TICK = 0.05


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StateStore]:
    store = StateStore(str(tmp_path / "s.sqlite"))
    yield store
    store.close()


@pytest.fixture
def make_jobs(store: StateStore) -> Iterator[Callable[..., Runners]]:
    opened = []

    def make(run: Callable[..., str], runners: int = 1, lease: float = 5.0) -> Runners:
        jobs = Runners(store, Queue(store, TICK), run, runners=runners, lease_seconds=lease)
        opened.append(jobs)
        return jobs

    yield make
    for jobs in opened:
        jobs.stop(5)


def finished(jobs: Runners, job: str, seconds: float = 8.0) -> Job:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = jobs.queue.find(job)
        if found.view(time.time()).state in ("done", "failed", "awaiting approval"):
            return found
        time.sleep(0.005)
    raise AssertionError(jobs.queue.find(job))


def test_what_ends_a_job_is_seen_on_a_tick(make_jobs: Callable[..., Runners]) -> None:
    pauses = iter([0.0, 0.02, 0.06])

    def run(job: Job, stage: Callable[[str], None]) -> str:
        time.sleep(next(pauses))
        return "e"

    jobs = make_jobs(run)
    jobs.start()
    for _ in range(3):
        job = finished(jobs, jobs.queue.submit("ana", "d", {}, 1))
        ticks = (job.visible - job.created) / TICK
        assert abs(ticks - round(ticks)) < 1e-3 and round(ticks) >= 1
        before = job.view(job.visible - 0.001)
        assert before.state == "running" and before.entry == "" and before.error is None
        assert job.view(job.visible).state == "done"


def test_stages_are_shown_and_are_words(make_jobs: Callable[..., Runners]) -> None:
    go = threading.Event()

    def run(job: Job, stage: Callable[[str], None]) -> str:
        stage("measuring")
        go.wait(5)
        return "e"

    jobs = make_jobs(run)
    jobs.start()
    job = jobs.queue.submit("ana", "d", {}, 1)
    until = time.monotonic() + 5
    while jobs.queue.find(job).stage != "measuring" and time.monotonic() < until:
        time.sleep(0.01)
    assert jobs.queue.find(job).view(time.time()).stage == "measuring"
    go.set()
    finished(jobs, job)


def test_users_take_turns(make_jobs: Callable[..., Runners]) -> None:
    order: list[str] = []

    def run(job: Job, stage: Callable[[str], None]) -> str:
        order.append(job.name)
        return "e"

    jobs = make_jobs(run)
    many = [jobs.queue.submit("ana", "d", {"n": n}, 1, most=100) for n in range(20)]
    few = [jobs.queue.submit(name, "d", {"n": n}, 1) for n in range(3) for name in ("ben", "cyd")]
    jobs.start()
    for job in many + few:
        finished(jobs, job)
    assert set(order[:9]) == {"ana", "ben", "cyd"}
    assert all(order[:9].count(name) == 3 for name in ("ana", "ben", "cyd"))


def test_a_dead_workers_job_is_run_again(make_jobs: Callable[..., Runners], store: StateStore) -> None:
    jobs = make_jobs(lambda job, stage: "second", lease=0.3)
    job = jobs.queue.submit("ana", "d", {}, 1)
    store.write(
        "UPDATE jobs SET state = 'running', worker = 'dead', lease_until = ? WHERE id = ?", time.time() + 0.2, job
    )
    jobs.start()
    assert finished(jobs, job).entry == "second"


def test_a_slow_living_worker_keeps_its_job(make_jobs: Callable[..., Runners]) -> None:
    runs: list[str] = []

    def run(job: Job, stage: Callable[[str], None]) -> str:
        runs.append(job.id)
        time.sleep(1.2)
        return "e"

    first, second = make_jobs(run, lease=0.3), make_jobs(run, lease=0.3)
    job = first.queue.submit("ana", "d", {}, 1)
    first.start()
    second.start()
    assert finished(first, job).state == "done"
    assert runs == [job]


def test_outages_are_tried_again_and_refusals_are_not(make_jobs: Callable[..., Runners]) -> None:
    calls: dict[str, int] = {}

    def run(job: Job, stage: Callable[[str], None]) -> str:
        calls[job.dataset] = calls.get(job.dataset, 0) + 1
        if job.dataset == "outage" and calls["outage"] < 3:
            raise Unavailable("away")
        if job.dataset == "leased" and calls["leased"] < 2:
            raise Conflict("being completed elsewhere", key="k")
        if job.dataset == "refused":
            raise RequestError("no")
        if job.dataset == "fault":
            raise ValueError("CANARY-7f3a91")
        if job.dataset == "large":
            raise ApprovalRequired("ask")
        return "e"

    jobs = make_jobs(run)
    jobs.start()
    ended = {
        name: finished(jobs, jobs.queue.submit("ana", name, {}, 1))
        for name in ("outage", "leased", "refused", "fault", "large")
    }
    states = {name: job.state for name, job in ended.items()}
    assert states == {
        "outage": "done",
        "leased": "done",
        "refused": "failed",
        "fault": "failed",
        "large": "awaiting approval",
    }
    assert calls == {"outage": 3, "leased": 2, "refused": 1, "fault": 1, "large": 1}
    assert "CANARY" not in ended["fault"].error
    assert ended["refused"].view(time.time() + 1).http_status == 400


def test_the_queue_of_one_user_is_bounded(make_jobs: Callable[..., Runners]) -> None:
    jobs = make_jobs(lambda job, stage: "e")
    for n in range(3):
        jobs.queue.submit("ana", "d", {"n": n}, 1, most=3)
    with pytest.raises(TooManyRequests):
        jobs.queue.submit("ana", "d", {"n": 4}, 1, most=3)
    jobs.queue.submit("ben", "d", {}, 1, most=3)
    with pytest.raises(NotFound):
        jobs.queue.find("nope")


def test_stopping_waits_for_what_is_under_way(make_jobs: Callable[..., Runners]) -> None:
    started = threading.Event()

    def run(job: Job, stage: Callable[[str], None]) -> str:
        started.set()
        time.sleep(0.4)
        return "e"

    jobs = make_jobs(run)
    jobs.start()
    job = jobs.queue.submit("ana", "d", {}, 1)
    later = jobs.queue.submit("ana", "d", {"n": 2}, 1)
    assert started.wait(5)
    jobs.stop(5)
    assert jobs.queue.find(job).state == "done" and jobs.queue.find(later).state == "queued"


def test_an_idempotency_key_outlives_a_refusal_and_not_a_fault(make_jobs: Callable[..., Runners]) -> None:
    calls: list[str] = []

    def run(job: Job, stage: Callable[[str], None]) -> str:
        calls.append(job.dataset)
        if job.dataset == "refused":
            raise RequestError("no")
        if job.dataset == "fault" and calls.count("fault") == 1:
            raise AfterCharge("e")
        return "e"

    jobs = make_jobs(run)
    jobs.start()
    for name, states in (("refused", ["failed", "failed"]), ("fault", ["failed", "done"])):
        ended = [finished(jobs, jobs.queue.submit("ana", name, {}, 1, f"key of {name}")) for _ in range(2)]
        assert [job.state for job in ended] == states
    assert calls == ["refused", "fault", "fault"]
    with pytest.raises(Conflict):
        jobs.queue.submit("ana", "other", {}, 1, "key of fault")
