"""A random life of a ledger: it is refused exactly when the model says so, and opened exactly when nobody changed it."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import settings
from tests.ledger.life import Life


class FileLife(Life):
    """On a SQLite file."""

    @staticmethod
    def place() -> tuple[str, Path]:
        folder = Path(tempfile.mkdtemp(prefix="dalenius-life-"))
        return str(folder / "ledger.db"), folder

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


TestLife = FileLife.TestCase
# Forty lives of fifty steps each.
TestLife.settings = settings(max_examples=40, stateful_step_count=50, deadline=None, derandomize=True)
