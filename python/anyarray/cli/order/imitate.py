# SPDX-License-Identifier: Apache-2.0
"""What a preset makes of a probe: `anyarray.view` with that policy, asked in the words of the library that it imitates.

anyarray itself asks old producers again and again, until their `__dlpack__` is content. The libraries don't, and which
words they use is data of the preset (`handshake`). So a probe that none of these words fits is looked at as what it is
to that library: one that raises TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import anyarray as aa

from ..._consumers import Handshake
from .natives import Outcome, first_line
from .probes import Probe, build

#: Tells what is made of a probe; raises nothing.
Ours = Callable[[Probe], Outcome]

#: What the `__dlpack__` of old producers takes, by the probe's state.
_TAKES: Mapping[str, frozenset[str]] = {
    "old:stream": frozenset({"stream"}),
    "old:bare": frozenset(),
    "old:capsule": frozenset({"stream", "max_version", "dl_device", "copy"}),
}

#: Statuses of a try whose data were looked at.
_LOOKED_AT = ("invalid", "unsupported", "mismatch")


def as_asked(handshake: Handshake, state: str) -> str:
    """The state that the `__dlpack__` of a probe on the host comes down to where it is asked in these words."""
    if state not in _TAKES:
        return state
    fitting = handshake.fitting(_TAKES[state])
    if fitting is None:
        return "call:TypeError"
    return "wrong:name" if state == "old:capsule" and fitting.refuses_legacy else state


def imitate(
    policy: aa.Policy | str | list[str], writable: bool = False, extra: Mapping[str, object] | None = None
) -> Ours:
    """What `anyarray.view` makes of a probe by this policy: a preset's name, or a policy itself.

    `extra` are the members that the probe has beside its protocols.
    """
    consumer = aa.consumers().get(policy) if isinstance(policy, str) else None
    handshake = Handshake(consumer["handshake"]) if consumer is not None else None

    def ours(probe: Probe) -> Outcome:
        state = getattr(probe, "probe_states", {}).get("dlpack", "")
        if handshake is not None and (asked := as_asked(handshake, state)) != state:
            probe = build({**probe.probe_states, "dlpack": asked}, extra)
        try:
            return Outcome(str(aa.view(probe, policy=policy, writable=writable).protocol))
        except aa.ExchangeError as error:
            tried = [attempt for attempt in error.attempts if attempt.status in _LOOKED_AT]
            return Outcome(None, first_line(error), str(tried[-1].protocol) if tried else None)
        except Exception as error:
            return Outcome(None, first_line(error))

    return ours
