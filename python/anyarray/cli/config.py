# SPDX-License-Identifier: Apache-2.0
"""`anyarray config`: what a build system must know. Loads neither the extension nor anything that a build needs not."""

from __future__ import annotations

import argparse
import os
import shlex
import sys

DESCRIPTION = """\
Says where C++ projects find what is installed here. Each option prints one line, in the order in which the options are
given; without options all of them are printed, each behind its name."""

EPILOG = """\
Flags are quoted for a shell; folders are printed as they are.

exit status:
  0  printed
  1  this installation has no headers
  2  wrong usage

examples:
  c++ -shared -fPIC $(python3-config --includes) $(anyarray config --cflags) norm.cpp -o norm.so
  c++ $(anyarray config --cflags) program.cpp $(anyarray config --libs) -o program
  cmake -S . -B build -Danyarray_DIR="$(anyarray config --cmakedir)"
  PKG_CONFIG_PATH="$(anyarray config --pkgconfigdir)" pkg-config --cflags anyarray"""

#: A folder's place under the prefix, or flags with the folder where they name one; and what it is.
_FACTS = {
    "cflags": ("-I{include}", "compiler flags for headers and extensions, which link nothing"),
    "libs": ("-L{lib} -lanyarray_core", "linker flags for the static core, without Python"),
    "includedir": ("{include}", "the folder that holds anyarray/*.h"),
    "cmakedir": ("{lib}/cmake/anyarray", "the folder of the CMake package, for anyarray_DIR"),
    "pkgconfigdir": ("{lib}/pkgconfig", "the folder of anyarray.pc and anyarray-core.pc, for PKG_CONFIG_PATH"),
    "prefix": ("{prefix}", "the folder of all these, for CMAKE_PREFIX_PATH"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    for name, (_, text) in _FACTS.items():
        parser.add_argument(f"--{name}", action="append_const", const=name, dest="facts", help=text)


def _prefix() -> str | None:
    """Where the package's files for C++ lie: an editable installation has several folders."""
    from .. import __path__ as folders

    for folder in folders:
        prefix = os.path.join(os.path.abspath(folder), "cmake_prefix")
        if os.path.isdir(os.path.join(prefix, "include")):
            return prefix
    return None


def run(facts: list[str] | None) -> int:
    """Prints what is asked for; returns the exit status."""
    prefix = _prefix()
    if prefix is None:
        print("anyarray config: error: no headers lie beside this package: install it with pip", file=sys.stderr)
        return 1
    folders = {"prefix": prefix, "include": os.path.join(prefix, "include"), "lib": os.path.join(prefix, "lib")}
    quoted = {name: shlex.quote(folder) for name, folder in folders.items()}
    for name in facts or _FACTS:
        text = _FACTS[name][0].format(**(quoted if name in ("cflags", "libs") else folders))
        print(text if facts else f"{name:12} {text}")
    return 0
