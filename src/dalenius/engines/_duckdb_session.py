"""One DuckDB database in memory, with the table that it reads; it spills nothing to disk and follows no statistics."""

import csv
import ctypes
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from dalenius.engines._arrow import private_copy
from dalenius.engines._relation import ReadableTable, attach
from dalenius.engines._threads import threads
from dalenius.errors import DocumentError, InternalError

BATCH_ROWS = 1 << 20
# Statistics in a file are its content: a plan that follows them tells of it by its time, and wrong ones make wrong
# counts.
_WITHOUT_STATISTICS = "statistics_propagation,compressed_materialization,filter_pushdown,join_filter_pushdown"

_OPEN: "WeakSet[DuckDBSession]" = WeakSet()


def _let_go_of_all() -> None:
    for session in list(_OPEN):
        session.let_go()


os.register_at_fork(after_in_child=_let_go_of_all)


class DuckDBSession:
    def __init__(self, data: Any, table: str, delimiter: str) -> None:
        import duckdb

        self.connection: Any = duckdb.connect(":memory:")
        _OPEN.add(self)
        # What protects is set, or raises. A notebook without ipywidgets has no progress bar, and DuckDB refuses to set
        # one there.
        self.connection.execute(f"SET temp_directory = ''; SET threads = {threads()}")
        self.connection.execute(f"SET disabled_optimizers = '{_WITHOUT_STATISTICS}'")
        with suppress(duckdb.Error):
            self.connection.execute("SET enable_progress_bar = false")
        try:
            self.relation: ReadableTable = attach(self.connection, data, table, delimiter)
            described = self.connection.sql(f"DESCRIBE SELECT * FROM {self.relation.sql}").fetchall()
        except (duckdb.Error, OSError, UnicodeDecodeError, csv.Error) as error:
            # The parser's own message may quote the content of the file.
            raise DocumentError(
                "The data could not be read. A CSV (with a header, in UTF-8), Parquet or DuckDB file, an Arrow"
                f" table or a data frame is accepted. Reader's complaint: {type(error).__name__}."
            ) from None
        self.types: dict[str, str] = {str(row[0]): str(row[1]) for row in described}

    def keep(self, names: Sequence[str]) -> None:
        """Copy the columns of a table in memory: what was digested is what is counted, whatever becomes of theirs."""
        self.relation.check_chunks(self.connection, names)
        frame = self.relation.frame
        if frame is not None:
            own = private_copy(frame.select(names) if names else frame)
            self.connection.register("microdata", own)
            self.relation = replace(self.relation, frame=own)

    def sql(self, statement: str) -> Any:
        import duckdb

        if self.connection is None:
            raise InternalError("Data are not shared with a forked process; open them there again.")
        try:
            cursor = self.connection.cursor()
            if self.relation.frame is not None:
                cursor.register("microdata", self.relation.frame)
            return cursor.sql(statement)
        except duckdb.Error:
            raise InternalError("The data could not be read by the engine.") from None

    def stream(self, statement: str) -> Iterator[Any]:
        import duckdb
        import pyarrow as pa

        try:
            yield from self.sql(statement).to_arrow_reader(BATCH_ROWS)
        except (duckdb.Error, pa.ArrowException):
            raise InternalError("The data could not be read by the engine.") from None

    def let_go(self) -> None:
        """After a fork: the threads of the database stayed with the parent, and freeing it here would crash."""
        if self.connection is not None:
            # One reference that nobody holds: the child never frees it, not even at its end.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))
            self.connection = None
