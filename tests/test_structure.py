"""The shape of the project: tests mirror the sources, modules stay small, text is never evaluated."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hopsight"
MODULES = sorted(path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
MAX_LINES = 400


def named(path: Path) -> str:
    return str(path.relative_to(SOURCE))


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_each_source_file_has_its_test_file(module: Path) -> None:
    relative = module.relative_to(SOURCE)
    assert (ROOT / "tests" / relative.with_name(f"test_{relative.name}")).is_file()


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_modules_are_small_and_named_for_what_they_do(module: Path) -> None:
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MAX_LINES
    assert module.stem not in {"utils", "common", "helpers", "misc"}


@pytest.mark.parametrize("module", MODULES, ids=named)
def test_no_module_evaluates_text(module: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"eval", "exec"}
