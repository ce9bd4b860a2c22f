# SPDX-License-Identifier: Apache-2.0
"""Pillow: images; `__array_interface__` copies on every access, so nothing here is zero-copy."""

from __future__ import annotations

from functools import partial

from ..cases import Case, Cases, Sample, load

Image = load("PIL.Image")

_MODES = {"1": ("bool", 1), "L": ("uint8", 1), "RGB": ("uint8", 3), "RGBA": ("uint8", 4), "I": ("int32", 1),
          "F": ("float32", 1), "I;16": ("uint16", 1), "LA": ("uint8", 2), "CMYK": ("uint8", 4),
          "YCbCr": ("uint8", 3), "HSV": ("uint8", 3)}  # fmt: skip


def _image(mode: str) -> Sample:
    dtype, bands = _MODES[mode]
    image = Image.new(mode, (4, 3))
    for y in range(3):
        for x in range(4):
            n = 1 + x + 4 * y
            image.putpixel((x, y), tuple(n + b for b in range(bands)) if bands > 1 else n % 2 if mode == "1" else n)

    def read() -> object:
        def pixel(x: int, y: int) -> object:
            p = image.getpixel((x, y))
            return list(p) if bands > 1 else bool(p) if mode == "1" else p

        return [[pixel(x, y) for x in range(4)] for y in range(3)]

    return Sample(image, read, (3, 4, bands) if bands > 1 else (3, 4), dtype, True, copies=True)


def cases() -> Cases:
    for mode, (dtype, _) in _MODES.items():
        yield Case("Image", dtype, f"mode {mode}", partial(_image, mode))
