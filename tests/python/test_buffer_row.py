# SPDX-License-Identifier: Apache-2.0
"""Rows ``builtin`` and ``buffer``: formats, layouts, locks, exporters that lie, and what ctypes really holds."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import pickle
import random
import subprocess
import sys
from typing import Any, ClassVar

import pytest

import anyarray as aa

from .conftest import needs

OWN, OTHER = ("<", ">") if sys.byteorder == "little" else (">", "<")


MEMORY = bytearray(4096)  # what liars point to


def address(obj: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(obj))


def reasons(error: pytest.ExceptionInfo[aa.ExchangeError]) -> dict[str, tuple[str, str]]:
    return {a.protocol: (a.status, a.reason) for a in error.value.attempts}


def refused(obj: Any, row: str = "buffer", **request: Any) -> tuple[str, str]:
    """Status and reason of the row that had to refuse."""
    with pytest.raises(aa.ExchangeError) as error:
        aa.view(obj, policy=[row], **request)
    return reasons(error)[row]


# ------------------------------------------------------------------ builtin


def test_bytes_are_read_only() -> None:
    with aa.view(b"abc") as v:
        assert (v.protocol, v.shape, v.strides, str(v.dtype), v.readonly) == ("builtin", (3,), (1,), "uint8", True)
        assert bytes(v.tolist()) == b"abc"
    assert aa.view(b"").shape == (0,)
    assert refused(b"abc", "builtin", writable=True)[0] == "mismatch"


def test_bytearray_is_locked_until_the_last_release() -> None:
    data = bytearray(b"abcdef")
    first, second = aa.view(data), aa.view(data)
    assert (first.protocol, first.ptr, first.readonly) == ("builtin", address(data), False)
    for view in (first, second):
        with pytest.raises(BufferError):
            data.append(1)
        view.release()
        view.release()
    data.append(1)
    assert len(data) == 7


def test_bytearray_lock_goes_with_the_array() -> None:
    data = bytearray(4)
    view = aa.view(data)
    count = sys.getrefcount(data)
    del view
    assert sys.getrefcount(data) == count - 1
    data.clear()
    with aa.view(data) as empty:
        assert (empty.shape, empty.nbytes, empty.tolist()) == ((0,), 0, [])
        with pytest.raises(BufferError):
            data.append(1)
    data.append(1)


def test_memoryview_cannot_be_released_meanwhile() -> None:
    data = bytearray(24)
    m = memoryview(data).cast("d")[::2]
    with aa.view(m) as v:
        assert (v.protocol, v.shape, v.strides, str(v.dtype)) == ("builtin", (2,), (16,), "float64")
        assert v.ptr == address(data)
        with pytest.raises(BufferError):
            m.release()
    m.release()
    data.append(1)
    for row in ("builtin", "buffer"):
        assert "released" in refused(m, row)[1]
    # The memoryview lives, what it was sliced from is gone.
    base = memoryview(data)
    part = base[1:3]
    base.release()
    with aa.view(part) as v:
        assert v.shape == (2,)


def test_memoryview_shapes() -> None:
    data = bytearray(range(24))
    m = memoryview(data)
    assert aa.view(m.cast("B", (2, 3, 4))).strides == (12, 4, 1)
    assert aa.view(m.cast("B", (2, 3, 4))).tolist()[1][2] == [20, 21, 22, 23]
    assert aa.view(m[::-1]).tolist() == list(range(23, -1, -1))
    scalar = aa.view(m[:4].cast("i").cast("B").cast("i", ()))
    assert (scalar.shape, scalar.strides, scalar.ndim) == ((), (), 0)
    assert aa.view(m.toreadonly()).readonly
    assert aa.view(m[:0]).size == 0


def test_subclasses_are_asked_as_buffers() -> None:
    for base in (bytes, bytearray):
        sub = type("Sub", (base,), {})(b"ab")
        v = aa.view(sub)
        assert (v.protocol, v.shape) == ("buffer", (2,))
        with pytest.raises(aa.ExchangeError, match="outside of it: buffer"):
            aa.view(sub, policy=["builtin"])


@pytest.mark.skipif(sys.version_info < (3, 12), reason="came with PEP 688")
def test_memoryview_that_may_not_be_kept() -> None:
    outcomes = []

    class Exporter(bytearray):
        def __release_buffer__(self, view: memoryview) -> None:
            for row in ("builtin", "buffer"):
                try:
                    aa.view(view, policy=[row]).release()
                except aa.ExchangeError as error:
                    outcomes.append(error.attempts[0].status)

    memoryview(Exporter(4)).release()
    assert outcomes == ["invalid", "failed"]


@pytest.mark.parametrize("code", array.typecodes)
def test_array_array(code: str) -> None:
    data = array.array(code, "ab" if code in "uw" else [1, 2])
    with aa.view(data) as v:
        kind = "U" if code in "uw" else "float" if code in "fd" else "int" if code.islower() else "uint"
        expected = "U1" if code in "uw" else f"{kind}{8 * data.itemsize}"
        row = "buffer" if code == "u" else "builtin"
        assert (v.protocol, str(v.dtype), v.shape, v.strides) == (row, expected, (2,), (data.itemsize,))
        assert (v.ptr, v.readonly, v.tolist()) == (data.buffer_info()[0], False, data.tolist())
        with pytest.raises(BufferError):
            data.append(data[0])
    data.append(data[0])
    for name in ("builtin", "buffer"):
        if (code, name) != ("u", "builtin"):
            with aa.view(data, policy=[name]) as v:
                assert (v.protocol, v.shape, str(v.dtype)) == (name, (3,), expected)


def test_array_array_is_locked_until_the_last_release() -> None:
    data = array.array("h", range(5))
    first, second = aa.view(data), aa.view(data)
    held = memoryview(data)
    for lock in (first, second, held):
        with pytest.raises(BufferError):
            data.extend([1])
        lock.release()
    data.extend([1])
    assert data.tolist() == [0, 1, 2, 3, 4, 1]


def test_empty_array_array() -> None:
    with aa.view(array.array("d")) as v:
        assert (v.protocol, v.shape, v.strides, v.size, v.tolist()) == ("builtin", (0,), (8,), 0, [])


def test_a_subclass_of_array_goes_through_its_buffer() -> None:
    class Own(array.array):  # type: ignore[type-arg]
        pass

    with aa.view(Own("f", [1, 2])) as v:
        assert (v.protocol, v.tolist()) == ("buffer", [1.0, 2.0])


FALSE_ARRAYS = """
import array, sys, types
import anyarray as aa
real = array.array
class Fake(bytearray):
    def __new__(cls, *args):
        return super().__new__(cls, 64)
class Sub(real):
    pass
for false in (Fake, Sub, int, type, None, lambda *a: real("h", (1, 2))):
    module = types.ModuleType("array")
    module.array = false
    sys.modules["array"] = module
    for x in (real("f", [1, 2]), bytearray(64), Fake(), Sub("h", [3]), 7):
        try:
            aa.view(x).release()
        except aa.NotAnArrayError:
            assert x == 7
    assert aa.view(real("f", [1, 2])).protocol == "buffer", false
del sys.modules["array"]
assert aa.view(real("f", [1, 2])).tolist() == [1.0, 2.0]
"""


def test_only_the_real_array_type_is_read_by_its_struct() -> None:
    subprocess.run([sys.executable, "-c", FALSE_ARRAYS], check=True, timeout=60)


# ------------------------------------------------------------------ buffer


def test_mmap_is_held() -> None:
    with mmap.mmap(-1, 4096) as m:
        with aa.view(m) as v:
            assert (v.protocol, v.shape, v.readonly) == ("buffer", (4096,), False)
            with pytest.raises(BufferError):
                m.close()
        m.flush()


def test_writable_refusal_is_a_mismatch(liar: Any) -> None:
    assert aa.view(liar.buffer(), writable=True).readonly is False
    status, reason = refused(liar.buffer(readonly=True), writable=True)
    assert status == "mismatch" and "read-only" in reason
    status, _ = refused(liar.buffer(readonly=True, honours_flags=False), writable=True)
    assert status == "mismatch"


LIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "suboffsets": ({"suboffsets": (0,)}, "unsupported", "suboffsets"),
    "negative ndim": ({"ndim": -1}, "invalid", "ndim -1"),
    "65 dimensions": ({"shape": (1,) * 65}, "invalid", "ndim 65"),
    "no shape": ({"shape": None, "ndim": 2, "length": 12}, "invalid", "no shape"),
    "negative extent": ({"shape": (-3,)}, "invalid", "negative"),
    "negative extent beside a zero": ({"shape": (0, -3)}, "invalid", "negative"),
    "overflowing shape": ({"shape": (2**31, 2**31, 2)}, "invalid", "2^63"),
    "overflowing bytes": ({"shape": (2**61,)}, "invalid", "2^63"),
    "len too short": ({"length": 11}, "invalid", "len is 11"),
    "len too long": ({"length": 16}, "invalid", "len is 16"),
    "negative len": ({"length": -12}, "invalid", "len is -12"),
    "itemsize 0": ({"itemsize": 0}, "invalid", "itemsize is 0"),
    "negative itemsize": ({"itemsize": -4}, "invalid", "itemsize is -4"),
    "format of another size": ({"format": "d"}, "invalid", "says 8 bytes an element, itemsize says 4"),
    "no format, but an itemsize": ({"format": None}, "invalid", "says 1 bytes"),
    "empty format": ({"format": ""}, "invalid", "empty"),
    "no such letter": ({"format": "bfloat16", "itemsize": 2}, "invalid", "letter"),
    "not text": ({"format": "\u00ff\u20ac"}, "invalid", "letter"),
    "objects": ({"format": "O", "itemsize": 8}, "unsupported", "objects"),
    "pointers": ({"format": "&<i", "itemsize": 8}, "unsupported", "pointers"),
    "functions": ({"format": "X{}", "itemsize": 8}, "unsupported", "functions"),
    "bits": ({"format": "t"}, "unsupported", "bit fields"),
    "UCS2": ({"format": "u", "itemsize": 2}, "unsupported", "UCS2"),
    "deep": ({"format": "T{" * 5000}, "invalid", "16 deep"),
    "null address": ({"data": None}, "invalid", "null"),
    "overflowing strides": ({"shape": (2, 3), "strides": (2**62, 2**62)}, "invalid", ""),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refused_and_released(liar: Any, lie: str) -> None:
    fields, status, word = LIES[lie]
    exporter = liar.buffer(**fields)
    count = sys.getrefcount(exporter)
    got, reason = refused(exporter)
    assert got == status and word in reason
    gc.collect()  # the error's traceback holds the exporter in a cycle
    assert sys.getrefcount(exporter) == count
    assert liar.counts()["buffers_given"] == liar.counts()["buffers_released"] == 1


def test_what_may_be_left_out(liar: Any) -> None:
    rest = {"data": address(MEMORY), "itemsize": 4}
    assert aa.view(liar.buffer(shape=(2, 3), strides=None, **rest)).strides == (12, 4)
    one = aa.view(liar.buffer(shape=None, strides=None, ndim=1, length=20, **rest))
    assert (one.shape, one.strides) == ((5,), (4,))
    zero = aa.view(liar.buffer(shape=None, strides=None, ndim=0, length=4, **rest))
    assert (zero.shape, zero.strides) == ((), ())
    assert aa.view(liar.buffer(shape=(2, 2), suboffsets=(-1, -1), **rest)).shape == (2, 2)
    assert aa.view(liar.buffer(data=None, shape=(0, 3))).shape == (0, 3)
    assert str(aa.view(liar.buffer(itemsize=1, format=None)).dtype) == "uint8"


def test_no_exporting_object(liar_module: Any) -> None:
    liar_module.reset()
    exporter = liar_module.buffer(null_object=True)
    count = sys.getrefcount(exporter)
    with aa.view(exporter) as v:
        assert v.shape == (3,)
    assert sys.getrefcount(exporter) == count
    assert liar_module.counts()["buffers_released"] == 0
    liar_module.reset()


def test_layouts_are_copied(liar: Any) -> None:
    for ndim in (1, 2, 8, 9, 64):
        shape = tuple(1 + i % 2 for i in range(min(ndim, 12))) + (1,) * max(ndim - 12, 0)
        exporter = liar.buffer(data=address(MEMORY), format="b", itemsize=1, shape=shape)
        v = aa.view(exporter)
        del exporter
        gc.collect()
        assert v.shape == shape
        assert v.strides == memoryview(MEMORY)[: v.size].cast("b", shape).strides
    negative = aa.view(liar.buffer(data=address(MEMORY) + 40, shape=(2, 3), strides=(-16, 0)))
    assert (negative.strides, negative.ptr) == ((-16, 0), address(MEMORY) + 40)


FORMATS = {
    "f": "float32", "=f": "float32", OWN + "f": "float32", OTHER + "f": OTHER + "f4", "e": "float16", "?": "bool",
    "Zf": "complex64", "=Zf": "complex64", "Zd": "complex128", OTHER + "Zd": OTHER + "c16", "F": "complex64",
    "D": "complex128", "Ze": "complex32", "i": "int32", "=l": "int32", "q": "int64", "5s": "S5", "3w": "U3",
    "4x": "V4", "c": "S1", OWN + "u": "U1", "(2,3)f": "(2, 3)float32", "2f": "(2)float32", OTHER + "b": "int8",
    "T{i:a:xxxxd:b:}": "{'a': int32, 'b': float64 @ 8; 16}", "T{i:a:=d:b:}": "{'a': int32, 'b': float64; 12}",
}  # fmt: skip
SIZES = {"complex64": 8, "complex128": 16, OTHER + "c16": 16, "complex32": 4, "S5": 5, "U3": 12, "V4": 4, "S1": 1,
         "U1": 4, "(2, 3)float32": 24, "(2)float32": 8, "bool": 1, "int8": 1, "float16": 2, "int64": 8}  # fmt: skip


@pytest.mark.parametrize("form", FORMATS)
def test_formats(liar: Any, form: str) -> None:
    name = FORMATS[form]
    size = SIZES.get(name) or (int(name[-3:-1]) if name.startswith("{") else 4)
    v = aa.view(liar.buffer(data=address(MEMORY), format=form, itemsize=size, shape=(2,)))
    assert (str(v.dtype), v.itemsize, v.shape) == (name, size, (2,))


def test_random_formats_never_crash(liar: Any) -> None:
    rng = random.Random(5)
    pieces = ["T{", "}", ":a:", ":b:", "(2)", "3", "x", "i", "d", "Zf", "<", "@", "s", "w", "u", "O", "&", "b", "?"]
    taken = 0
    refused: list[aa.ExchangeError] = []
    for _ in range(3000):
        form = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 7)))
        size = rng.choice((1, 2, 4, 8, 12, 16))
        try:
            with aa.view(liar.buffer(data=address(MEMORY), format=form, itemsize=size, shape=(2,))) as v:
                assert v.itemsize == size
            taken += 1
        except aa.ExchangeError as error:
            refused.append(error)
    assert all(error.attempts[0].reason for error in refused)
    assert taken > 50


def test_exporters_that_raise() -> None:
    m = memoryview(bytearray(4))
    held = pickle.PickleBuffer(m)
    held.release()
    with pytest.raises(aa.ExchangeError) as error:
        aa.view(held)
    assert reasons(error)["buffer"][0] == "failed"
    assert isinstance(error.value.__cause__, ValueError)
    if sys.version_info >= (3, 12):

        class Angry:
            def __init__(self, error: BaseException) -> None:
                self.error = error

            def __buffer__(self, flags: int) -> memoryview:
                raise self.error

        for kind in (ValueError, BufferError, ZeroDivisionError):
            assert refused(Angry(kind("no")))[0] == "failed"
            assert refused(Angry(kind("no")), writable=True)[0] == "failed"
        for kind in (KeyboardInterrupt, MemoryError, RecursionError):
            with pytest.raises(kind):
                aa.view(Angry(kind()))
            with pytest.raises(kind):
                aa.view(Angry(kind()), writable=True)


def test_slots_that_break_the_rules_of_failing() -> None:
    code = """
import ctypes, anyarray as aa
proto = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
fail, fill_nothing = proto(lambda *a: -1), proto(lambda *a: 0)
class Slot(ctypes.Structure):
    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]
class Spec(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item", ctypes.c_int), ("flags", ctypes.c_uint),
                ("slots", ctypes.POINTER(Slot))]
make = ctypes.pythonapi.PyType_FromSpec
make.restype = ctypes.py_object
raise_and_succeed = ctypes.pythonapi.PyErr_BadArgument  # sets TypeError, gives 0
for get, status in ((fail, "failed"), (fill_nothing, "invalid"), (raise_and_succeed, "failed")):
    slots = (Slot * 2)(Slot(1, ctypes.cast(get, ctypes.c_void_p)), Slot(0, None))
    spec = Spec(b"test.Bad", object.__basicsize__, 0, 1 << 18, slots)
    obj = make(ctypes.byref(spec))()
    for writable in (False, True):
        try:
            aa.view(obj, policy=["buffer"], writable=writable)
        except aa.ExchangeError as error:
            print(error.attempts[0].status == status, error.attempts[0].reason)
"""
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    lines = out.splitlines()
    assert len(lines) == 6 and all(line.startswith("True ") for line in lines), out


# ------------------------------------------------------------------ NumPy's formats

NUMPY_DTYPES: list[Any] = [
    "i1", "u8", ">i4", "<f8", "f2", "c8", "c16", "g", "G", "?", "S5", "U3", ">U3", "V4", "i4,f8", "i1,>i8,g",
    "i1,S3,V2,U2", [("a", "(2,3)f4"), ("b", [("x", "i1"), ("y", "i4")], (2,))],
    [("n", [("a", "i4"), ("b", "i1")]), ("c", "i1")], [("a", "i1"), ("b", ">i8", (2,)), ("c", "u8")],
    {"names": ["a", "b"], "formats": ["f8", "i1"], "offsets": [0, 8], "itemsize": 16},
    {"names": ["a", "b"], "formats": ["i4", "f8"], "offsets": [0, 8], "itemsize": 16}, [("\u00e9", "i4")],
]  # fmt: skip


def as_dtype(np: Any, spec: Any) -> Any:
    return np.dtype(spec, align=isinstance(spec, dict))


@pytest.mark.parametrize("spec", NUMPY_DTYPES, ids=str)
def test_numpy_formats_mean_what_the_struct_says(spec: Any) -> None:
    np = needs("numpy")
    x = np.zeros((2, 3), as_dtype(np, spec))
    by_struct, by_buffer = aa.view(x, policy=["numpy"]), aa.view(x, policy=["buffer"])
    assert by_struct.dtype == by_buffer.dtype
    assert (by_buffer.shape, by_buffer.strides, by_buffer.ptr) == (x.shape, x.strides, x.ctypes.data)


# NumPy reads its own format of void, "4x", as a struct without fields, so that one isn't given as a buffer.
@pytest.mark.parametrize("spec", [spec for spec in NUMPY_DTYPES if spec != "V4"], ids=str)
def test_numpy_reads_our_formats(spec: Any) -> None:
    np = needs("numpy")
    dtype = as_dtype(np, spec)
    back = np.asarray(memoryview(aa.view(np.zeros(2, dtype))))
    assert back.dtype.itemsize == dtype.itemsize
    if dtype.fields is None:
        assert back.dtype == dtype
    else:
        assert {k: v[:2] for k, v in back.dtype.fields.items()} == {k: v[:2] for k, v in dtype.fields.items()}


def test_ndarray_subclass_and_scalars_by_the_buffer() -> None:
    np = needs("numpy")
    x = np.arange(6.0).reshape(2, 3).T
    v = aa.view(x, policy=["buffer"])
    assert (v.strides, v.readonly) == (x.strides, False)
    x.flags.writeable = False
    assert aa.view(x, policy=["buffer"]).readonly
    assert refused(np.zeros(2, "M8[s]"))[0] == "failed"
    assert aa.view(np.float32(1.5), policy=["buffer"]).tolist() == 1.5


# ------------------------------------------------------------------ ctypes


class Plain(ctypes.Structure):
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]


class Packed(ctypes.Structure):
    _pack_ = 1
    _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]


class Either(ctypes.Union):
    _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_double)]


class OneByte(ctypes.Union):
    _fields_ = [("a", ctypes.c_int8), ("b", ctypes.c_bool)]


class Base(ctypes.Structure):
    _fields_ = [("a", ctypes.c_byte)]


class Derived(Base):
    _fields_ = [("b", ctypes.c_int)]


class Swapped(ctypes.BigEndianStructure if sys.byteorder == "little" else ctypes.LittleEndianStructure):
    _fields_: ClassVar = [("a", ctypes.c_int32), ("b", ctypes.c_int8), ("c", ctypes.c_int16 * 2)]


class Bits(ctypes.Structure):
    _fields_ = [("low", ctypes.c_int, 3)]


class Nested(ctypes.Structure):
    _anonymous_ = ("u",)
    _fields_ = [
        ("s", Plain * 2),
        ("u", Either),
        ("t", ctypes.c_char * 4),
        ("w", ctypes.c_wchar),
        ("g", ctypes.c_longdouble),
    ]


class Pointing(ctypes.Structure):
    _fields_ = [("p", ctypes.POINTER(ctypes.c_int))]


PLAIN = "{'a': int32, 'b': float64 @ 8; 16}"
CTYPES = [
    (ctypes.c_int32, "int32"),
    (ctypes.c_long, f"int{8 * ctypes.sizeof(ctypes.c_long)}"),
    (ctypes.c_size_t, f"uint{8 * ctypes.sizeof(ctypes.c_size_t)}"),
    (ctypes.c_bool, "bool"),
    (ctypes.c_char, "S1"),
    (ctypes.c_wchar, "U1"),
    (ctypes.c_double, "float64"),
    (Plain, PLAIN),
    (Packed, "{'a': int32, 'b': float64; 12}"),
    (Either, "{'a': int32, 'b': float64 @ 0; 8}"),
    (OneByte, "{'a': int8, 'b': bool @ 0; 1}"),
    (Derived, "{'a': int8, 'b': int32 @ 4; 8}"),
    (Swapped, f"{{'a': {OTHER}i4, 'b': int8, 'c': (2){OTHER}i2 @ 6; 12}}"),
]


@pytest.mark.parametrize(("kind", "name"), CTYPES, ids=lambda p: getattr(p, "__name__", None))
def test_ctypes(kind: Any, name: str) -> None:
    items = (kind * 3 * 2)()
    with aa.view(items) as v:
        size = ctypes.sizeof(kind)
        assert (v.protocol, v.shape, v.strides, v.ptr) == ("buffer", (2, 3), (3 * size, size), ctypes.addressof(items))
        assert (v.itemsize, str(v.dtype)) == (size, name)
    one = aa.view(kind())
    assert (one.shape, one.itemsize) == ((), ctypes.sizeof(kind))


def test_ctypes_nested_struct() -> None:
    v = aa.view((Nested * 2)())
    assert v.itemsize == ctypes.sizeof(Nested)
    text = str(v.dtype)
    assert f"'s': (2){PLAIN}" in text and "'t': (4)S1" in text and "'w': U1" in text and "'g': longdouble" in text


@pytest.mark.parametrize(
    ("obj", "word"),
    [
        (Bits(), "'low' is a bit field"),
        ((Bits * 2)(), "bit field"),
        (Pointing(), "address"),
        (ctypes.POINTER(ctypes.c_int)(), "address"),
        (ctypes.CFUNCTYPE(None)(), "address"),
        (ctypes.c_void_p(), "pointers"),
        (ctypes.c_char_p(), "pointers"),
        (ctypes.c_wchar_p(), "complex"),
        (ctypes.py_object(), "objects"),
    ],
    ids=lambda p: None if isinstance(p, str) else type(p).__name__,
)
def test_ctypes_without_values_in_place(obj: Any, word: str) -> None:
    status, reason = refused(obj)
    assert status == "unsupported" and word in reason


def test_ctypes_without_bytes() -> None:
    empty = type("Empty", (ctypes.Structure,), {"_fields_": []})
    assert refused(empty())[0] == "invalid"
    assert aa.view((ctypes.c_int * 0)()).shape == (0,)
    assert aa.view((Plain * 0)()).shape == (0,)


def test_ctypes_class_changed_afterwards() -> None:
    fields = [("a", ctypes.c_int)]
    kind = type("Changed", (ctypes.Structure,), {"_fields_": fields})
    fields.append(("b", ctypes.c_int))
    assert refused(kind())[0] in ("failed", "invalid")
    deep = Plain
    for _ in range(20):
        deep = type("Deep", (ctypes.Structure,), {"_fields_": [("x", deep)]})
    assert refused(deep())[0] == "invalid"
