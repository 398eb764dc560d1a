"""The run folder is complete or unchanged, and its record says everything."""

import logging
import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from hopsight.io.notices import collected
from hopsight.runs.folder import CHECKPOINT, RECORD, STAGING, claim, read_record, write_record
from hopsight.system.files import LOCK
from processes import python
from toys import refuses

NAMES = ("scores.csv", "model", RECORD)


def write_run(folder: Path, text: str, *more: str, model: bool = True) -> None:
    with claim(folder, (*NAMES, *more)) as claimed:
        (claimed.staging / "scores.csv").write_text(text)
        if model:
            (claimed.staging / "model").mkdir()
            (claimed.staging / "model" / "weights").write_text(text)
        write_record(claimed.staging / RECORD, {})
        claimed.publish()


def test_a_failed_block_leaves_no_folder_and_no_checkpoint_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad"), claim(tmp_path / "a" / "b", NAMES) as claimed:
        (claimed.staging / "scores.csv").write_text("half")
        claimed.checkpoint.write_text("state")
        raise ValueError("bad input")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_block_leaves_the_earlier_run_unchanged(tmp_path: Path) -> None:
    write_run(tmp_path, "first")
    with pytest.raises(ValueError, match="bad"), claim(tmp_path, NAMES) as claimed:
        (claimed.staging / "scores.csv").write_text("half")
        raise ValueError("bad input")
    assert (tmp_path / "scores.csv").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", RECORD, "scores.csv"]


def test_a_later_run_replaces_every_file_of_the_earlier_one_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    write_run(tmp_path, "first")
    write_run(tmp_path, "second", model=False)
    assert (tmp_path / "scores.csv").read_text() == "second" and not (tmp_path / "model").exists()
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("killed", [True, False])
def test_a_file_that_hopsight_did_not_write_is_not_overwritten(tmp_path: Path, killed: bool) -> None:
    """What a killed run left, or the record of something else, does not make it ours."""
    (tmp_path / "scores.csv").write_text("mine")
    if killed:
        (tmp_path / STAGING).mkdir()
    else:
        (tmp_path / RECORD).write_text('{"format": "something else"}')
    refuses(r"already has scores\.csv", write_run, tmp_path, "ours")
    assert (tmp_path / "scores.csv").read_text() == "mine"


def test_a_file_beside_an_earlier_run_that_it_did_not_write_is_not_overwritten(tmp_path: Path) -> None:
    write_run(tmp_path, "ours", model=False)
    (tmp_path / "model").write_text("mine")
    refuses("already has model, which hopsight did not write", write_run, tmp_path, "again")
    assert (tmp_path / "model").read_text() == "mine" and (tmp_path / "scores.csv").read_text() == "ours"


@pytest.mark.parametrize("name", ["scores.csv", "report.html", "model/detector.json", "alerts.csv"])
def test_a_file_that_was_changed_since_a_run_is_not_overwritten(tmp_path: Path, name: str) -> None:
    write_run(tmp_path, "ours")
    with claim(tmp_path, (*NAMES, name)) as claimed:
        (claimed.staging / "model").mkdir()
        (claimed.staging / name).write_text("again")
        write_record(claimed.staging / RECORD, {})
        claimed.publish()
    (tmp_path / name).write_text("again, and a note of mine")
    with pytest.raises(ValueError, match=f"has {name}, which was changed since hopsight wrote it: move or delete"):
        write_run(tmp_path, "third", "report.html")
    assert (tmp_path / name).read_text() == "again, and a note of mine"


@pytest.mark.parametrize("name", ["scores.csv", "report.html", RECORD])
def test_a_file_made_or_changed_while_a_run_computes_is_not_overwritten(tmp_path: Path, name: str) -> None:
    write_run(tmp_path, "first")
    with (
        pytest.raises(FileExistsError, match=r"hopsight did not write|changed since"),
        claim(tmp_path, (*NAMES, "report.html")) as claimed,
    ):
        (claimed.staging / "scores.csv").write_text("second")
        (claimed.staging / "report.html").write_text("second")
        claimed.checkpoint.mkdir()
        (tmp_path / name).write_text("mine")
        write_record(claimed.staging / RECORD, {})
        claimed.publish()
    assert (tmp_path / name).read_text() == "mine" and claimed.has_checkpoint
    assert name == "scores.csv" or (tmp_path / "scores.csv").read_text() == "first"


def test_a_run_killed_while_publishing_is_not_a_finished_run_and_can_be_repeated(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_run(folder, "first")
    program = (
        "import os, signal, sys; from pathlib import Path; from hopsight.runs.folder import claim\n"
        "with claim(Path(sys.argv[1]), ['scores.csv', 'run.json']) as claimed:\n"
        "    (claimed.staging / 'scores.csv').write_text('second')\n"
        "    claimed.staging.joinpath('publishing').touch()\n"
        "    claimed.folder.joinpath('run.json').unlink()\n"
        "    (claimed.staging / 'scores.csv').replace(claimed.folder / 'scores.csv')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert python(program, folder).returncode == -9 and not (folder / RECORD).exists()
    assert (folder / STAGING).is_dir() and (folder / LOCK).exists()
    with pytest.raises(ValueError, match="bad"), claim(folder, NAMES):
        raise ValueError("bad input")
    write_run(folder, "third")
    assert (folder / "scores.csv").read_text() == "third"
    assert sorted(path.name for path in folder.iterdir()) == ["model", RECORD, "scores.csv"]


def test_an_interrupted_run_keeps_its_checkpoint_whatever_others_do(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt), claim(folder, NAMES) as claimed:
        claimed.checkpoint.write_text("state")
        raise KeyboardInterrupt
    assert [path.name for path in folder.iterdir()] == [CHECKPOINT]
    with pytest.raises(ValueError, match="bad"), claim(folder, NAMES):
        raise ValueError("bad input")
    write_run(folder, "another")
    assert (folder / CHECKPOINT).read_text() == "state"
    with claim(folder, NAMES) as claimed:
        assert claimed.has_checkpoint
        claimed.discard_checkpoint()
    assert not (folder / CHECKPOINT).exists()


@pytest.mark.skipif(not hasattr(os, "O_NOFOLLOW"), reason="this system cannot refuse to follow a symbolic link")
def test_symbolic_links_in_the_folder_are_not_followed(tmp_path: Path) -> None:
    """In a folder that others may write to, none of our names leads to a file elsewhere."""
    mine, out = tmp_path / "mine", tmp_path / "out"
    mine.mkdir()
    (mine / "letter").write_text("dear")
    out.mkdir()
    (out / LOCK).symlink_to(mine / "letter")
    with pytest.raises(ValueError, match="is a symbolic link"), claim(out, NAMES):
        raise AssertionError("it should not begin")
    (out / LOCK).unlink()
    for name in (STAGING, CHECKPOINT):
        (out / name).symlink_to(mine)
    write_run(out, "first")
    (out / "scores.csv").unlink()
    (out / "scores.csv").symlink_to(mine / "letter")
    refuses(r"has scores\.csv, which was changed since hopsight wrote it", write_run, out, "second")
    assert (out / "scores.csv").is_symlink() and [path.name for path in mine.iterdir()] == ["letter"]
    assert (mine / "letter").read_text() == "dear"


def test_what_is_written_is_read_back_as_plain_json(tmp_path: Path) -> None:
    record = {"losses": np.array([1.5, np.nan]), "n": np.int64(3), "folder": Path("x"), "seed": 0, "name": "né"}
    write_record(tmp_path / "run.json", record)
    back = read_record(tmp_path)
    assert back == read_record(tmp_path / "run.json")
    assert (back["losses"], back["n"], back["folder"], back["name"]) == ([1.5, None], 3, "x", "né")


@pytest.mark.parametrize(("content", "sentence"), [
    (None, "no finished run"), ("{", "is damaged"),
    ('{"format": "hopsight-run", "x": ' + "9" * 5000 + "}", "run.json is damaged"),
    ("[" * 100_000, "run.json is damaged"), ("[]", "not the record of a hopsight run"),
    ('{"format": "other"}', "not the record of a hopsight run"),
    ('{"format": "hopsight-run", "version": 99}', "version 99, this hopsight reads 1"),
])  # fmt: skip
def test_anything_else_is_refused(tmp_path: Path, content: str | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    refuses(sentence, read_record, tmp_path)


def test_notices_are_collected_once_from_logs_and_warnings() -> None:
    said: list[str] = []
    logger = logging.getLogger("hopsight.somewhere")
    level = logging.getLogger("hopsight").level
    with collected(said.append) as seen:
        logger.warning("column %s is left out", "weight")
        logger.warning("column %s is left out", "weight")
        logger.info("not important")
        warnings.warn("a library warns", stacklevel=1)
        warnings.warn("for developers only", DeprecationWarning, stacklevel=1)
    assert seen == said == ["column weight is left out", "a library warns"]
    assert logging.getLogger("hopsight").level == level


def test_a_pipe_or_a_device_is_no_record(tmp_path: Path) -> None:
    """Neither does a pipe block nor a device fill the memory."""
    os.mkfifo(tmp_path / "run.json")
    for path in (tmp_path, tmp_path / "run.json", Path("/dev/zero")):
        refuses("is not a file but a folder, pipe or device", read_record, path)
