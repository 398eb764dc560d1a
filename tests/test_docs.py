"""The documentation site: every public name and every page is on it, and nothing is fetched from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import drawings
import hopsight

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
GENERATED = {"gallery/index.md", "results.md", "changes.md", "commands.md"}


def pages(entry: object) -> set[str]:
    if isinstance(entry, str):
        return {entry}
    children = entry.values() if isinstance(entry, dict) else entry
    return set().union(*(pages(child) for child in children))  # type: ignore[attr-defined]


def test_every_page_is_in_the_navigation_and_the_other_way_round() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert pages(settings["nav"]) == written | GENERATED
    assert settings["strict"] is True and settings["use_directory_urls"] is False
    assert settings["theme"]["font"] is False


@pytest.mark.parametrize("name", [name for name in hopsight.__all__ if name != "__version__"])
def test_every_public_name_is_in_the_reference(name: str) -> None:
    reference = "\n".join(path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md"))
    assert re.search(rf"^::: hopsight\.[\w.]*\b{name}$", reference, re.MULTILINE)


def test_drawings_are_the_same_every_time() -> None:
    first = drawings.all_drawings()
    assert set(first) == {"hops", "evidence", "groups"} and first == drawings.all_drawings()
    used = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    assert all(f"pictures/{name}.svg" in used for name in first)


@pytest.mark.parametrize("name", ["index", "report", "thresholds", "which-detector", "faq"])
def test_a_page_names_commands_and_options_that_exist(name: str) -> None:
    from typer.main import get_command

    from hopsight.cli import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"```shell\n(.*?)```", text, re.DOTALL))
    for command, rest in re.findall(r"^hopsight (\w+)(.*)$", shown, re.MULTILINE):
        options = {option for each in commands[command].params for option in each.opts}
        assert set(re.findall(r"--[a-z][a-z-]+", rest)) <= options, command
