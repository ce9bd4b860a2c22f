# SPDX-License-Identifier: Apache-2.0
"""The README can't rot: its Python examples are run and their output compared, its C++ example is the extension that
tests/downstream builds, and its two commands are targets of the Makefile."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = ["README.md", "docs/policies.md", "docs/authors.md", "docs/convert.md", "docs/asarray.md"]


def blocks(page: str, language: str) -> list[str]:
    """The code blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.M | re.S)


def test_readme_has_examples() -> None:
    assert len(blocks("README.md", "pycon")) >= 3
    assert len(blocks("README.md", "cpp")) == 1


def test_python_examples_print_what_the_readme_says() -> None:
    test = doctest.DocTestParser().get_doctest("\n".join(blocks("README.md", "pycon")), {}, "README.md", None, 0)
    assert len(test.examples) > 10
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test, out=output.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(output)


@pytest.mark.parametrize("page", PAGES)
def test_plain_python_examples_run(page: str) -> None:
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page}, block {number}", "exec"), {})


def test_cpp_example_is_the_extension_that_is_built_and_run() -> None:
    source = (ROOT / "tests/downstream/extension/norm.cpp").read_text(encoding="utf-8")
    code = "".join(source.splitlines(keepends=True)[2:])
    assert blocks("README.md", "cpp") == [code]


def test_commands_are_targets() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    commands = re.findall(r"\bmake ([a-z-]+)\b", "\n".join(blocks("README.md", "sh")))
    assert commands == ["demo", "test"]
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.M)


@pytest.mark.parametrize("page", [path.name for path in ROOT.glob("*.md")])
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), f"{page} links {target}"
