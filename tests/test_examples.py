"""Examples run as a user would run them, and the README names commands and columns that exist."""

import re
from pathlib import Path

import pytest
import typer

import gallery
from hopsight.cli import app, main

FOLDER = Path(__file__).resolve().parents[1] / "examples"


def test_every_example_has_a_page_that_the_build_of_the_documentation_runs() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(gallery.PROMISED)


def test_an_example_runs_and_draws_a_picture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "<svg" in gallery.run_example("own_tables").pictures[0] and list(tmp_path.iterdir()) == []
    monkeypatch.setitem(gallery.PROMISED, "own_tables", "stands out: p4")
    with pytest.raises(RuntimeError, match="own_tables printed no 'stands out: p4'"):
        gallery.run_example("own_tables")


def test_an_example_that_cannot_run_says_so_on_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.spark.session.missing_requirement", lambda: "the Spark engine needs Java 17")
    example = gallery.run_example("on_spark")
    text = gallery.page(example)
    assert "did not run when the page was built, because the Spark engine needs Java 17." in text
    assert "hopsight.spark.detect(" in text and ".svg" not in text
    assert "[Find anomalies on Spark](on_spark.md)" in gallery.index([example])


README = FOLDER.parent / "README.md"


def test_the_readme_is_short_and_names_commands_and_options_that_exist() -> None:
    readme = README.read_text(encoding="utf-8")
    lines = readme.splitlines()
    assert len(lines) <= 120 and max(map(len, lines)) <= 100
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    called = re.findall(r"^hopsight (\w+)(.*)$", readme, flags=re.MULTILINE)
    assert {"data", "detect", "stream", "watch"} <= {name for name, _ in called}
    for name, rest in called:
        options = {option for each in commands[name].params for option in each.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, name
    linked = re.findall(r"\]\(([\w./-]+)\)", readme)
    assert linked and all((FOLDER.parent / path).exists() for path in linked)


def test_the_readme_shows_what_its_commands_print(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(text: str) -> list[str]:
        """Return the words of each line without numbers, which depend on the processor."""
        return [" ".join(re.sub(r"[0-9][0-9.,]*", "N", line).split()) for line in text.splitlines() if line.strip()]

    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    shown = [text for language, text in blocks if not language]
    assert main(["data", "bank", "bank"]) == 0
    capsys.readouterr()
    tables = ["bank/transfers.csv", "--nodes", "bank/accounts.csv", "--preset", "untrained"]
    assert main(["detect", *tables, "--out", "result"]) == 0
    printed = words(capsys.readouterr().out)
    ranking = words(shown[0])
    wanted = {
        "N amounts received just below N EUR", "N% of N EUR out again within N days, group N", "N nodes stand out ",
        "N groups found, in groups.csv; the first is a circle of payments of N nodes:",
    }  # fmt: skip
    for lines in (ranking, printed):
        assert lines[:2] == printed[:2] and wanted <= {line.split("yes ")[-1].split("(score")[0] for line in lines}
    assert main(["detect", *tables, "--learn-from", "is_fraud", "--out", "learned"]) == 0
    found = capsys.readouterr()
    assert " ".join(words(shown[1])[:2]) in " ".join(words(found.err + found.out))
