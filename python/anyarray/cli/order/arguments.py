# SPDX-License-Identifier: Apache-2.0
"""The options of `anyarray order` and their words; imports nothing that the other commands don't need."""

from __future__ import annotations

import argparse

DESCRIPTION = """\
Which protocol first? Shows the order in which each consumer looks for exchange protocols, and what a failure does.
With EXPR: what each consumer would do with that object, and what the libraries that are installed do with it.
With --check: gives probe objects, whose every protocol leads to other data, to the libraries and to the presets."""

EPILOG = """\
EXPR is executed as Python code, in this process and once in a process of each library: don't paste what you don't
trust. Names are imported as by anyarray explain. Data are what a consumer would read: pointer, dtype, shape, access.

exit status:
  0  shown; with --check: all libraries decide as their presets do
  1  a library decides otherwise than its preset: what, and in which version, is printed
  2  the expression raised, or wrong usage

examples:
  anyarray order
  anyarray order "torch.ones(3, dtype=torch.bfloat16)" --library torch jax
  anyarray order --check --quick
  anyarray order --check --library dpnp --python dpnp=/opt/oneapi/bin/python"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("expression", metavar="EXPR", nargs="?", help="a Python expression; it is executed")
    parser.add_argument("--check", action="store_true", help="hold the presets to the libraries")
    parser.add_argument("--quick", action="store_true", help="with --check: only protocols that the library knows")
    parser.add_argument("--presets-only", action="store_true", help="with EXPR: don't run the libraries")
    parser.add_argument(
        "--library",
        action="append",
        nargs="+",
        metavar="NAME",
        default=None,
        help="these only: libraries, presets or consumers; may be given several times",
    )
    parser.add_argument(
        "--python",
        action="append",
        metavar="LIBRARY=PATH",
        default=[],
        help="the interpreter in which a library is installed; may be given several times",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON document on standard output")
    form.add_argument("--markdown", action="store_true", help="Markdown, as in the docs")
