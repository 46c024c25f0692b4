"""Whether two axes are independent within each label of a third."""

from dalenius.inference.comparison import conditional_independence
from dalenius.inference.questions._counts import about_counts

CONDITIONAL_INDEPENDENCE = about_counts(
    conditional_independence, {"axes": ("A", "B", "C"), "replicates": 99}, is_simulated=True
)
