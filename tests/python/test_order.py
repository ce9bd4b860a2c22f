# SPDX-License-Identifier: Apache-2.0
"""``anyarray order``: the table, one object, and the presets held to the libraries that are installed.

A library whose new version decides otherwise turns ``test_library_decides_as_its_preset_does`` red, with a sentence
that says what changed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

import anyarray as aa
import generate
from anyarray import _consumers as words
from anyarray.cli import main, probe
from anyarray.cli.order import check, command, imitate, made, natives, objects, probes, report, table
from anyarray.cli.order.check import Agreement, Disagreement
from anyarray.cli.order.natives import NATIVES, Native, Outcome
from marks import between

from .conftest import needs

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "which-protocol-first.md"
#: Imports beyond what `Native.needs` names.
ALSO = {"cuda.core": "cuda.bindings"}


def output(capsys: pytest.CaptureFixture[str], *args: str, status: int = 0) -> str:
    assert main(["order", *args]) == status
    return capsys.readouterr().out


# ------------------------------------------------------------------ the libraries that are installed


@pytest.mark.parametrize("consumer", NATIVES)
def test_library_decides_as_its_preset_does(consumer: str) -> None:
    native = NATIVES[consumer]
    needs("numpy")
    if consumer in ALSO:
        needs(ALSO[consumer])
    if not native.installed():  # the library itself is for the other process: pydlpack changes ctypes for all
        needs(native.needs)
    result = check.check(consumer, quick=True)
    assert not report.complaints(result), "\n".join(report.complaints(result))
    if result.status == "no preset":  # nothing that the library knows is a row
        assert not {row for row, *_ in aa.protocols()} & set(native.knows)
        return
    assert (result.status, result.reason) == ("ok", "")
    crossed = sum(result.known.values()) + sum(result.out_of_scope.values()) + len(result.crashed)
    assert result.agreed + crossed == result.probes > 20
    assert result.agreed > 0.9 * result.probes


def test_quick_probes_are_some_of_all() -> None:
    for native in NATIVES.values():
        every = {probes.name_of(states) for states in probes.descriptions(native.knows)}
        quick = {probes.name_of(states) for states in probes.descriptions(native.knows, native.knows)}
        assert quick < every and 20 < len(quick) < 500
        for row in native.knows:
            assert {f"{row}={state}" for state in probes.STATES[row]} <= quick


def test_check_finds_a_preset_that_decides_otherwise(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """The one real thing that is wrong here is the preset: NumPy is held to mpi4py's."""
    needs("numpy")
    original = NATIVES["numpy.asarray"]
    fields = {**vars(original), "preset": "mpi4py"}
    monkeypatch.setitem(NATIVES, "numpy.asarray", Native(**fields))
    out = " ".join(output(capsys, "--check", "--quick", "--library", "numpy.asarray", status=1).split())
    version = original.version()
    assert f"numpy.asarray of numpy {version} decides otherwise than the preset 'mpi4py', seen in 4.1: " in out
    assert "given array_struct=offered, the library takes array_struct, the preset refuses" in out
    assert "more probes disagree" in out
    document = json.loads(output(capsys, "--check", "--quick", "--json", "--library", "numpy.asarray", status=1))
    assert document["summary"]["disagreed"] > report.MOST and document["consumers"][0]["complaints"]
    first = document["consumers"][0]["disagreements"][0]
    assert set(first) == {"probe", "native", "native_detail", "ours", "ours_detail"}


def test_check_that_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    needs("numpy")
    out = output(capsys, "--check", "--quick", "--library", "numpy.from_dlpack")
    assert "0 disagree" in out and f"numpy {NATIVES['numpy.asarray'].version()}" in out
    out = output(capsys, "--check", "--quick", "--markdown", "--library", "numpy.from_dlpack")
    assert out.startswith("| consumer | version |") and "| numpy.from_dlpack | numpy " in out
    assert "| cupy.asarray | from source: cupy" in out
    document = json.loads(output(capsys, "--check", "--quick", "--json", "--library", "numpy.from_dlpack"))
    assert document["schema"] == "anyarray.order.check" and document["quick"] is True
    assert document["summary"]["agreed"] == document["summary"]["probes"] > 40
    assert document["not_run"]["ucxx.Array"].startswith("from source: ")


def test_library_that_isnt_there_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    gone = Native(**{**vars(NATIVES["mlx.array"]), "needs": "no_such_module"})
    monkeypatch.setitem(NATIVES, "mlx.array", gone)
    out = output(capsys, "--check", "--quick", "--library", "mlx")
    assert "not run: mlx.array: not installed: pip install mlx" in out and "0 probes of 0 consumers" in out


def test_other_interpreter_is_used(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "python"
    event = json.dumps({"event": "unusable", "version": "7", "reason": "ImportError: from there"})
    path.write_text(f"#!/bin/sh\necho '{event}'\n")
    path.chmod(0o755)
    out = output(capsys, "--check", "--library", "mlx", "--python", f"mlx={path}")
    assert "not run: mlx.array: unusable: ImportError: from there" in out


# ------------------------------------------------------------------ what is told of a result


def result(**changes: Any) -> Agreement:
    fields: dict[str, Any] = {"consumer": "numpy.asarray", "preset": "numpy", "library": "numpy", "version": "9.9"}
    return Agreement(**{**fields, "probes": 3, "agreed": 3, **changes})


def test_sentence_says_what_changed() -> None:
    bad = Disagreement("buffer=call:KeyError", None, "KeyError: 'no'", "array_struct", "")
    (sentence,) = report.complaints(result(agreed=2, disagreements=[bad]))
    versions = aa.consumers()["numpy"]["versions"]
    assert sentence == (
        f"numpy.asarray of numpy 9.9 decides otherwise than the preset 'numpy', seen in {versions}: given "
        "buffer=call:KeyError, the library refuses (KeyError: 'no'), the preset takes array_struct"
    )


def test_other_complaints() -> None:
    assert report.complaints(result()) == [] and not result().failed
    (stale,) = report.complaints(result(stale=["dlpack=none: likes None"]))
    assert "agrees by now where a difference was known: dlpack=none: likes None" in stale
    (hung,) = report.complaints(result(status="hung", reason="no sign"))
    assert "hung: no sign" in hung
    assert report.complaints(result(status="not installed", reason="pip install numpy")) == []


def test_agreement_table_counts_everything(capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        result(probes=9, agreed=4, data_refused=1, known={"odd": 2}, out_of_scope={"usm": 1}, crashed=["a=b", "c=d"]),
        result(consumer="gone", status="not installed", reason="pip install gone"),
    ]
    text = report.markdown(results)
    line = "| numpy.asarray | numpy 9.9 | numpy | 9 | 4 | 1 | 0 | 2 (odd); 1 (usm) | 2 |"
    assert line in text and "gone" not in text
    assert "`a=b` and 1 like it end the library's process" in text
    assert "9 probes of 1 consumers: 4 agree (in 1 of them" in text
    assert "| gone | not installed: pip install gone |" in report.markdown_not_run(results)
    report.show(results)
    out = capsys.readouterr().out
    assert "not run: gone: not installed" in out and "c=d ended the library's process" in out


def test_first_line_of_errors_is_the_same_in_every_process() -> None:
    assert natives.first_line(ValueError("<x at 0x7f12>\nmore")) == "ValueError: <x at 0x…>"


# ------------------------------------------------------------------ how presets are asked


@pytest.mark.parametrize(
    ("handshake", "stream", "bare", "capsule"),
    [
        ("", "old:stream", "old:bare", "old:capsule"),
        ("stream", "old:stream", "call:TypeError", "old:capsule"),
        ("?stream", "old:stream", "old:bare", "old:capsule"),
        ("max_version,copy/", "old:stream", "old:bare", "old:capsule"),
        ("max_version!,copy,?stream/?stream", "old:stream", "old:bare", "wrong:name"),
        ("stream,max_version/stream", "old:stream", "call:TypeError", "old:capsule"),
        ("/max_version", "old:stream", "old:bare", "old:capsule"),
    ],
)
def test_old_producers_are_asked_as_the_library_asks(handshake: str, stream: str, bare: str, capsule: str) -> None:
    asked = words.Handshake(handshake)
    states = ("old:stream", "old:bare", "old:capsule", "offered", "call:TypeError")
    assert [imitate.as_asked(asked, state) for state in states] == [stream, bare, capsule, "offered", "call:TypeError"]


def test_handshake_in_words() -> None:
    assert str(words.Handshake("")) == "()"
    assert str(words.Handshake("max_version!,copy,?stream/?stream")) == "([stream], max_version, copy), then ([stream])"
    on_device = words.Handshake("?stream").fitting([], on_host=False)
    assert on_device is None and words.Handshake("?stream").fitting(["stream"], on_host=False) is not None


def test_every_handshake_is_made_of_known_words() -> None:
    for consumer in aa.consumers().values():
        for call in words.Handshake(consumer["handshake"]).calls:
            assert call.keywords | call.for_devices <= {"stream", "max_version", "dl_device", "copy"}


def test_imitation_tells_whose_data_it_refused() -> None:
    ours = imitate.imitate("nanobind")
    assert ours(probes.build({"dlpack": "wrong:dtype"})).refused == "dlpack"
    assert ours(probes.build({"dlpack": "offered"})) == Outcome("dlpack")
    nothing = ours(probes.build({}))
    assert nothing.row is None and nothing.refused is None


# ------------------------------------------------------------------ words


def test_failures_in_words() -> None:
    def after(preset: str) -> str:
        return words.after_failure(aa.presets()[preset][0])

    assert after("numpy.from_dlpack") == "ends it"
    assert after("numpy") == "ends it, but goes on after a buffer that can't be had"
    assert after("torch.as_tensor") == (
        "ends it, but goes on after an error in reading of cuda_array_interface or dlpack"
    )
    assert after("nanobind") == "goes on, but ends after wrong data of dlpack"
    assert after("tvm_ffi.from_dlpack") == "ends it, but goes on after BufferError of dlpack_exchange"
    assert words.after_failure(aa.Policy(["dlpack", "buffer"])) == "goes on"
    assert words.after_failure(aa.Policy(["dlpack", "buffer"], on_failure="raise")) == "ends it"
    dlpack = ("attribute_error", "type_error", "buffer_error", "not_implemented", "call")
    one = aa.Policy(["dlpack", "array_method", "buffer"], final=dict.fromkeys(dlpack, ("dlpack",)))
    assert words.after_failure(one) == "goes on, but ends after a call that raises of dlpack"
    one = aa.Policy(["dlpack", "array_method", "buffer"], final=dict.fromkeys((*dlpack, "read"), ("dlpack",)))
    assert words.after_failure(one) == "goes on, but ends after whatever is raised of dlpack"


def test_none_and_device_in_words() -> None:
    policies = {name: policy for name, (policy, _) in aa.presets().items()}
    assert words.for_none(policies["numpy"]) == "a failure" and words.for_none(policies["nanobind"]) == "absent"
    assert words.for_none(aa.Policy(["buffer"])) == "–"
    half = aa.Policy(["dlpack", "array_method"], final={"none": ["dlpack"]})
    assert words.for_none(half) == "a failure (dlpack)"
    assert words.device_question(policies["numpy"]) == "–"
    assert words.device_question(policies["default"]) == "asked first, decides"
    assert words.device_question(policies["dpnp.from_dlpack"]) == "must be there"


def test_explain_says_whom_a_preset_imitates() -> None:
    e = aa.explain(b"abc", policy="cupy")
    consumer = aa.consumers()["cupy"]
    assert e.consumer == words.describe("cupy")
    for word in (consumer["consumer"], consumer["text"], consumer["source"], consumer["versions"], "from source"):
        assert word in e.consumer
    assert consumer["text"] in " ".join(str(e).split())
    assert "(checked: " in aa.explain(b"abc", policy="numpy").consumer
    # mlx decides as nanobind does; the words are of the one that was named
    assert "mlx.core.array" in aa.explain(b"abc", policy="mlx").consumer
    for unnamed in (None, ["buffer"], aa.Policy("mlx"), "default", "mpi4py_proposed"):
        assert aa.explain(b"abc", policy=unnamed).consumer == ""


# ------------------------------------------------------------------ the table


def test_table_shows_every_consumer(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys)
    assert all(name in out for name in aa.consumers())
    assert "from source" in out and "checked" in out and "\x1b" not in out
    out = output(capsys, "--library", "torch")
    assert "torch.as_tensor" in out and "numpy.asarray" not in out


def test_table_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(output(capsys, "--json"))
    assert document["schema"] == "anyarray.order" and document["schema_version"] == table.SCHEMA_VERSION
    assert [entry["preset"] for entry in document["consumers"]] == list(aa.consumers())
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert by_name["torch.asarray"]["ranks"] == {"numpy": 1, "buffer": 2, "cuda_array_interface": 3, "dlpack": 4}
    assert by_name["numpy"]["handshake"] is None and by_name["mpi4py"]["handshake"].startswith("max_version!")
    assert by_name["cupy"]["checked"] == "from source"
    assert document["protocols"]["dlpack"] == "__dlpack__"
    for entry in document["consumers"]:
        own = [step for step in entry["steps"] if not step.startswith("=")]
        assert set(own) <= set(table.SHORT), f"{entry['preset']}: steps that are no rows lack their ="
        if set(own) <= set(document["protocols"]):
            assert own == entry["order"], f"{entry['preset']}: steps and order differ"


def test_table_names_the_protocols_it_abbreviates() -> None:
    for row, *_ in aa.protocols():
        assert row in table.SHORT
    text = table.markdown(aa.consumers())
    assert "DL `__dlpack__`" in text and "BUF the buffer protocol" in text


def test_cells_of_markdown_hold_their_marks() -> None:
    assert table.markdown_table(("a", "b"), [("x|y", "z")]) == "| a | b |\n| --- | --- |\n| x\\|y | z |"


# ------------------------------------------------------------------ one object


def test_object_by_presets_alone(capsys: pytest.CaptureFixture[str]) -> None:
    out = output(capsys, "array.array('d', [1, 2])", "--presets-only")
    assert all(name in out for name in aa.consumers())
    assert "float64" in out and "it offers none of these" in out and "writable" in out
    document = json.loads(output(capsys, "array.array('d', [1, 2])", "--presets-only", "--json"))
    assert document["schema"] == "anyarray.order.object" and document["type"] == "array.array"
    assert document["default"]["row"] == "builtin"
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert by_name["numpy"]["row"] == "buffer" and by_name["numpy"]["differs"] == []
    assert by_name["numpy"]["data"] == document["default"]["data"]
    assert by_name["numpy.from_dlpack"]["row"] is None
    assert aa.consumers()["numpy.from_dlpack"]["nothing"] in by_name["numpy.from_dlpack"]["reason"]
    assert all(entry["native"] == "not run" for entry in document["consumers"])


TWO = """type('Two', (), {
    '__array_interface__': property(lambda self: {'version': 3, 'shape': (2,), 'typestr': '|u1', 'data': bytes(2)}),
    '__cuda_array_interface__': property(lambda self: 1 / 0)})()"""


def test_object_whose_protocols_differ(capsys: pytest.CaptureFixture[str]) -> None:
    expression = " ".join(TWO.split())
    document = json.loads(output(capsys, expression, "--presets-only", "--json"))
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert by_name["numpy"]["row"] == "array_interface"
    assert "ZeroDivisionError" in by_name["jax"]["reason"] and by_name["jax"]["row"] is None
    assert "ZeroDivisionError" in by_name["cupy"]["reason"]


def test_object_of_which_consumers_read_other_data(capsys: pytest.CaptureFixture[str]) -> None:
    """A class with a mirror: its array interface has other data than its buffer."""
    mirror = "{'version': 3, 'shape': (3,), 'typestr': '<i2', 'data': b'abcdef', 'strides': None}"
    expression = f"type('Liar', (bytearray,), {{'__array_interface__': property(lambda self: {mirror})}})(4)"
    document = json.loads(output(capsys, expression, "--presets-only", "--json", "--library", "warp", "numpy"))
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert by_name["numpy"]["differs"] == []
    assert by_name["warp.argument"]["differs"] == ["ptr", "shape", "dtype", "readonly"]
    out = output(capsys, expression, "--presets-only", "--library", "warp")
    assert "int16 *" in out and "*: not what anyarray's default reads" in out


def test_object_that_can_be_taken_once(capsys: pytest.CaptureFixture[str]) -> None:
    document = json.loads(output(capsys, "aa.view(b'abc').__dlpack__(max_version=(1, 0))", "--presets-only", "--json"))
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert document["default"]["row"] == by_name["numpy.from_dlpack"]["row"] == "dlpack"


def test_object_and_the_library_itself(capsys: pytest.CaptureFixture[str]) -> None:
    needs("numpy")
    document = json.loads(output(capsys, "np.arange(6.)[::2]", "--json", "--library", "numpy"))
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert set(by_name) == {"numpy", "numpy.from_dlpack"}
    for entry in by_name.values():
        assert entry["native"] == "same data" and entry["native_data"]["shape"] == [3]
    document = json.loads(output(capsys, "bytearray(b'abc')", "--json", "--library", "numpy"))
    by_name = {entry["preset"]: entry for entry in document["consumers"]}
    assert by_name["numpy.from_dlpack"]["native"] == "refuses"
    assert "__dlpack__" in by_name["numpy.from_dlpack"]["native_detail"]
    out = output(capsys, "[1.0, 2.0]", "--library", "numpy.asarray")
    assert "takes it: shape (2,), dtype float64" in out


def test_library_that_ends_its_process_costs_itself_alone(monkeypatch: Any) -> None:
    needs("numpy")
    choices = [objects.Choice(name, name) for name in ("numpy", "numpy.from_dlpack")]
    crash = "type('Bomb', (), {'__array__': lambda *a, **k: os.abort(), '__dlpack__': lambda *a, **k: 3})()"
    objects.run_natives(crash, choices, sys.executable)
    assert [choice.native for choice in choices] == ["crashed", "refuses"]
    assert "SIGABRT" in choices[0].native_detail


def test_comparison_of_data() -> None:
    ours = {"ptr": 16, "shape": [2], "dtype": "float32", "readonly": True}
    assert objects.compared({**ours}, ours) == "same data"
    assert objects.compared({"ptr": 16}, ours) == "same data"
    assert objects.compared({**ours, "readonly": False}, ours) == "same data, writable"
    assert objects.compared(ours, {**ours, "readonly": False}) == "same data, read-only"
    assert objects.compared({**ours, "ptr": 32}, ours) == "a copy"
    assert objects.compared({**ours, "dtype": "int8"}, ours) == "other data"
    assert objects.compared({**ours, "shape": [8]}, ours) == "other data"
    assert objects.compared(ours, None) == "takes it"


def test_dtypes_of_nanobind_by_name() -> None:
    numbers = {"float32": (2, 32, 1), "int8": (0, 8, 1), "uint64": (1, 64, 1), "complex64": (5, 64, 1)}
    numbers.update({"bfloat16": (4, 16, 1), "bool": (6, 8, 1), "float32x4": (2, 32, 4)})
    assert {made.dtype_of(*three): name for name, three in numbers.items()} == {name: name for name in numbers}
    assert made.dtype_of(9, 8, 1) == "code 9, 8 bits"


def test_libraries_that_objects_are_given_to() -> None:
    runnable = {native.preset for native in NATIVES.values()} - objects.NOT_FOR_OBJECTS
    assert set(made.STARTS) == runnable


# ------------------------------------------------------------------ wrong usage


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("1 +",), "isn't a Python expression"),
        (("1 / 0",), "ZeroDivisionError"),
        (("--library", "no_such_library"), "there is no consumer named no_such_library"),
        (("--check", "--library", "cupy", "nosuch"), "nosuch"),
        (("b''", "--library", "no_such_library"), "there is no consumer"),
        (("b''", "--check"), "neither --check nor --markdown"),
        (("b''", "--markdown"), "neither --check nor --markdown"),
        (("--quick",), "--quick goes with --check"),
        (("--presets-only",), "with EXPR"),
        (("--check", "--python", "mlx"), "LIBRARY=PATH"),
        (("--check", "--python", "nosuch=/bin/sh"), "libraries are"),
        (("--check", "--python", "mlx=/no/such/file"), "no such file"),
    ],
)
def test_wrong_usage_is_status_2_with_a_sentence(
    args: tuple[str, ...], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["order", *args]) == 2
    captured = capsys.readouterr()
    assert word in captured.err and captured.out == ""


def test_libraries_are_found_by_every_name() -> None:
    for name in ("torch", "torch.asarray", "cuda-core", "cuda", "warp-lang", "apache-tvm-ffi", "mlx.core"):
        assert command.chosen_consumers({name}) and command.chosen_natives({name})
    assert list(command.chosen_consumers({"warp-lang"})) == ["warp", "warp.argument", "warp.from_dlpack"]
    assert [native.name for native in command.chosen_natives({"warp"})] == [
        "warp.array",
        "warp argument",
        "warp.from_dlpack",
    ]
    assert command.chosen_consumers(None) == aa.consumers()


@pytest.mark.parametrize("expression", ["b'ab'", "bytearray(2)", "[1.0, 2.0]", "(lambda: b'')()"])
def test_expression_behind_the_names_is_none_of_them(expression: str, capsys: pytest.CaptureFixture[str]) -> None:
    behind = json.loads(output(capsys, "--json", "--presets-only", "--library", "numpy", "mpi4py", expression))
    before = json.loads(output(capsys, expression, "--json", "--presets-only", "--library", "numpy", "mpi4py"))
    assert behind["expression"] == expression
    assert [one["preset"] for one in behind["consumers"]] == [one["preset"] for one in before["consumers"]]
    assert len(behind["consumers"]) == 3


def test_name_behind_names_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "warp.argument" in output(capsys, "--json", "--library", "numpy", "warp argument")
    for wrong in ("tvm-fffi", "nosuch", "jax.nosuch"):
        assert main(["order", "--library", "numpy", wrong]) == 2
        assert f"there is no consumer named {wrong}" in capsys.readouterr().err


def test_help_says_that_expr_is_executed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "anyarray", "order", "--help"], capture_output=True, text=True, check=True
    )
    assert "EXPR is executed as Python code" in done.stdout and "exit status" in done.stdout


# ------------------------------------------------------------------ the matrix


def test_matrix_tells_what_others_would_take() -> None:
    assert set(probe.ELSEWHERE) <= set(aa.consumers())
    two = {row: probes.build({row: "offered"}) for row in ("buffer", "dlpack")}
    assert probe.elsewhere(two["buffer"]) == {
        "numpy": "buffer",
        "torch.as_tensor": None,
        "jax": "buffer",
        "nanobind": "buffer",
    }
    assert probe.elsewhere(two["dlpack"]) == {
        "numpy": None,
        "torch.as_tensor": "dlpack",
        "jax": None,
        "nanobind": "dlpack",
    }


# ------------------------------------------------------------------ the docs


def test_docs_hold_the_generated_table() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert between(text, "orders") == generate.orders(), "run docs/generate.py"


def test_docs_hold_the_agreement_of_every_consumer() -> None:
    text = PAGE.read_text(encoding="utf-8")
    lines = [line.strip("| ").split(" | ") for line in between(text, "agreement").split("\n") if "|" in line]
    heads, rows = lines[0], lines[2:]
    assert heads == list(report.COLUMNS)
    not_run = dict(
        line.strip("| ").split(" | ", 1) for line in between(text, "not run").split("\n")[2:] if line.startswith("| ")
    )
    assert [row[0] for row in rows] == [name for name in NATIVES if name not in not_run]
    served = {row for row, *_ in aa.protocols()}
    for name in set(NATIVES) & set(not_run):
        assert not served & set(NATIVES[name].knows), f"{name} can be run: make docs CHECK=FILE"
    held = {native.preset for native in NATIVES.values()}
    for preset, consumer in aa.consumers().items():
        assert preset in held or consumer["consumer"] in not_run
        assert consumer["runs"] == (preset in held)
    for name, version, preset, *numbers in rows:
        assert preset == NATIVES[name].preset and re.fullmatch(rf"{NATIVES[name].distribution} \d[\w.+]*", version)
        total, agreed, refused, wrong, scope, crashed = numbers
        beside = sum(int(number) for number in re.findall(r"(?:^|; )(\d+)", scope)) + int(crashed)
        assert int(total) > 1000 and int(wrong) == 0 and int(refused) < 50 and beside < 50
        assert int(agreed) + beside == int(total), name


def test_docs_are_written_between_their_marks(tmp_path: Path, monkeypatch: Any) -> None:
    page = tmp_path / "page.md"
    parts = "".join(
        f"<!-- {p}: begin, x -->\n\nold {p}\n<!-- {p}: end -->\n" for p in ("orders", "agreement", "not run")
    )
    page.write_text(f"before\n{parts}after\n")
    found = tmp_path / "check.json"
    found.write_text(json.dumps(report.document([result(known={"odd": 1}, probes=4)], quick=False)))
    monkeypatch.setattr(generate, "PAGE", page)
    monkeypatch.setattr(sys, "argv", ["generate.py", "--check", str(found)])
    generate.main()
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "old" not in text
    assert between(text, "orders") == generate.orders()
    assert "| numpy.asarray | numpy 9.9 | numpy | 4 | 3 | 0 | 0 | 1 (odd) | 0 |" in between(text, "agreement")
    with pytest.raises(ValueError, match="no part 'other'"):
        between(text, "other")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def test_recommended_order_in_python() -> None:
    np = needs("numpy")
    (source,) = blocks("python")
    names: dict[str, Any] = {}
    exec(compile(source, PAGE.name, "exec"), names)
    take = names["take"]
    for row in ("buffer", "dlpack", "array_method"):
        assert take(probes.build({row: "offered"}))[0] == probes.VALUES[row]
    assert take(probes.build({"buffer": "call:BufferError", "dlpack": "offered"}))[0] == probes.VALUES["dlpack"]
    assert take(probes.build({"buffer": "wrong:format", "array_method": "offered"}))[0] == probes.VALUES["array_method"]
    assert np.shares_memory(take(x := np.arange(3.0)), x)
    with pytest.raises(BufferError, match=r"buffer: BufferError.*dlpack: KeyError.*__array__: AttributeError"):
        take(probes.build({"buffer": "call:BufferError", "dlpack": "call:KeyError"}))

    class OnDevice(bytearray):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 1)

        def __array__(self) -> Any:
            raise AssertionError("the host's protocols aren't asked")

    with pytest.raises(BufferError, match=r"on device \(2, 1\)"):
        take(OnDevice())

    class Exhausted:
        def __array__(self) -> Any:
            raise MemoryError

    with pytest.raises(MemoryError):
        take(Exhausted())


_MODULE = """
static PyObject* call(PyObject* self, PyObject* x) {
  Py_buffer view;
  PyObject* found = take(x, &view);
  (void)self;
  if (found != Py_None) return found;
  Py_DECREF(found);
  float first = *(const float*)view.buf;
  PyBuffer_Release(&view);
  return PyFloat_FromDouble(first);
}
static PyMethodDef methods[] = {{"take", call, METH_O, NULL}, {NULL, NULL, 0, NULL}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "first_c", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_first_c(void) { return PyModule_Create(&module); }
"""


def test_recommended_order_in_c(tmp_path: Path) -> None:
    (source,) = blocks("c")
    (tmp_path / "first.c").write_text(source + _MODULE)
    target = tmp_path / f"first_c{sysconfig.get_config_var('EXT_SUFFIX')}"
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{sysconfig.get_paths()['include']}"]
    subprocess.run([*compiler, *flags, str(tmp_path / "first.c"), "-o", str(target)], check=True)
    spec = importlib.util.spec_from_file_location("first_c", target)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    take = module.take
    assert take(probes.build({"buffer": "offered", "dlpack": "offered"})) == probes.VALUES["buffer"]
    assert '"dltensor_versioned"' in repr(take(probes.build({"buffer": "call:RuntimeError", "dlpack": "offered"})))
    assert '"dltensor"' in repr(take(probes.build({"dlpack": "old:bare"})))
    assert '"dltensor_versioned"' in repr(take(probes.build({"dlpack": "device:call:KeyError"})))
    with pytest.raises(BufferError, match=r"no array: .*buffer: BufferError.*dlpack: KeyError"):
        take(probes.build({"buffer": "call:BufferError", "dlpack": "call:KeyError"}))
    with pytest.raises(BufferError, match=r"no array: .*__dlpack_device__: AttributeError.*buffer: TypeError"):
        take(object())

    class OnDevice(bytearray):
        def __dlpack_device__(self) -> tuple[int, int]:
            return (2, 1)

        def __dlpack__(self, **_: Any) -> str:
            return "its capsule"

    assert take(OnDevice()) == "its capsule"

    class Interrupted:
        def __dlpack_device__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        take(Interrupted())
    refs = sys.getrefcount(probe := probes.build({"dlpack": "call:BufferError"}))
    for _ in range(100):
        with pytest.raises(BufferError):
            take(probe)
    assert sys.getrefcount(probe) <= refs + 1
