"""Densities of the ideal noise of `dalenius.exact.smooth_noise`, up to constants, in the units in which it is drawn."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.exact.smooth_noise import Cauchy, Lomax, Polynomial, StudentT


def log_density(noise: Cauchy | Lomax | Polynomial | StudentT, z: Any) -> NDArray[np.float64]:
    """log of the density at z, less its value at zero."""
    if isinstance(noise, Lomax):
        return np.asarray(-float(noise.k) * np.log1p(np.abs(z)))
    if isinstance(noise, Polynomial):
        return np.asarray(-np.log1p(np.abs(z) ** float(noise.g)))
    return np.asarray(-((float(noise.nu) + 1) / 2 if isinstance(noise, StudentT) else 1.0) * np.log1p(z * z))
