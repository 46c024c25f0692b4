"""Structured logs: one JSON object a line, with what was called and how it ended, never what it held.

Texts of unexpected exceptions are left out, because a database driver may quote a value in them; the places in our code
are enough to find the fault. What else is left out: docs/explanation/threat-model-server.md.
"""

import json
import logging
import sys
import time
from collections.abc import Mapping
from typing import Any

LOGGER = logging.getLogger("dalenius.server")


class JsonLines(logging.Formatter):
    """Formats every record, of whatever library, as one line without exception texts."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
        }
        fields = getattr(record, "fields", None)
        if isinstance(fields, Mapping):
            line |= {"event": str(record.msg)} | dict(fields)
        elif record.name.startswith(("uvicorn", "dalenius")):
            line["event"] = record.getMessage() if record.exc_info is None else "exception"
        else:
            line["event"] = "message of a library"
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
        return json.dumps(line, default=str, ensure_ascii=False)


def configure(level: str = "INFO") -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("", "uvicorn", "uvicorn.error", "uvicorn.access", "dalenius.server"):
        logger = logging.getLogger(name)
        logger.handlers = [handler] if name == "" else []
        logger.propagate = name != ""
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("uvicorn.error").setLevel(level)
    logging.getLogger("uvicorn.access").setLevel(logging.ERROR)
    LOGGER.setLevel(level)


def event(name: str, level: int = logging.INFO, **fields: Any) -> None:
    LOGGER.log(level, name, extra={"fields": fields})
