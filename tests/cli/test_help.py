"""Help: every command has two examples that are accepted, and values have words that people know."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest
from typer.main import get_command

from hopsight.cli import app, main
from hopsight.cli.options import PANELS, decorate
from hopsight.detectors import DETECTORS


def commands() -> dict[str, Any]:
    found = {}
    for name, command in decorate(get_command(app)).commands.items():
        for part, each in getattr(command, "commands", {"": command}).items():
            found[f"{name} {part}".strip()] = each
    return found


@pytest.mark.parametrize("name", commands())
def test_a_command_shows_two_examples_with_its_own_arguments(name: str) -> None:
    command = commands()[name]
    examples = command.epilog.split("\n\n")[1:]
    assert len(examples) == 2
    for example in examples:
        words = shlex.split(example)
        start = 1 + len(name.split())
        assert words[:start] == ["hopsight", *name.split()]
        command.make_context(name, words[start:], resilient_parsing=False)  # raises where an option does not exist


def test_help_shows_at_most_twenty_options_on_one_screen_and_help_all_the_rest(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["detect", "--help"]) == 0
    short = capsys.readouterr().out
    assert len(short.splitlines()) <= 50
    shown = set(re.findall(r"^│ (--[a-z-]+)", short, re.MULTILINE))
    assert len(shown) <= 20 and "--help-all" in shown and "--engine" not in shown
    assert main(["detect", "--help-all"]) == 0
    everything = capsys.readouterr().out
    options = [each for each in commands()["detect"].params if each.param_type_name == "option"]
    assert {each.opts[0] for each in options} <= set(re.findall(r"--[a-z-]+", everything))
    assert all(panel in everything for panel in PANELS)


def test_bare_hopsight_shows_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert "hopsight detect transactions.csv --out result" in out and err == ""
    assert main(["-h"]) == 0
    assert capsys.readouterr().out.split() == out.split()


def test_the_short_version_and_the_names_of_detectors(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-V"]) == 0
    assert capsys.readouterr().out.startswith("hopsight ")
    assert main(["detect", "-h"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in DETECTORS)


def test_a_shell_completes_commands(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "_HOPSIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": "hopsight comp",
        "COMP_CWORD": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.strip() == "compare"


def test_an_error_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["detect", "--seed", "-3", "--detector", "lof", "--quiet"]) == 2
    assert capsys.readouterr().err == "hopsight: --seed must be at least 0, got -3\n"


def test_commands_that_read_a_graph_have_every_option_that_a_message_may_name() -> None:
    named = set(PANELS["Reading the graph"])
    for name in ("detect", "score", "describe", "inject", "convert"):
        assert named <= {each.name for each in commands()[name].params}, name
