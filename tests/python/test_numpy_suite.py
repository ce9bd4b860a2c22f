# SPDX-License-Identifier: Apache-2.0
"""NumPy's own tests of DLPack, of buffers and of its array interface, as the installed NumPy ships them, with every
array passed through anyarray first.

The tests are rewritten as they lie in the installation: what is handed to `memoryview`, `np.from_dlpack` and their kin,
and what is asked for `__dlpack__` and its kin, goes through `aa.view` before. What then fails must be in EXCEPTIONS,
with a reason, and nothing else may be there.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import environment, needs

np = needs("numpy")
needs("hypothesis")  # by NumPy's tests

#: Which classes of which files; none named: all.
SUITES = {
    "test_dlpack": (),
    "test_multiarray": ("TestFromBuffer", "TestNewBufferProtocol", "TestArrayInterface"),
    "test_array_interface": (),
}
#: Functions whose first argument goes through.
FUNCTIONS = {"memoryview", "from_dlpack", "frombuffer", "get_buffer_info"}
#: Attributes whose object goes through.
ATTRIBUTES = {"__dlpack__", "__dlpack_device__", "__array_interface__", "__array_struct__"}

EXCEPTIONS = {
    "TestDLPack::test_dunder_dlpack_stream": "expects RuntimeError or ValueError; the standard says BufferError",
    "TestDLPack::test_dunder_dlpack_copy": "expects ValueError for a copy that is no bool; here it is a TypeError",
    "TestDLPack::test_from_dlpack_refcount": "an Array taken from an old producer's capsule refers to it twice",
    "TestDLPack::test_invalid_dtype": "expects BufferError; an Array that DLPack can't carry has no __dlpack__ at all",
    "TestDLPack::test_invalid_byte_swapping": "the same, for the other byte order",
    "TestDLPack::test_writeable": "expects an old producer's memory to be read-only; anyarray passes on what it says",
    "TestRegisterDlpackDtype::test_roundtrip": "bytes registered as numbers in a table that only NumPy knows",
    "TestRegisterDlpackDtype::test_register_conflict": "the same",
    "TestRegisterDlpackDtype::test_buffererror_bad_dtype": "the same",
    "TestFromBuffer::test_array_base": "expects the object itself as base; a slot with a release is held as memoryview",
    "TestNewBufferProtocol::test_roundtrip_single_types": "object arrays hold references, not values: refused",
    "TestNewBufferProtocol::test_export_record": "the same struct, with its marks of byte order in other places",
    "TestNewBufferProtocol::test_export_and_pickle_user_dtype": "a dtype of NumPy's tests, which nobody else knows",
    "TestNewBufferProtocol::test_out_of_order_fields": "expects ValueError; an Array without a format has no buffer",
    "TestNewBufferProtocol::test_error_if_stored_buffer_info_is_corrupted": "about a cache that isn't asked here",
}

PRELUDE = """
import anyarray as _aa
import numpy as _np

def _through(x):
    if isinstance(x, _np.ndarray) or hasattr(type(x), "__array_interface__"):
        return _aa.view(x)
    return x
"""

CONFTEST = """
import json, os, pathlib
outcomes = {}

def pytest_runtest_logreport(report):
    name = report.nodeid.partition("::")[2]
    if report.failed:
        outcomes[name] = "failed"
    elif report.when == "call":
        outcomes.setdefault(name, report.outcome)

def pytest_sessionfinish():
    pathlib.Path(os.environ["OUTCOMES"]).write_text(json.dumps(outcomes))
"""


class Through(ast.NodeTransformer):
    """Sends arrays through anyarray."""

    @staticmethod
    def _wrap(value: ast.expr) -> ast.expr:
        return ast.Call(ast.Name("_through", ast.Load()), [value], [])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", None)
        if name in FUNCTIONS and node.args and not isinstance(node.args[0], ast.Starred):
            node.args[0] = self._wrap(node.args[0])
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        of_super = isinstance(node.value, ast.Call) and getattr(node.value.func, "id", "") == "super"
        if node.attr in ATTRIBUTES and isinstance(node.ctx, ast.Load) and not of_super:
            node.value = self._wrap(node.value)
        return node


def rewritten(name: str, classes: tuple[str, ...]) -> str:
    found = importlib.util.find_spec(f"numpy._core.tests.{name}")
    assert found is not None and found.origin is not None
    tree = ast.parse(Path(found.origin).read_text(encoding="utf-8"))
    if classes:
        tests = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name.startswith("Test")]
        assert set(classes) <= {n.name for n in tests}
        loose = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test")]
        drop = [n for n in tests if n.name not in classes] + loose
        tree.body = [n for n in tree.body if n not in drop]
    return PRELUDE + ast.unparse(ast.fix_missing_locations(Through().visit(tree)))


@pytest.mark.skipif(np.lib.NumpyVersion(np.__version__) < "2.3.0", reason="the suites are in other places before")
@pytest.mark.parametrize("name", list(SUITES))
def test_suite(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"test_through_{name.removeprefix('test_')}.py"
    file.write_text(rewritten(name, SUITES[name]), encoding="utf-8")
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    target = tmp_path / "outcomes.json"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(file)]
    variables = {**environment(), "OUTCOMES": str(target)}
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=600)
    outcomes: dict[str, str] = json.loads(target.read_text(encoding="utf-8"))
    assert sum(outcome == "passed" for outcome in outcomes.values()) > 0, done.stdout
    failed = {test.partition("[")[0] for test, outcome in outcomes.items() if outcome == "failed"}
    expected = {test for test in EXCEPTIONS if any(ran.partition("[")[0] == test for ran in outcomes)}
    assert failed - expected == set(), done.stdout
    assert expected - failed == set(), "these pass: take them off the list"
