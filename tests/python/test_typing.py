# SPDX-License-Identifier: Apache-2.0
"""The type stubs: correct programs pass mypy --strict, wrong ones don't, and every name of the stub is there."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import anyarray as aa
from anyarray import _core

from .conftest import needs

STUB = Path(aa.__file__).parent / "_core.pyi"
TREE = ast.parse(STUB.read_text(encoding="utf-8"))

RIGHT = """
import copy

import anyarray as aa
import numpy as np
from anyarray.typing import SupportsArrayInterface, SupportsArrayStruct, SupportsBuffer, SupportsDLPack
from anyarray.typing import SupportsArray, SupportsCudaArrayInterface, SupportsDLPackExchange

x: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = np.zeros((2, 3), "float32")
a = aa.view(x, device="cpu", dtype="float32", ndim=2, order="C", policy=["numpy", "buffer"], allow="mask")
ok: bool = a.dtype == "float32" and a.device == "cpu" and a.dtype != aa.DType("int8")
m: memoryview = memoryview(a)
n = np.asarray(a)
d = np.from_dlpack(a)
shape: tuple[int, ...] = n.shape + d.shape + a.shape
names: dict[aa.DType, str | None] = {a.dtype: a.protocol}
place: tuple[int, int] = a.__dlpack_device__()
address: int = a.__array_interface__["data"][0]
twin: aa.Array = copy.copy(a)
offers: tuple[SupportsArray, SupportsArrayInterface, SupportsArrayStruct, SupportsBuffer, SupportsDLPack] = (
    a, a, a, a, a
)
more: tuple[SupportsCudaArrayInterface, SupportsDLPackExchange] = (a, a)
def address_of(obj: object) -> int:
    return obj.__array_interface__["data"][0] if isinstance(obj, SupportsArrayInterface) else 0
with aa.view(b"abc") as text:
    length: int = len(text)
same: bool = aa.Policy("numpy") == aa.Policy(["numpy"])
policies: set[aa.Policy] = {policy for policy, text in aa.presets().values()}
ids: list[str] = [row["id"] for row in aa.quirks_table()]
e: aa.Explanation = aa.explain(b"abc", writable=True)
made: aa.Array = aa.asarray([[1, 2, 3], [4, 5, 6.5]], dtype="float32", order="F", copy=True, casting="unsafe")
filled: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = aa.asarray(made, out=x)
aa.copyto(filled, 5, casting="same_value")
room: tuple[aa.Array, aa.Array] = (aa.empty((2, 3), "uint8"), aa.empty_like(x, dtype=np.int8))
both: aa.DType = aa.promote_types("int8", np.float32)
safe: bool = aa.can_cast("int8", made, "safe")
threads: int = aa.set_num_threads(None)
c: aa.Conversion = aa.explain_asarray([1, 2], copy=False)
try:
    aa.view([1])
except aa.ExchangeError as error:
    reasons: list[str] = [attempt.reason for attempt in error.attempts]
"""

#: One error a line.
WRONG = """\
import anyarray as aa
a = aa.view(b"abc")
a[0]
a.shape = (3,)
aa.view(b"abc", dtyp="uint8")
aa.view(b"abc", order="K")
aa.Policy("numpy", on_failure="stop")
aa.asarray([1], casting="never")
aa.copyto([1])
aa.empty(2, "f4", "C")
class Mine(aa.Array): ...
"""


def check(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs mypy --strict on a program, with the settings of nobody."""
    needs("mypy")
    path = folder / "program.py"
    path.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(folder / "cache")]
    return subprocess.run([*command, str(path)], capture_output=True, text=True, cwd=folder, timeout=300)


def test_right_program_passes_strict_mypy(tmp_path: Path) -> None:
    needs("numpy")
    done = check(RIGHT, tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    exec(compile(RIGHT, "RIGHT", "exec"), {})  # and does what it says


def test_wrong_program_fails_in_each_line(tmp_path: Path) -> None:
    done = check(WRONG, tmp_path)
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert lines == set(range(3, 12)), done.stdout + done.stderr


def stub_functions(body: list[ast.stmt]) -> Iterator[ast.FunctionDef]:
    return (node for node in body if isinstance(node, ast.FunctionDef))


def stub_classes() -> dict[str, ast.ClassDef]:
    return {node.name: node for node in TREE.body if isinstance(node, ast.ClassDef)}


def parameters(node: ast.FunctionDef) -> list[str]:
    return [arg.arg for arg in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def test_functions_of_the_stub_exist_with_their_parameters() -> None:
    for node in stub_functions(TREE.body):
        function: Any = getattr(_core, node.name)
        if not node.name.startswith("_"):
            assert list(inspect.signature(function).parameters) == parameters(node), node.name
    assert hasattr(_core, "_C_API")


def test_members_of_the_stub_exist() -> None:
    classes = stub_classes()
    instances = {
        "Array": aa.view(memoryview(b"abc")),
        "DType": aa.DType("int8"),
        "Policy": aa.Policy("numpy"),
        "_Served": _core._Served("__dlpack__"),
    }
    assert set(classes) == set(instances)
    for name, node in classes.items():
        members = {function.name for function in stub_functions(node.body)}
        if sys.version_info < (3, 12):
            members.discard("__buffer__")
        members.discard("__cuda_array_interface__")  # of other devices
        missing = {member for member in members if not hasattr(instances[name], member)}
        assert not missing, f"{name}: {missing}"


def test_public_members_are_in_the_stub() -> None:
    for name, node in stub_classes().items():
        listed = {function.name for function in stub_functions(node.body)}
        public = {member for member in vars(getattr(_core, name)) if not member.startswith("_")}
        assert public <= listed, f"{name}: {public - listed}"


@pytest.mark.parametrize("name", ["Array", "DType", "Policy"])
def test_final_types_cannot_be_subclassed(name: str) -> None:
    assert [ast.unparse(decorator) for decorator in stub_classes()[name].decorator_list] == ["final"]
    with pytest.raises(TypeError, match="not an acceptable base type"):
        type("Mine", (getattr(aa, name),), {})


def test_what_a_type_cannot_serve_is_not_on_it() -> None:
    ml_dtypes, np = needs("ml_dtypes"), needs("numpy")
    a = aa.view(np.zeros(3, ml_dtypes.bfloat16))
    assert hasattr(a, "__dlpack__") and not hasattr(a, "__array_interface__")
    with pytest.raises(TypeError):
        memoryview(a)
    text = aa.view(np.zeros(3, "S5"))
    assert hasattr(text, "__array_interface__") and not hasattr(text, "__dlpack__")
