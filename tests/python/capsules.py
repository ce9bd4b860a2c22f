# SPDX-License-Identifier: Apache-2.0
"""Capsules as C code makes and reads them.

Prototypes of our own: the attributes of ctypes.pythonapi are everybody's.
"""

from __future__ import annotations

import ctypes
from typing import Any

#: Address, address of the name, destructor. The name must live as long as the capsule.
new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi)
)
#: Capsule, its name; gives the address.
pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Capsule:
    """A producer that hands over a DLPack capsule made before."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule
