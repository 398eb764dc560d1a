"""One sentence and an exit code for whatever goes wrong; nothing left behind."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commands import Run, assert_refused, detect, left_behind, write_csv


def test_quiet_says_nothing_on_standard_error(run: Run, tables: Path) -> None:
    assert detect(run, tables, "--quiet")[2] == ""


def test_an_unknown_command_is_refused(run: Run) -> None:
    assert_refused(run("detekt"), "detekt")


def test_ctrl_c_is_exit_code_130(run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("hopsight.baselines.lof.LOF._fit", interrupted)
    code, _, err = detect(run, tables)
    assert code == 130
    assert err.splitlines()[-1] == "hopsight: stopped"
    assert left_behind(tmp_path) == []


def test_a_bug_is_one_sentence_too_and_a_traceback_only_on_request(
    run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("cogs\ncame loose")

    monkeypatch.setattr("hopsight.baselines.lof.LOF._fit", broken)
    code, _, err = detect(run, tables)
    assert code == 1
    assert err.splitlines()[-1] == ("hopsight: unexpected RuntimeError: cogs came loose (HOPSIGHT_DEBUG=1 shows where)")
    assert left_behind(tmp_path) == []
    monkeypatch.setenv("HOPSIGHT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="cogs"):
        detect(run, tables)


def test_a_full_disk_is_one_sentence(run: Run, tables: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "scores.csv")

    monkeypatch.setattr("hopsight.runs.results.write_scores", full)
    assert_refused(detect(run, tables), "No space left on device")
    assert left_behind(tmp_path) == []


def test_names_cannot_control_the_terminal(run: Run, tables: Path) -> None:
    write_csv(tables / "people.csv", ("id", "age"), [("[red]x\x1b[2J", 99), *((f"p{i}", i) for i in range(40))])
    code, out, err = detect(run, tables, "--top", 40)
    assert code == 0, err
    assert "\x1b[2J" not in out + err
    assert "[red]x\\x1b[2J" in out


def test_json_for_a_terminal_has_no_control_characters(run: Run, tables: Path) -> None:
    """Neither C0 nor C1 (0x9b begins a command as well as escape does), nor marks that turn text around."""
    name = "x\x9b2J\u202ey\x85z"
    write_csv(tables / "people.csv", ("id", "age"), [(name, 99), *((f"p{i}", i) for i in range(40))])
    code, _, err = detect(run, tables, "--out", "result")
    assert code == 0, err
    code, out, err = run("explain", "result", name, "--json")
    assert code == 0, err
    assert all(character == "\n" or character.isprintable() for character in out)
    assert json.loads(out)["node"] == name
