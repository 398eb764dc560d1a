"""Every example runs as a user would run it, and the README names commands and columns that exist."""

from __future__ import annotations

import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
import typer

import gallery
from hopsight.cli import app, main

FOLDER = Path(__file__).resolve().parents[1] / "examples"
PROMISES = {
    "compare_detectors": "hcm  ROC-AUC",
    "explain_node": "planted: True",
    "find_anomalies": ", decided by amount",
    "groups": "12 of them planted",
    "networkx_graph": "'Les Misérables', 77 nodes",
    "on_spark": "largest difference from the local engine",
    "own_tables": "stands out: p3",
    "pygod_drop_in": "3 of the 3 outliers are among them",
    "score_new_graph": "6 of them planted",
    "thresholds": "3 of 3 outliers among them",
    "transactions": "a7",
    "verdicts": "after: 11 of the first 20",
}


def test_every_example_is_listed_and_in_the_gallery() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.py")) == sorted(PROMISES) == sorted(gallery.ORDER)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch_geometric
@pytest.mark.parametrize("name", [name for name in PROMISES if name != "on_spark"])
def test_an_example_runs_and_draws_a_picture(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check_example(name, gallery.run_example(name))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_example_on_spark_runs_and_draws_a_picture() -> None:
    """It runs in a process of its own, because it stops its session, which is the one that other tests share."""
    if (absent := gallery.missing_for("on_spark")) is not None:
        pytest.skip(absent)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        check_example("on_spark", process.submit(gallery.run_example, "on_spark").result())


def check_example(name: str, example: gallery.Example) -> None:
    """Check that an example printed what it promises, drew one picture and says what it is."""
    assert PROMISES[name] in example.output
    assert len(example.pictures) == 1 and "<svg" in example.pictures[0]
    assert example.title and example.text


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
    assert ranking[:2] == printed[:2] and ranking[-1].split("(")[0] == "N nodes stand out "
    assert {"N amounts received just below N EUR", "N% of N EUR out again, half within N hours"} <= {
        line.split("yes ")[-1] for line in [*ranking, *printed]
    }
    assert main(["detect", *tables, "--learn-from", "is_fraud", "--out", "learned"]) == 0
    found = capsys.readouterr()
    assert " ".join(words(shown[1])[:2]) in " ".join(words(found.err + found.out))
