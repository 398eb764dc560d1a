"""The documentation site: every public name and every page is on it, and nothing is fetched from elsewhere."""

import re
from pathlib import Path

import pytest
import yaml

import hopsight
from toys import refuses

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
OTHERS = {"--plain", "--index-url"}  # of programs beside hopsight
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


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_the_links_of_a_page_work_in_a_clone(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.relative_to(DOCS).as_posix())
def test_a_page_names_commands_and_options_that_exist(page: Path) -> None:
    from typer.main import get_command

    from hopsight.cli import app

    commands = get_command(app).commands  # type: ignore[attr-defined]
    text = page.read_text(encoding="utf-8")
    shown = "\n".join(re.findall(r"```(?:shell|bash)[^\n]*\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
    shown += "\n" + "\n".join(re.findall(r"`(hopsight [^`]+)`", text))
    every = {option for command in commands.values() for each in command.params for option in each.opts}
    for command, rest in re.findall(r"^hopsight (\w+)(.*)$", shown, re.MULTILINE):
        options = {option for each in getattr(commands[command], "params", ()) for option in each.opts}
        assert set(re.findall(r"--[a-z][a-z-]+", rest)) <= options, command
    named = [] if page.parent.name == "results" else re.findall(r"`(--[a-z][a-z-]+)", text)  # these name scripts
    assert [option for option in named if option not in every | OTHERS] == []


def test_the_messy_export_of_the_page_on_payments_meets_what_it_says(tmp_path: Path) -> None:
    text = (DOCS / "payments.md").read_text(encoding="utf-8")
    sample = re.search(r"```text\n(Booking ID;.*?)```", text, re.DOTALL)
    assert sample is not None
    lines = sample[1] + "3;DE00967888;DE70653372;12.5;02/03/2024 00:50;;\n"
    path = tmp_path / "transactions.csv"
    path.write_text(lines, encoding="utf-8-sig")
    graph = hopsight.load(path)
    assert graph.n_nodes == 4 and graph.n_edges == 3
    path.write_text(lines + "4;DE1;;5.0;02/03/2024 00:50;;\n;;;TOTAL;;;\n", encoding="utf-8-sig")
    notices: list[str] = []
    assert hopsight.load(path, notices=notices).n_edges == 3
    assert "Left out 2 rows without a node id, first row 4 of the data." in notices
    assert "without a node id, first row" in text
    path.write_text(lines + "4;DE1;DE2;see note;02/03/2024 00:50;;\n", encoding="utf-8-sig")
    words = "'see note' is not a number, unlike the rest of the column"
    refuses(words, hopsight.load, path)
    assert words in text


def test_the_page_of_commands_has_their_examples_and_the_words_of_their_help() -> None:
    hooks = pytest.importorskip("site_hooks", reason="mkdocs, which builds the site, is not installed")
    text = hooks.commands()
    assert "hopsight detect transactions.csv --out result" in text and "hopsight data fetch enron" in text
    assert "| `--nodes TABLE` | Node table for an edge list. |" in text and "| `--quiet` |" in text
    assert "One of cross_hcm, hcm, lof" in text
