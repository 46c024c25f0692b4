"""Whether the axes of a table are independent."""

from dalenius.inference.independence import independence
from dalenius.inference.questions._counts import about_counts

INDEPENDENCE = about_counts(
    independence, {"axes": ("A", "B"), "replicates": 99}, {"method": "chi-square", "replicates": 99}, is_simulated=True
)
