# SPDX-License-Identifier: Apache-2.0
"""Writes the generated tables of which-protocol-first.md, between their marks.

python docs/generate.py                       the orders, from the presets
python docs/generate.py --check result.json   the agreement as well, from `anyarray order --check --json`
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import anyarray as aa
from anyarray.cli.order import report, table
from anyarray.cli.order.check import Agreement, Disagreement
from marks import replaced

PAGE = Path(__file__).with_name("which-protocol-first.md")


def orders() -> str:
    return table.markdown(aa.consumers())


def agreement(document: dict[str, Any]) -> list[Agreement]:
    """The results that a JSON document of `anyarray order --check` holds."""
    results = []
    for entry in document["consumers"]:
        fields = {name: value for name, value in entry.items() if name != "complaints"}
        fields["disagreements"] = [Disagreement(**one) for one in entry["disagreements"]]
        results.append(Agreement(**fields))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="FILE", type=Path, help="what `anyarray order --check --json` printed")
    args = parser.parse_args()
    text = replaced(PAGE.read_text(encoding="utf-8"), "orders", orders())
    if args.check is not None:
        document = json.loads(args.check.read_text(encoding="utf-8"))
        if document["quick"]:
            parser.error("the docs show the full check")
        results = agreement(document)
        text = replaced(text, "agreement", report.markdown(results))
        text = replaced(text, "not run", report.markdown_not_run(results))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
