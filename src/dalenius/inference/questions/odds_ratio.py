"""How the odds of two labels differ between two others."""

from dalenius.inference.association import odds_ratio
from dalenius.inference.questions._counts import about_counts

ODDS_RATIO = about_counts(odds_ratio, {"axes": ("A", "C")}, served_cells=400)
