# SPDX-License-Identifier: Apache-2.0
"""A Warp kernel that reads the first element of its argument; in a file of its own, because Warp reads the source."""

import importlib
from typing import Any

wp: Any = importlib.import_module("warp")

# Warp has no type hints, and reads its own types, which are values, where annotations stand.


@wp.kernel  # type: ignore[untyped-decorator]
def first(array: wp.array(dtype=wp.float32), out: wp.array(dtype=wp.float32)):  # type: ignore[no-untyped-def, valid-type]
    out[0] = array[0]
