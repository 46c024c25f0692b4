"""Counters and durations for monitoring, in the Prometheus text format.

Each worker counts for itself and writes its numbers to the state directory; whichever worker is asked adds them up. A
worker that ends keeps its file, so that totals never fall while the server runs.
"""

import json
import os
import threading
import time
from collections import Counter
from pathlib import Path

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_SHARED_EVERY = 1.0
_STALE = 3600.0


class Metrics:
    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._written = 0.0

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        labels = f'method="{method}",route="{route}"'
        with self._lock:
            self._counts[f'dalenius_requests_total{{{labels},status="{status}"}}'] += 1
            self._counts[f"dalenius_request_seconds_count{{{labels}}}"] += 1
            for bucket in [*(b for b in BUCKETS if seconds <= b), "+Inf"]:
                self._counts[f'dalenius_request_seconds_bucket{{{labels},le="{bucket}"}}'] += 1

    @property
    def _file(self) -> Path:
        return self._directory / f"metrics-{os.getpid()}.json"

    def share(self, *, now: bool = False) -> None:
        if not now and time.monotonic() - self._written < _SHARED_EVERY:
            return
        self._written = time.monotonic()
        with self._lock:
            content = json.dumps(self._counts)
        temporary = self._file.with_suffix(".tmp")
        temporary.write_text(content)
        os.replace(temporary, self._file)

    def text(self, gauges: dict[str, float]) -> str:
        """The sum over all workers, and the gauges of the moment."""
        self.share(now=True)
        total: Counter[str] = Counter()
        for place in self._directory.glob("metrics-*.json"):
            try:
                if time.time() - place.stat().st_mtime < _STALE:
                    total.update(json.loads(place.read_text()))
            except (OSError, ValueError):
                continue
        lines = [f"{name} {value}" for name, value in sorted(total.items())]
        lines += [f"dalenius_{name} {value}" for name, value in sorted(gauges.items())]
        return "\n".join(lines) + "\n"
