"""The journal: no finished cell is lost, and an incomplete line is ignored."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from hopsight.benchmark.journal import Journal, only_run


def test_records_come_back_and_the_later_of_two_counts(tmp_path):
    journal = Journal(tmp_path / "new" / "folder")
    journal.append({"key": "a", "auc": 0.5})
    journal.append({"key": "b", "auc": 0.6})
    journal.append({"key": "a", "auc": 0.7})
    assert Journal(tmp_path / "new" / "folder").read() == {
        "a": {"key": "a", "auc": 0.7},
        "b": {"key": "b", "auc": 0.6},
    }


@pytest.mark.parametrize("torn", [b'{"key": "b", "au', b'{"key": "b"}', b'{"key": "b"\n', b"\x00\x00\x00\n", b"null\n"])
def test_an_incomplete_last_line_is_removed(tmp_path, torn):
    journal = Journal(tmp_path)
    journal.append({"key": "a"})
    with journal.path.open("ab") as file:
        file.write(torn)
    reopened = Journal(tmp_path)
    assert reopened.read() == {"a": {"key": "a"}}
    reopened.append({"key": "c"})
    assert list(Journal(tmp_path).read()) == ["a", "c"]


def test_a_foreign_line_in_the_middle_is_refused(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"key": "a"}\nnot ours\n{"key": "b"}\n')
    with pytest.raises(ValueError, match="line 2"):
        Journal(tmp_path).read()


@pytest.mark.parametrize("own", ['{"a": 1}\n{"b": 2}\n', "first\nlast line without an end", '{"a": 1}'])
def test_a_file_of_somebody_else_keeps_its_last_line(tmp_path, own):
    (tmp_path / "cells.jsonl").write_text(own)
    with pytest.raises(ValueError, match="line 1: this is not a benchmark record; choose another folder"):
        Journal(tmp_path).read()
    assert (tmp_path / "cells.jsonl").read_text() == own


def test_a_journal_that_was_killed_in_its_first_line_starts_anew(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"key": "a", "cell": {"gra')
    assert Journal(tmp_path).read() == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_neither_the_journal_nor_the_lock_is_a_link_or_a_pipe(tmp_path):
    mine, out = tmp_path / "letter", tmp_path / "out"
    mine.write_text('{"key": "a"}\ndear')
    out.mkdir()
    for name, begin in (("cells.jsonl", Journal), (".lock", lambda folder: only_run(folder).__enter__())):
        for make in (lambda path: path.symlink_to(mine), lambda path: path.symlink_to(tmp_path / "new"), os.mkfifo):
            make(out / name)
            with pytest.raises(ValueError, match="is a symbolic link, folder, pipe or device: move it away"):
                begin(out)
            (out / name).unlink()
    assert mine.read_text() == '{"key": "a"}\ndear' and not (tmp_path / "new").exists()


def test_numbers_that_json_cannot_hold_become_null(tmp_path):
    journal = Journal(tmp_path)
    journal.append({"key": "a", "loss": float("nan"), "n": np.int64(3), "curve": [np.float32(0.5), float("inf")]})
    assert journal.read()["a"] == {"key": "a", "loss": None, "n": 3, "curve": [0.5, None]}


def test_every_record_reported_before_a_kill_is_there_after_it(tmp_path):
    """Kill a process that writes: all records that it has reported must be in the journal."""
    script = (
        "import sys; from pathlib import Path; from hopsight.benchmark.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]))\n"
        "for i in range(10**9):\n"
        "    journal.append({'key': f'cell {i}', 'text': 'x' * 5000})\n"
        "    print(i, flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE) as process:
        for _ in range(5):
            process.stdout.readline()
        time.sleep(0.05)
        process.kill()
        reported = 4 + len(process.stdout.read().splitlines())
    kept = Journal(tmp_path).read()
    assert len(kept) in (reported + 1, reported + 2)  # the last one may have been written but not reported
    assert list(kept)[:5] == [f"cell {i}" for i in range(5)]


def test_a_second_run_into_the_folder_is_refused(tmp_path):
    with only_run(tmp_path), pytest.raises(ValueError, match="another benchmark"), only_run(tmp_path):
        pass
    with only_run(tmp_path):
        pass


def test_a_journal_of_an_older_version_is_refused_in_one_sentence(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"key": "a", "cell": {"network": "disney"}}\n')
    with pytest.raises(ValueError, match="written by an older version of hopsight; choose another folder"):
        Journal(tmp_path).read()
