"""Help, options and refusals: what the command line says."""

import json
import re
import shlex
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from typer.main import get_command

from commands import Run, assert_refused, detect, worked, write_csv
from hopsight.cli import app, main
from hopsight.cli.options import PANELS, decorate
from hopsight.detectors import DETECTORS
from hopsight.io.npz import read_npz
from hopsight.runs.folder import read_record


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
    assert len(shown) <= 20 and {"--help-all", "--ignore", "--only"} <= shown and "--engine" not in shown
    assert main(["detect", "--help-all"]) == 0
    everything = capsys.readouterr().out
    options = [each for each in commands()["detect"].params if each.param_type_name == "option"]
    assert {each.opts[0] for each in options} <= set(re.findall(r"--[a-z-]+", everything))
    assert all(panel in everything for panel in PANELS)


def test_the_terminal_shows_what_to_check_and_the_report_all_notices(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A German export with 13 columns, cancelled and repeated payments, several currencies and unknown accounts."""
    monkeypatch.chdir(tmp_path)
    header = (
        "Nr", "Auftraggeber", "Empfänger", "Datum", "Betrag", "Währung", "Status", "Art", "Zweck", "PLZ", "Gebühr",
        "Bemerkung", "Filiale",
    )  # fmt: skip
    paid = [
        (7000 + i, f"K{i % 23}", f"K{(5 * i + i // 23) % 31}", f"{1 + i % 28:02}.03.2024", f"{100 + i},50",
         "USD" if i % 9 == 0 else "EUR", "storniert" if i % 40 == 1 else "gebucht", ("Karte", "Bar")[i % 2],
         f"Rechnung {i}", f"0{1000 + i}", f"{i % 7},25", "", f"F{i % 3}")
        for i in range(300)
    ]  # fmt: skip
    write_csv(tmp_path / "zahlungen.csv", header, [*paid, *paid[:3]])
    write_csv(tmp_path / "konten.csv", ("Konto", "Alter", "Ort"), [(f"K{i}", 20 + i, "UB"[i % 2]) for i in range(25)])
    tables = ("zahlungen.csv", "--nodes", "konten.csv")
    _, err = worked(run("detect", *tables, "--detector", "lof", "--out", "out"))
    assert len(err.splitlines()) <= 10
    assert all(part in err for part in ("Left out 9 rows", "6 ids have no row", "as the amount of each edge"))
    kept = read_record(tmp_path / "out")["warnings"]
    hidden = [each for each in kept if each[:40] not in err]
    assert f"The report has {len(hidden)} more notices on how." in " ".join(err.split()) and len(hidden) >= 5
    assert any("'Nr' only identifies rows" in each for each in hidden)


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
    asked = {"_HOPSIGHT_COMPLETE": "complete_bash", "COMP_WORDS": "hopsight comp", "COMP_CWORD": "1"}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.strip() == "compare"


@pytest.mark.parametrize("typed", ["detect --seed -3 --detector lof --quiet", "data bank folder --accounts 150"])
def test_an_error_names_the_option(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(typed.split()) == 2
    assert capsys.readouterr().err.startswith(f"hopsight: --{typed.partition('--')[2].split()[0]} must be at least ")


def test_commands_that_read_a_graph_have_every_option_that_a_message_may_name() -> None:
    named = set(PANELS["Reading the graph"])
    for name in ("detect", "score", "describe", "inject", "convert"):
        assert named <= {each.name for each in commands()[name].params}, name


def test_a_missing_file(run: Run, tables: Path) -> None:
    for edges, nodes in (("nowhere.csv", tables / "people.csv"), (tables / "edges.csv", "nowhere.csv")):
        assert_refused(run("detect", edges, "--nodes", nodes), "nowhere.csv")


@pytest.mark.parametrize("name", ["network.mat", "network.npz", "network.graphml", "network.parquet", "network.docx"])
def test_a_wrong_format(run: Run, tables: Path, name: str) -> None:
    (tables / name).write_bytes(b"this is not what the name says\n" * 20)
    assert_refused(run("detect", tables / name, "--detector", "lof"), name)


@pytest.mark.parametrize(("edges", "people", "words"), [
    ([], [], "has a header but no edges"), ([("a", "a")], [("a", 3)], "at least 2 nodes"),
])  # fmt: skip
def test_a_graph_that_is_empty_or_has_one_node(
    run: Run, tables: Path, edges: list[tuple[str, str]], people: list[tuple[str, int]], words: str
) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), edges)
    write_csv(tables / "people.csv", ("id", "age"), people)
    assert_refused(detect(run, tables), words)


def test_an_edge_to_an_unknown_node(run: Run, tables: Path, tmp_path: Path) -> None:
    write_csv(tables / "edges.csv", ("source", "target"), [("p1", "p2"), ("p1", "stranger")])
    _, err = worked(detect(run, tables, "--out", tmp_path / "out"))
    assert "1 id has no row in the node table ('stranger'): not ranked; pass --rank-unknown to rank it." in err


def test_no_attributes_at_all(run: Run, tables: Path) -> None:
    write_csv(tables / "people.csv", ("id",), [(f"p{i}",) for i in range(40)])
    assert_refused(detect(run, tables, "--derive", "none"), "attribute")
    assert_refused(run("detect", tables / "edges.csv", "--detector", "lof", "--derive", "none"), "--nodes")


def test_an_edge_list_alone_is_ranked_and_its_options_reach_the_record(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    ends = [rng.choice(30, size=2, replace=False) for _ in range(150)]
    rows = [
        (f"t{row}", f"p{a}", f"p{b}", round(10 * rng.exponential(), 2), f"2024-05-{1 + row % 28:02d}", row % 3, row % 2)
        for row, (a, b) in enumerate(ends)
    ]
    write_csv(tmp_path / "tx.csv", ("tx_id", "payer", "payee", "amount", "when", "channel", "is_fraud"), rows)
    _, err = worked(run(
        "detect", tmp_path / "tx.csv", "--detector", "lof", "--out", tmp_path / "out",
        "--weight-column", "amount", "--category", "channel", "--duplicates", "count", "--derive", "structure,sent",
    ))  # fmt: skip
    assert "Read edges from column 'payer' to column 'payee'." in err
    learn = "pass --learn-from is_fraud to learn from it"
    assert f"Column 'is_fraud' of the edge list looks like ground truth and is left out; {learn}." in err
    assert "Column 'tx_id' only identifies rows and is left out." in read_record(tmp_path / "out")["warnings"]
    source = read_record(tmp_path / "out")["request"]["source"]
    assert (source["weight_column"], source["category"], source["derive"]) == ("amount", ["channel"], "structure,sent")
    graph = read_npz(tmp_path / "out" / "graph.npz")
    assert {"amount sent, median", "channel sent, share 1", "clustering"} <= set(graph.attribute_names)
    assert not any("received" in name or "is_fraud" in name for name in graph.attribute_names)
    assert graph.edge_weight.sum() == 150 and graph.edge_time.min() == 1714521600.0


def test_quiet_says_nothing_on_standard_error(run: Run, tables: Path) -> None:
    assert detect(run, tables, "--quiet")[2] == ""


BUG = "hopsight: unexpected RuntimeError: cogs came loose (HOPSIGHT_DEBUG=1 shows where)"
FULL = OSError(28, "No space left on device", "scores.csv")


@pytest.mark.parametrize(("error", "place", "code", "said"), [
    (KeyboardInterrupt(), "hopsight.baselines.lof.LOF._fit", 130, "hopsight: stopped"),
    (RuntimeError("cogs\ncame loose"), "hopsight.baselines.lof.LOF._fit", 1, BUG),
    (FULL, "hopsight.runs.results.write_scores", 2, "hopsight: No space left on device: scores.csv"),
])  # fmt: skip
def test_ctrl_c_a_bug_and_a_full_disk_are_one_sentence_and_a_traceback_comes_only_on_request(
    error: BaseException, place: str, code: int, said: str, run: Run, tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, Mock(side_effect=error))
    found, out, err = detect(run, tables)
    assert (found, out, err.splitlines()[-1]) == (code, "", said) and "Traceback" not in err
    if code == 1:
        monkeypatch.setenv("HOPSIGHT_DEBUG", "1")
        with pytest.raises(RuntimeError, match="cogs"):
            detect(run, tables)


def test_names_cannot_control_the_terminal(run: Run, tables: Path) -> None:
    write_csv(tables / "people.csv", ("id", "age"), [("[red]x\x1b[2J", 99), *((f"p{i}", i) for i in range(40))])
    out, err = worked(detect(run, tables, "--top", 40))
    assert "\x1b[2J" not in out + err and "[red]x\\x1b[2J" in out


def test_json_for_a_terminal_has_no_control_characters(run: Run, tables: Path) -> None:
    """Neither C0 nor C1 (0x9b begins a command as well as escape does), nor marks that turn text around."""
    name = "x\x9b2J\u202ey\x85z"
    write_csv(tables / "people.csv", ("id", "age"), [(name, 99), *((f"p{i}", i) for i in range(40))])
    worked(detect(run, tables, "--out", "result"))
    out, _ = worked(run("explain", "result", name, "--json"))
    assert all(character == "\n" or character.isprintable() for character in out)
    assert json.loads(out)["node"] == name
