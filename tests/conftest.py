"""Settings that all tests share."""

import os

from hypothesis import HealthCheck, settings

settings.register_profile(
    "test", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("DALENIUS_HYPOTHESIS", "test"))
