"""Whether an outcome is distributed alike in all groups."""

from dalenius.inference.comparison import homogeneity
from dalenius.inference.questions._counts import about_counts

HOMOGENEITY = about_counts(homogeneity, {"axes": ("A", "B"), "replicates": 99}, is_simulated=True)
