# SPDX-License-Identifier: Apache-2.0
"""The command line: in this process where its parts are looked at, as a process where its output and status are."""

from __future__ import annotations

import array
import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import anyarray as aa
from anyarray.cli import explain, main, matrix, probe, render
from anyarray.cli.cases import SHAPE, Case, Sample, buffer_address, floats, integers, nested, refused
from anyarray.cli.producers import LIBRARIES, find

#: Libraries whose absence is a failure and no reason to skip.
REQUIRED = os.environ.get("ANYARRAY_REQUIRE", "").split(",")

HEAD = """
import array, ctypes, os, sys, time
from anyarray.cli.cases import Case, Sample, refused

def sample(data=(1.0, 2.0, 3.0), **changes):
    x = array.array("d", data)
    facts = dict(read=x.tolist, shape=(len(x),), dtype="float64", readonly=False, pointer=x.buffer_info()[0],
                 raw=x.tobytes())
    return Sample(x, **{**facts, **changes})

def good(kind="good"):
    return Case(kind, "float64", "C", sample)
"""


def library(folder: Path, body: str, name: str = "fake") -> str:
    """Writes a library of cases; `body` is what stands in cases()."""
    path = folder / f"{name}.py"
    path.write_text(HEAD + "\ndef cases():\n" + "".join(f"    {line}\n" for line in body.strip().split("\n")))
    return str(path)


def command(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "anyarray", *args], capture_output=True, text=True, timeout=300)


def rows_of(folder: Path, body: str, **options: Any) -> matrix.LibraryReport:
    return matrix.run_library(find(library(folder, body)), timing=False, **options)


def only(report: matrix.LibraryReport) -> probe.Row:
    assert len(report.rows) == 1, report
    return report.rows[0]


# ---------------------------------------------------------------- what is right and what is wrong


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("read=lambda: [1.0, 2.0, 4.0]", "values"),
        ("read=lambda: [1, 2, 3]", "values"),
        ("shape=(4,)", "shape"),
        ("shape=(3, 1)", "shape"),
        ("dtype='float32'", "dtype"),
        ("readonly=True", "readonly"),
        ("pointer=16", "isn't the library's"),
        ("raw=b'x' * 24", "bytes"),
        ("device='cuda:0'", "device"),
    ],
)
def test_wrong_fact_is_found(tmp_path: Path, change: str, problem: str) -> None:
    row = only(rows_of(tmp_path, f"yield Case('Vector', 'float64', 'C', lambda: sample({change}))"))
    assert row.outcome == "wrong"
    assert any(problem in text for text in row.problems)


def test_right_facts_are_all_checked(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "yield good()")
    row = only(report)
    assert (row.outcome, row.problems, row.zero_copy, row.copied) == ("taken", [], True, False)
    assert set(row.checked) == {"shape", "dtype", "device", "readonly", "bytes", "values", "pointer"}
    assert not report.failed


def test_write_through_proves_zero_copy_where_no_pointer_is_told(tmp_path: Path) -> None:
    row = only(rows_of(tmp_path, "yield Case('Vector', 'float64', 'C', lambda: sample(pointer=None))"))
    assert row.zero_copy is True and "write-through" in row.checked and row.outcome == "taken"


def test_write_through_finds_a_copy(tmp_path: Path) -> None:
    row = only(
        rows_of(
            tmp_path,
            """
frozen = lambda: sample(pointer=None, read=lambda: [1.0, 2.0, 3.0])
yield Case('Vector', 'float64', 'C', frozen)
""",
        )
    )
    assert row.zero_copy is False and row.outcome == "wrong"


COPIER = """
class Copier:
    @property
    def __array_interface__(self):
        return {"version": 3, "shape": (3,), "typestr": "<f8", "data": array.array("d", [1.0, 2.0, 3.0])}
made = lambda copies: Sample(Copier(), lambda: [1.0, 2.0, 3.0], (3,), 'float64', copies=copies)
"""


UNREADABLE = """
def unreadable(**changes):
    def read():
        raise OverflowError("the library can't say")
    return sample(read=read, **changes)
"""


def test_failure_of_the_check_is_no_wrong_value(tmp_path: Path) -> None:
    report = rows_of(tmp_path, UNREADABLE + "yield Case('Vector', 'float64', 'C', unreadable)\nyield good()")
    assert [row.outcome for row in report.rows] == ["unchecked", "taken"] and report.failed
    assert report.rows[0].problems == ["checking it raised OverflowError: the library can't say"]
    counts = matrix.summary([report])
    assert (counts["unchecked"], counts["wrong"], counts["taken"]) == (1, 0, 1)


def test_wrong_stays_wrong_where_the_check_fails_later(tmp_path: Path) -> None:
    liar = "yield Case('Vector', 'float64', 'C', lambda: unreadable(raw=b'x' * 24))"
    row = only(rows_of(tmp_path, UNREADABLE + liar))
    assert row.outcome == "wrong" and len(row.problems) == 2


def test_memory_made_anew_for_each_view_is_a_copy(tmp_path: Path) -> None:
    row = only(rows_of(tmp_path, COPIER + "yield Case('Copier', 'float64', 'C', lambda: made(True))"))
    assert row.zero_copy is False and row.outcome == "taken"
    row = only(rows_of(tmp_path, COPIER + "yield Case('Copier', 'float64', 'C', lambda: made(False))"))
    assert row.zero_copy is False and row.outcome == "wrong" and "isn't a copy" in row.problems[0]


def test_memory_is_as_it_was_after_the_check() -> None:
    x = array.array("i", [1, 2, 3])
    case = Case("v", "int32", "C", lambda: Sample(x, x.tolist, (3,), "int32", False))
    assert probe.run_case("test", case).outcome == "taken"
    assert x.tolist() == [1, 2, 3]


def test_refusal_of_what_should_be_taken_is_an_error(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "yield Case('Opaque', 'float64', 'C', lambda: Sample(object(), list, (0,), 'float64'))")
    assert only(report).outcome == "error" and report.failed
    assert "should have been taken" in only(report).problems[0]


def test_expected_refusal_is_none(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "yield refused('list', 'float64', 'no memory', lambda: [1.0])")
    assert only(report).outcome == "refused" and only(report).reason.startswith("no memory: ") and not report.failed


def test_taking_what_should_be_refused_is_wrong(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "yield refused('Masked', 'float64', 'the mask', lambda: array.array('d', [1.0]))")
    assert only(report).outcome == "wrong" and "should have been refused: the mask" in only(report).problems[0]


def test_either_takes_both_ways_but_no_wrong_value(tmp_path: Path) -> None:
    report = rows_of(
        tmp_path,
        """
yield Case('a', 'float64', 'C', sample, 'either')
yield Case('b', 'float64', 'C', lambda: Sample(object(), list, (0,), 'float64'), 'either')
yield Case('c', 'float64', 'C', lambda: sample(read=lambda: [0.0] * 3), 'either')
""",
    )
    assert [row.outcome for row in report.rows] == ["taken", "refused", "wrong"]


def test_case_that_the_library_cannot_make_is_told_apart(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "yield Case('New', 'float64', 'C', lambda: 1 / 0)\nyield good()")
    assert [row.outcome for row in report.rows] == ["unavailable", "taken"] and not report.failed
    assert "ZeroDivisionError" in report.rows[0].reason


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (float("nan"), float("nan"), True),
        (0.0, -0.0, False),
        (1, 1.0, False),
        (True, 1, False),
        ([1, [2.0, (3,)]], [1, [2.0, (3,)]], True),
        ([1], (1,), False),
        ([1, 2], [1], False),
        (complex(0.0, float("nan")), complex(0.0, float("nan")), True),
        (complex(0.0, -0.0), complex(0.0, 0.0), False),
        (b"a", "a", False),
        (None, None, True),
    ],
)
def test_same_is_as_strict_as_bits(a: object, b: object, equal: bool) -> None:
    assert probe.same(a, b) is equal
    assert probe.same(b, a) is equal


def test_gather_follows_strides() -> None:
    base = array.array("h", range(12))
    view = memoryview(base)[::-3]
    assert probe.gather(aa.view(view)) == view.tobytes()


def test_measure_gives_a_plausible_time() -> None:
    ns = probe.measure(b"abc", windows=2)
    assert 1 < ns < 1e6


def test_test_data_is_what_it_claims() -> None:
    assert len(floats()) == SHAPE[0] * SHAPE[1]
    assert min(integers(8, True)) == -128 and max(integers(8, True)) == 127 and max(integers(16, False)) == 65535
    assert nested([1, 2, 3, 4, 5, 6], (2, 3)) == [[1, 2, 3], [4, 5, 6]]
    assert nested([], (0, 2)) == [] and nested([7], ()) == 7
    x = array.array("b", b"abc")
    assert buffer_address(x) == x.buffer_info()[0]
    x.append(1)  # the buffer was given back


# ---------------------------------------------------------------- processes that end early


def test_crash_costs_its_row_alone(tmp_path: Path) -> None:
    report = rows_of(
        tmp_path,
        """
yield good('before')
yield Case('Bomb', 'int8', 'C', os.abort)
yield good('between')
yield Case('Exit', 'int8', 'C', lambda: os._exit(3))
yield good('after')
""",
    )
    assert [(row.kind, row.outcome) for row in report.rows] == [
        ("before", "taken"),
        ("Bomb", "crashed"),
        ("between", "taken"),
        ("Exit", "crashed"),
        ("after", "taken"),
    ]
    assert "SIGABRT" in report.rows[1].reason and "status 3" in report.rows[3].reason
    assert report.failed and report.status == "ok"


def test_hang_costs_its_row_alone(tmp_path: Path) -> None:
    report = rows_of(
        tmp_path, "yield Case('Slow', 'int8', 'C', lambda: time.sleep(60))\nyield good()", case_timeout=2.0
    )
    assert [row.outcome for row in report.rows] == ["hung", "taken"] and report.failed


def test_crash_and_hang_in_the_import(tmp_path: Path) -> None:
    crashed = rows_of(tmp_path, "os.abort()\nyield good()")
    assert crashed.status == "crashed" and "SIGABRT" in crashed.reason and crashed.failed
    hung = rows_of(tmp_path, "time.sleep(60)\nyield good()", import_timeout=2.0)
    assert hung.status == "hung" and hung.failed and not hung.rows


def test_library_that_always_crashes_is_given_up(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "for _ in range(30):\n    yield Case('Bomb', 'int8', 'C', lambda: os._exit(1))")
    assert report.status == "crashed" and "given up" in report.reason
    assert len(report.rows) == matrix.MAX_RESTARTS + 1


def test_import_failure_is_reported_and_no_error(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "raise ImportError('libfoo.so.3 is missing')\nyield good()")
    assert report.status == "unusable" and "libfoo.so.3 is missing" in report.reason and not report.failed


def test_what_a_library_prints_does_not_disturb(tmp_path: Path) -> None:
    report = rows_of(tmp_path, "print('hello')\nos.write(1, b'from C\\n')\nyield good()")
    assert only(report).outcome == "taken" and report.status == "ok"


# ---------------------------------------------------------------- the command


def test_json_document(tmp_path: Path) -> None:
    name = library(tmp_path, "yield good()\nyield refused('list', 'float64', 'no memory', lambda: [1.0])")
    done = command("matrix", "--json", "--library", name)
    assert done.returncode == 0 and done.stderr == ""
    document = json.loads(done.stdout)
    assert document["schema"] == "anyarray.matrix" and document["schema_version"] == matrix.SCHEMA_VERSION
    assert document["platform"]["anyarray"] == aa.__version__
    assert [entry["name"] for entry in document["libraries"]] == ["fake"]
    assert document["summary"]["taken"] == 1 and document["summary"]["refused"] == 1
    assert set(document["rows"][0]) == {
        "library",
        "kind",
        "dtype",
        "layout",
        "expect",
        "outcome",
        "protocol",
        "zero_copy",
        "copied",
        "readonly",
        "ns",
        "checked",
        "problems",
        "reason",
        "attempts",
        "elsewhere",
    }
    assert document["rows"][0]["protocol"] == "builtin"
    assert document["rows"][0]["elsewhere"] == {
        "numpy": "buffer",
        "torch.as_tensor": None,
        "jax": "buffer",
        "nanobind": "buffer",
    }
    assert set(document["rows"][1]["elsewhere"].values()) == {None}
    assert document["rows"][0]["ns"] > 0
    assert document["rows"][1]["outcome"] == "refused" and document["rows"][1]["ns"] is None


def test_wrong_values_give_status_1_in_both_forms(tmp_path: Path) -> None:
    name = library(tmp_path, "yield good()\nyield Case('Liar', 'float64', 'C', lambda: sample(read=lambda: [0.0] * 3))")
    table = command("matrix", "--library", name)
    assert table.returncode == 1 and "WRONG" in table.stdout and "Liar" in table.stdout and "1 wrong" in table.stdout
    document = command("matrix", "--json", "--no-timing", "--library", name)
    assert document.returncode == 1
    rows = json.loads(document.stdout)["rows"]
    assert [row["outcome"] for row in rows] == ["taken", "wrong"] and rows[0]["ns"] is None


def test_unchecked_gives_status_1_under_its_own_name(tmp_path: Path) -> None:
    done = command("matrix", "--library", library(tmp_path, UNREADABLE + "yield Case('V', 'float64', 'C', unreadable)"))
    assert done.returncode == 1 and "NOT CHECKED" in done.stdout and "WRONG" not in done.stdout
    assert "0 wrong, 1 not checked" in " ".join(done.stdout.split())


def test_table_has_no_control_codes_and_no_bar_off_a_terminal(tmp_path: Path) -> None:
    done = command("matrix", "--library", library(tmp_path, "yield good('Vector')"))
    assert done.returncode == 0 and done.stderr == ""
    assert "\x1b" not in done.stdout and "\r" not in done.stdout
    assert "Vector" in done.stdout and "0 wrong" in done.stdout
    assert "buffer, –, buffer, buffer" in " ".join(done.stdout.split()) and "numpy, torch.as_tensor, jax" in done.stdout
    assert max(map(len, done.stdout.split("\n"))) <= render.PLAIN_WIDTH


def test_bar_shows_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    with render.Bar(2) as bar:
        bar.next_library("numpy")
        bar("numpy", 3, 7)
        bar.library_done()
    assert "numpy" in capsys.readouterr().err


def test_standard_library_is_all_right() -> None:
    report = matrix.run_library(find("stdlib"))
    bad = [
        (row.kind, row.dtype, row.layout, row.problems or row.reason)
        for row in report.rows
        if row.outcome not in ("taken", "refused")
    ]
    assert not bad and report.status == "ok"
    assert all(row.zero_copy for row in report.rows if row.outcome == "taken")
    assert all(row.ns for row in report.rows if row.outcome == "taken")
    kinds = {row.kind for row in report.rows}
    assert {"bytes", "bytearray", "array.array", "memoryview", "ctypes", "mmap", "SharedMemory.buf"} <= kinds


@pytest.mark.parametrize("name", [library.name for library in LIBRARIES if library.name != "stdlib"])
def test_installed_library_is_all_right(name: str) -> None:
    must = find(name).needs in REQUIRED
    if not find(name).installed() and not must:
        pytest.skip(f"{name} isn't installed")
    report = matrix.run_library(find(name), timing=False)
    if report.status == "unusable" and not must:
        pytest.skip(f"{name} can't be used here: {report.reason}")
    bad = [
        (row.kind, row.dtype, row.layout, row.outcome, row.problems or row.reason)
        for row in report.rows
        if row.outcome not in ("taken", "refused")
    ]
    assert not bad and report.status == "ok"


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("matrix", "--library", "no_such_library"), "neither a library of the matrix"),
        (("matrix", "--library", "no/such/file.py"), "there is no file"),
        (("matrix", "--frobnicate"), "unrecognized arguments"),
        (("explain",), "EXPR"),
        (("frobnicate",), "invalid choice"),
        (("explain", "1 +"), "isn't a Python expression"),
        (("explain", "no_such_module_at_all.ones(3)"), "No module named"),
        (("explain", "1 / 0"), "ZeroDivisionError"),
        (("explain", "exit(7)"), "SystemExit"),
        (("explain", "b'abc'", "--policy", "no_such_policy"), "no policy named"),
        (("explain", "b'abc'", "--dtype", "no_such_dtype"), "no_such_dtype"),
        (("explain", "b'abc'", "--allow", "no_such_guard"), "no_such_guard"),
    ],
)
def test_wrong_usage_is_status_2_with_a_sentence(args: tuple[str, ...], word: str) -> None:
    done = command(*args)
    assert done.returncode == 2 and word in done.stderr and "Traceback" not in done.stderr


def test_without_arguments_the_help_is_shown() -> None:
    done = command()
    assert done.returncode == 2 and done.stdout == "" and "error" not in done.stderr
    assert all(word in done.stderr for word in ("usage: anyarray", "matrix", "explain", "protocols", "quirks"))


def test_missing_library_asked_for_by_name() -> None:
    absent = [entry for entry in LIBRARIES if not entry.installed()]
    if not absent:
        pytest.skip("every known library is installed")
    done = command("matrix", "--library", absent[0].name)
    assert done.returncode == 2 and "not installed" in done.stderr and absent[0].distribution in done.stderr


def test_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(entry.name in out for entry in LIBRARIES)
    assert main(["matrix", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"name": "stdlib", "distribution": "(standard library)", "installed": True} in listed


def test_version_and_help_say_that_expr_is_executed() -> None:
    version = command("--version")
    assert version.returncode == 0 and version.stdout.strip() == f"anyarray {aa.__version__}"
    text = command("explain", "--help").stdout
    assert "EXPR is executed as Python code" in text and "exit status" in text


@pytest.mark.parametrize("name", ["protocols", "quirks"])
def test_tables(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows and all(set(row) == set(rows[0]) for row in rows)
    assert main([name]) == 0
    assert len(capsys.readouterr().out.split("\n")) > len(rows)


# ---------------------------------------------------------------- explain


def test_explain_taken(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "array.array('f', [1, 2])", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["taken"] and document["error"] is None and document["schema"] == "anyarray.explain"
    assert document["array"]["dtype"] == "float32" and document["array"]["shape"] == [2]
    assert [a["status"] for a in document["attempts"]].count("ok") == 1
    assert main(["explain", "array.array('f', [1, 2])"]) == 0
    out = capsys.readouterr().out
    assert "float32" in out and "buffer" in out


def test_explain_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "[1, 2]"]) == 1
    assert "list is a sequence" in capsys.readouterr().out
    assert main(["explain", "b'abc'", "--writable", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert not document["taken"] and document["array"] is None and document["error"]


@pytest.mark.parametrize(
    ("options", "status"),
    [
        (("--dtype", "uint8"), 0),
        (("--dtype", "int8"), 1),
        (("--ndim", "1"), 0),
        (("--ndim", "2"), 1),
        (("--order", "C"), 0),
        (("--device", "cpu"), 0),
        (("--device", "cuda:0"), 1),
        (("--policy", "buffer,dlpack"), 0),
        (("--policy", "dlpack,"), 1),
        (("--policy", "mpi4py"), 0),
        (("--allow", "mask"), 0),
    ],
)
def test_explain_options_reach_the_request(options: tuple[str, ...], status: int) -> None:
    assert main(["explain", "b'abc'", *options]) == status


CAPSULE = f"aa.view(bytearray({b'abc'!r})).__dlpack__()"


def test_explain_of_what_can_be_taken_once_contradicts_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", CAPSULE, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["taken"] and document["error"] is None
    assert {a["protocol"]: a["status"] for a in document["attempts"]}["dlpack"] == "ok"
    found = document["array"]
    assert (found["shape"], found["dtype"], found["device"], found["protocol"]) == ([3], "uint8", "cpu", "dlpack")
    assert found["itemsize"] == 1 and found["readonly"] is False
    assert found["ptr"] is found["strides"] is found["type"] is None
    assert main(["explain", CAPSULE]) == 0
    out = capsys.readouterr().out
    assert "served by dlpack" in out and "uint8" in out and "None" not in out


def test_explain_of_an_answer_that_changes_tells_of_one(capsys: pytest.CaptureFixture[str]) -> None:
    sizes = "iter((1, 2, 3, 4, 5, 6, 7, 8))"
    interface = "property(lambda self: {'version': 3, 'shape': (next(s),), 'typestr': '|u1', 'data': bytes(8)})"
    expression = f"(lambda s: type('Growing', (), {{'__array_interface__': {interface}}})())({sizes})"
    assert main(["explain", expression, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["array"]["nbytes"] is None and document["array"]["dtype"] == "uint8"
    assert document["type"] == "__main__.Growing"


def test_explain_of_types_without_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "type('Bare', (), {})()", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["type"] == "__main__.Bare"
    assert main(["explain", "type('Bare', (), {'__module__': 5})()", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["type"] == "Bare"


def test_explain_protocol_follows_the_policy(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "b'abc'", "--json", "--policy", "buffer,"])
    assert json.loads(capsys.readouterr().out)["array"]["protocol"] == "buffer"


def test_names_are_imported_with_their_submodules() -> None:
    names = explain.namespace(ast.parse("xml.dom.minidom.Document", mode="eval"))
    assert set(names) == {"xml"} and hasattr(names["xml"].dom, "minidom")
    assert set(explain.namespace(ast.parse("[len(y) for y in (lambda z: array.array(z))('b')]", mode="eval"))) == {
        "array"
    }
    assert explain.namespace(ast.parse("aa.view(b'')", mode="eval")) == {"aa": aa}


# ---------------------------------------------------------------- the libraries that the matrix knows


def test_registry_names_are_unique_and_lazy() -> None:
    assert len({entry.name for entry in LIBRARIES}) == len(LIBRARIES)
    for entry in LIBRARIES:
        module, _, function = entry.source.partition(":")
        path = Path(matrix.__file__).parent / "producers" / f"{module.rsplit('.', 1)[1]}.py"
        assert f"def {function}()" in path.read_text()
    done = subprocess.run(
        [sys.executable, "-c", "import anyarray.cli.producers, sys; print('numpy' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_refused_helper_needs_no_facts() -> None:
    case = refused("x", "y", "why", lambda: 1)
    assert (
        case.expect == "refuse" and case.build().array == 1 and (case.kind, case.dtype, case.layout) == ("x", "y", "C")
    )
