# SPDX-License-Identifier: Apache-2.0
"""Worker processes, from both sides: what libraries do may end or hang a process, so it happens in one of its own.

A worker says what it does in events, a JSON object a line on standard output. Its last is "end" or "unusable"; where
neither comes, the process ended too early. One that goes through cases announces each ("case", with its index) and
then tells what became of it ("row"), so that a fresh one can go on behind the case that ended it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, Any, NoReturn, Protocol

Event = dict[str, Any]


class EndedError(Exception):
    """A worker came to no end. `status` is "crashed" or "hung", `reason` says how."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


class Emit(Protocol):
    """Writes one event."""

    def __call__(self, event: str, **fields: Any) -> None: ...


def serve(run: Callable[[Emit], None]) -> NoReturn:
    """The worker's side: gives `run` the function that writes events, and ends the process behind it."""
    # Libraries may print, from C too: descriptor 1 becomes standard error, the events go to a copy of the old one.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def emit(event: str, **fields: Any) -> None:
        out.write(json.dumps({"event": event, **fields}) + "\n")
        out.flush()

    run(emit)
    os._exit(0)  # a library that crashes when the interpreter ends isn't what is looked at here


def _read(stream: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stream:
        lines.put(line)
    lines.put(None)


def _ending(returncode: int) -> str:
    if returncode >= 0:
        return f"its process ended with status {returncode}"
    try:
        return f"its process was killed by {signal.Signals(-returncode).name}"
    except ValueError:
        return f"its process was killed by signal {-returncode}"


def events(
    arguments: Sequence[str],
    start_timeout: float,
    timeout: float,
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Event]:
    """The events of a worker, `python -m` with these arguments, as they come, up to its last.

    `start_timeout` is the seconds that the first may take, `timeout` those of each other.

    Raises
    ------
    EndedError
        The process ended before its last event, or was silent for longer.
    """
    worker = subprocess.Popen(
        [python, "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        stdin=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        env=environment,
    )
    assert worker.stdout is not None
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_read, args=(worker.stdout, lines), daemon=True).start()
    limit = start_timeout
    try:
        while (line := lines.get(timeout=limit)) is not None:
            try:
                event: Event = json.loads(line)
            except ValueError:
                break  # cut off in the middle of a line: the worker is dead
            last = event["event"] in ("end", "unusable")
            yield event
            if last:
                return
            limit = timeout
        worker.wait(10)  # so that its own signal is seen and not the one below
    except queue.Empty:
        raise EndedError("hung", f"its process gave no sign for {limit:g} s") from None
    except subprocess.TimeoutExpired:
        raise EndedError("hung", "its process gave no sign, though its output had ended") from None
    finally:
        worker.kill()
        worker.wait()
        worker.stdout.close()
    raise EndedError("crashed", _ending(worker.returncode))


def cases(command: Callable[[int], Sequence[str]], restarts: int, *timeouts: float, **options: Any) -> Iterator[Event]:
    """The events of a worker that goes through cases, and of fresh ones where a case ends it.

    `command(skip)` gives the arguments of one that begins at that index, the rest is as for `events`. A case that ended
    its process has an event "ended" in the place of its "row": what was announced, `status` and `reason`.

    Raises
    ------
    EndedError
        A process ended outside a case, or more than `restarts` ended.
    """
    skip = 0
    for _ in range(restarts + 1):
        current: Event | None = None
        try:
            for event in events(command(skip), *timeouts, **options):
                if event["event"] in ("case", "row"):
                    current = event if event["event"] == "case" else None
                yield event
            return
        except EndedError as error:
            if current is None:
                raise EndedError(error.status, f"{error.reason}, and not in a case") from None
            yield {**current, "event": "ended", "status": error.status, "reason": error.reason}
            skip = current["index"] + 1
    raise EndedError("crashed", f"given up after {restarts + 1} processes had ended too early")
