"""How colours are seen, by full colour vision and by the three kinds of colour blindness."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

#: Machado, Oliveira and Fernandes 2009, "A physiologically-based model for simulation of color
#: vision deficiency", severity 1.0, on linear RGB.
VISION = {
    "full": np.eye(3),
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
#: Linear sRGB to XYZ, divided by the white of D65.
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
) / np.array([[0.9505], [1.0], [1.089]])


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    xyz = TO_XYZ @ np.clip(light, 0, 1)
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(colour: str, page: str = "#ffffff") -> float:
    """Contrast of two colours by WCAG 2."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(one)) for one in (colour, page))
    return (high + 0.05) / (low + 0.05)


def nearest(colours: Sequence[str], vision: str) -> float:
    """Least distance of any two colours in CIE L*a*b*, as seen with this vision."""
    seen = [lab(np.array(VISION[vision]) @ linear(colour)) for colour in colours]
    return float(min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)))
