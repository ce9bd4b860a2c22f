# SPDX-License-Identifier: Apache-2.0
"""`anyarray matrix --to` and `--hazards`: how results are judged, that crashes cost one try, and that docs/hazards.md
is what the command prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from anyarray.cli import exchange, hazards
from anyarray.cli._exchange_worker import ANYARRAY, judge
from anyarray.cli.cases import Sample
from anyarray.cli.consumers import CONSUMERS, find_consumer
from anyarray.cli.hazard_list import HAZARDS
from anyarray.cli.producers import find

from .conftest import needs

np = needs("numpy")
PAGE = Path(__file__).parents[2] / "docs" / "hazards.md"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "anyarray", "matrix", *arguments], capture_output=True, text=True)


def sample(x: Any, **changed: Any) -> Sample:
    facts: dict[str, Any] = {
        "read": x.tolist,
        "shape": x.shape,
        "dtype": x.dtype.name,
        "readonly": not x.flags.writeable,
        "pointer": x.ctypes.data,
        "raw": x.tobytes(),
    }
    return Sample(x, **{**facts, **changed})


def test_what_came_is_judged() -> None:
    x = np.arange(4.0)
    frozen = x.view()
    frozen.flags.writeable = False
    for made, given, outcome in (
        (x, x, "works"),
        (x.copy(), x, "copies"),
        (frozen, frozen, "works"),
        (x, frozen, "corrupts"),
        (x + 1, x, "corrupts"),
        (x[:2], x, "corrupts"),
        (x.astype("f4"), x, "converts"),
        ((x + 0.1).astype("f4"), x + 0.1, "corrupts"),
        (x.view("i8"), x, "corrupts"),
        (np.array(object()), x, "corrupts"),
        (object(), x, "unchecked"),
    ):
        assert judge(sample(given), made)[0] == outcome, (made, given)
    swapped = np.arange(4.0).astype(">f8")
    assert judge(sample(swapped, dtype=">f8"), swapped.astype("f8"))[0] == "copies"


def test_a_pair_is_run() -> None:
    needs("array_api_strict")
    pair = exchange.run_pair(find("stdlib"), find_consumer("array_api_strict"))
    assert pair.status == "ok" and not pair.failed
    ways = {t.way for t in pair.tries}
    assert ways == {*find_consumer("array_api_strict").ways, ANYARRAY}
    ours = pair.count(ANYARRAY)
    assert ours["works"] > 20 and ours["corrupts"] == ours["crashes"] == 0


def test_a_crash_costs_one_try(tmp_path: Path) -> None:
    file = tmp_path / "crashing.py"
    file.write_text(
        "import os, numpy as np\n"
        "from anyarray.cli.cases import Case, Sample\n"
        "class Deadly:\n"
        "    def __array__(self, *a, **k): os.abort()\n"
        "def good():\n"
        "    x = np.arange(3.0)\n"
        "    return Sample(x, x.tolist, x.shape, 'float64', False, x.ctypes.data, x.tobytes())\n"
        "def cases():\n"
        "    yield Case('good', 'float64', 'C', good)\n"
        "    yield Case('deadly', 'float64', 'odd', lambda: Sample(Deadly(), list, (3,), 'float64'))\n"
        "    yield Case('good', 'float64', 'C', good)\n"
    )
    pair = exchange.run_pair(find(str(file)), find_consumer("numpy"))
    assert pair.status == "ok"
    by_asarray = [t.outcome for t in pair.tries if t.way == "numpy:asarray"]
    assert by_asarray == ["works", "crashes", "works"]
    assert [t.outcome for t in pair.tries if t.way == ANYARRAY] == ["works", "crashes", "works"]
    assert pair.failed  # anyarray's own side is never allowed to end a process
    assert any(problem[2] == "crashes" and "SIGABRT" in problem[3] for problem in exchange.problems([pair]))


def test_the_command_gives_a_document() -> None:
    ran = command("--library", "stdlib", "--to", "numpy", "--json")
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert document["schema"] == "anyarray.exchange"
    assert document["pairs"][0]["ways"][ANYARRAY]["corrupts"] == 0
    assert len(document["rows"]) == sum(sum(w.values()) for p in document["pairs"] for w in p["ways"].values())
    table = command("--library", "stdlib", "--to", "numpy")
    assert table.returncode == 0 and "1 pairs. Natively:" in table.stdout.replace("\n", " ")
    wrong = command("--to", "nothing")
    assert wrong.returncode == 2 and "nothing" in wrong.stderr
    absent = [c.name for c in CONSUMERS if not c.installed()]
    if absent:
        assert command("--to", absent[0]).returncode == 2


@pytest.fixture(scope="module")
def found() -> list[hazards.Found]:
    return hazards.run_all()


def test_no_hazard_gets_through_anyarray(found: list[hazards.Found]) -> None:
    assert [f.hazard.id for f in found] == [h.id for h in HAZARDS]
    for f in found:
        assert f.safe, (f.hazard.id, f.ours)


@pytest.mark.skipif("ANYARRAY_SANITIZED" in os.environ, reason="AddressSanitizer gives crashes a status of its own")
def test_the_page_is_what_the_command_prints(found: list[hazards.Found]) -> None:
    """Word for word with the versions of the page; with others, each row is still in it."""
    page = PAGE.read_text(encoding="utf-8")
    mine = hazards.page(found)
    rows = [line for line in page.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) == len(HAZARDS)
    for hazard in HAZARDS:
        assert any(row.startswith(f"| {hazard.title} | `{hazard.code}` |") for row in rows), hazard.id
    if mine.splitlines()[5] == page.splitlines()[5]:
        assert mine == page
        assert all(f.real for f in found)
