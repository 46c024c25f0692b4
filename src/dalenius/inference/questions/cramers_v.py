"""How strongly two axes are related."""

from dalenius.inference.association import cramers_v
from dalenius.inference.questions._counts import about_counts

CRAMERS_V = about_counts(cramers_v, {"axes": ("A", "C"), "replicates": 99}, is_simulated=True)
