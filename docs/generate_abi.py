# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of abi.md, between their marks, from the record that the tests hold the headers to."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path

from marks import replaced

PAGE = Path(__file__).with_name("abi.md")
RECORD = Path(__file__).resolve().parents[1] / "tests" / "cpp" / "abi.def"

FIELDS = {"ABI_STRUCT": 3, "ABI_MEMBER": 7, "ABI_VALUE": 4, "ABI_ROW": 5}


def entries(kind: str) -> list[list[str]]:
    """The arguments of each line of this kind; what is left of a line is the last one."""
    found = re.findall(rf"^{kind}\((.*?)\)$", RECORD.read_text(encoding="utf-8"), re.M | re.S)
    return [re.split(r",\s+", line, maxsplit=FIELDS[kind] - 1) for line in found]


def structs() -> str:
    sizes = {c_name: size for _, c_name, size in entries("ABI_STRUCT")}
    parts = []
    for c_name, members in groupby(entries("ABI_MEMBER"), key=lambda member: member[1]):
        head = f"{sizes[c_name]} bytes" if c_name in sizes else "24 bytes before the rows"
        lines = [f"`{c_name}`, {head}:", "", "| offset | size | type | member |", "|---|---|---|---|"]
        lines += [f"| {offset} | {size} | `{kind}` | `{name}` |" for _, _, name, _, kind, offset, size in members]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def rows() -> str:
    lines = ["| offset | since | function |", "|---|---|---|"]
    for since, offset, result, name, parameters in entries("ABI_ROW"):
        lines.append(f"| {offset} | {since} | `{result} {name}{' '.join(parameters.split())}` |")
    return "\n".join(lines) + "\n"


def values() -> str:
    lines = ["| in C | numbers |", "|---|---|"]
    for _, group in groupby(entries("ABI_VALUE"), key=lambda value: value[0]):
        numbers = [(name.split("_", 2), number) for _, _, name, number in group]
        kind = numbers[0][0][1]
        lines.append(f"| `ANYARRAY_{kind}_…` | {', '.join(f'`{name[2]}` {number}' for name, number in numbers)} |")
    return "\n".join(lines) + "\n"


PARTS = {"structs": structs, "rows": rows, "values": values}


def generated(text: str) -> str:
    """The page with every table as the record says it."""
    for name, part in PARTS.items():
        text = replaced(text, name, part())
    return text


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
