# SPDX-License-Identifier: Apache-2.0
"""mpi4py: the buffers that it makes itself. MPI isn't initialised."""

from __future__ import annotations

from functools import partial

from ..cases import Case, Cases, Sample, load

_rc = load("mpi4py").rc
_rc.initialize = _rc.finalize = False
MPI = load("mpi4py.MPI")


def _buffer(readonly: bool, size: int) -> Sample:
    x = MPI.buffer.fromaddress(_KEPT.address, size, readonly)
    return Sample(
        x,
        lambda: list(_KEPT.tobytes()[:size]),
        (size,),
        "uint8",
        readonly,
        _KEPT.address if size else None,
        _KEPT.tobytes()[:size],
    )


_KEPT = MPI.buffer.allocate(16, clear=True)


def cases() -> Cases:
    _KEPT[:8] = b"anyarray"
    layouts = (("C", False, 16), ("read-only", True, 16), ("1 element", False, 1), ("size 0", False, 0))
    for layout, readonly, size in layouts:
        yield Case("buffer", "uint8", layout, partial(_buffer, readonly, size))
