# SPDX-License-Identifier: Apache-2.0
"""Code for other processes: what an extension in pybind11 must do in each of several interpreters."""

INSIDE = """
import sys
sys.path[:0] = {paths!r}
import array, gc, time
import anyarray as aa, each_pb

x, y = bytearray(3), array.array("d", [1, 2])
until = time.monotonic() + {seconds}
while True:
    assert (each_pb.size(x), each_pb.size(y)) == (3, -2)
    back = each_pb.give_back(x)
    assert back.owner is x and type(back) is type(aa.view(x))
    try:
        each_pb.size(array.array("f", [1]))
    except TypeError as error:
        reasons = str(error).partition("anyarray: ")[2]
        assert reasons.count("float32") == 2 and isinstance(error.__cause__, aa.ExchangeError), error
    else:
        raise AssertionError
    if time.monotonic() > until:
        break
del back, reasons
gc.collect()
assert aa._core._live() == 0
"""

SEVERAL = """
import sys, threading
try:
    import _interpreters as interpreters
    def run(code, where):
        failed = interpreters.exec(where, code)
        assert failed is None, failed
except ImportError:
    import _xxsubinterpreters as interpreters
    def run(code, where):
        interpreters.run_string(where, code)
code, longer = {code!r}, {longer!r}
exec(code, {{}})
for _ in range(2):
    one = interpreters.create()
    run(code, one)
    exec(code, {{}})
    run(code, one)
    interpreters.destroy(one)
two = [interpreters.create() for _ in range(2)]
threads = [threading.Thread(target=run, args=(longer, where)) for where in two]
for thread in threads:
    thread.start()
exec(longer, {{}})
for thread in threads:
    thread.join()
for where in two:
    interpreters.destroy(where)
exec(code, {{}})
print("all well")
"""
