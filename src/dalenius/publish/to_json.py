"""release.json: the document of a release itself (`dalenius.publish._document`)."""

from dalenius.publish._document import from_json, write_json
from dalenius.publish._format import Format

__all__ = ["JSON", "from_json", "write_json"]


JSON = Format(
    name="json",
    suffixes=(".json",),
    media_type="application/json",
    write=write_json,
    read=from_json,
    is_document=True,
    stem="release",
)
