"""The journal: nothing finished is lost, nothing torn is believed."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest

from hopsight.benchmark.journal import Journal, only_run, replacing


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
def test_a_torn_last_line_is_dropped_and_repaired(tmp_path, torn):
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


def test_numbers_that_json_has_no_word_for_are_kept_as_null(tmp_path):
    journal = Journal(tmp_path)
    journal.append({"key": "a", "loss": float("nan"), "n": np.int64(3), "curve": [np.float32(0.5), float("inf")]})
    assert journal.read()["a"] == {"key": "a", "loss": None, "n": 3, "curve": [0.5, None]}


def test_every_record_reported_before_a_kill_is_there_after_it(tmp_path):
    """Kill -9 a process that writes; all lines it told us about must be in the journal."""
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
        told = 4 + len(process.stdout.read().splitlines())
    kept = Journal(tmp_path).read()
    assert len(kept) in (told + 1, told + 2)  # the last one may have been written and not told
    assert list(kept)[:5] == [f"cell {i}" for i in range(5)]


def test_a_second_run_into_the_folder_is_refused(tmp_path):
    with only_run(tmp_path), pytest.raises(ValueError, match="another benchmark"), only_run(tmp_path):
        pass
    with only_run(tmp_path):
        pass


def test_a_file_appears_complete_or_not_at_all(tmp_path):
    target = tmp_path / "tables.md"
    with replacing(target) as file:
        file.write("first")
    with pytest.raises(RuntimeError, match="half way"), replacing(target) as file:
        file.write("second, torn")
        raise RuntimeError("half way")
    assert target.read_text() == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["tables.md"]
