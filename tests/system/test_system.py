"""Ids, cells, files, compiled functions and memory."""

import errno
import os
import sys
import time
import unicodedata
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from hopsight.system import kernels as module
from hopsight.system import machine as memory
from hopsight.system.arrays import id_hashes
from hopsight.system.cells import guarded, guarded_frame, unguarded
from hopsight.system.files import replacing, write_whole
from hopsight.system.kernels import compiled
from processes import python
from toys import refuses

RISKY = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "'tis", " =1+1", "\u00a0=1", "\ufeff=1", "\u200b=1"]
RISKY += ["\ufeff  @x", "＝1+1", "＋1", "－1", "＠x", " ＝1", "\x00=1", "﹢1"]
HARMLESS = ["Ada", "", " ", "a=b", "\ufeffAda", "1-2", "é", "ａ＝1", "—"]


@pytest.mark.parametrize("cell", [*RISKY, *HARMLESS])
def test_what_could_be_a_formula_is_guarded_and_other_text_stays_as_it_is(cell: str) -> None:
    assert guarded(cell) == ("'" if cell in RISKY else "") + cell and unguarded(guarded(cell)) == cell


def test_all_cells_of_a_table_are_guarded_as_single_ones_are() -> None:
    signs = [c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.normalize("NFKC", c)[:1] in [*"=+-@"]]
    cells = [*RISKY, *HARMLESS, None, *(f"{sign}1" for sign in signs), *(f"\u2028{sign}1" for sign in signs)]
    table = guarded_frame(pl.DataFrame({"text": cells, "number": range(len(cells)), "text2": cells}))
    expected = [None if cell is None else guarded(cell) for cell in cells]
    assert table["text"].to_list() == expected == table["text2"].to_list()
    assert len(signs) > 15 and table["number"].to_list() == list(range(len(cells)))


def test_an_id_is_hashed_as_the_text_it_is_written_as() -> None:
    ids = np.array([7, "7", "añb", "\ud800"], dtype=object)
    wanted = [int.from_bytes(blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
              for text in ("7", "7", "añb", "\ud800")]  # fmt: skip
    assert id_hashes(ids).tolist() == wanted and id_hashes(np.array([7])).tolist() == wanted[:1]


KILLED = """
import os, signal, sys
from pathlib import Path
from hopsight.system.files import replacing
with replacing(Path(sys.argv[1])) as temporary:
    temporary.write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_file_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "scores.csv"
    write_whole(target, "old")
    with pytest.raises(RuntimeError, match="half way"), replacing(target) as temporary:
        temporary.write_text("ne")
        raise RuntimeError("half way")
    assert target.read_text() == "old"
    write_whole(target, b"new")
    assert target.read_text() == "new" and list(tmp_path.iterdir()) == [target]


def test_a_symbolic_link_is_replaced_and_its_target_is_left_alone(tmp_path: Path) -> None:
    letter, target = tmp_path / "letter", tmp_path / "scores.csv"
    letter.write_text("mine")
    target.symlink_to(letter)
    write_whole(target, "new")
    assert letter.read_text() == "mine"
    assert target.read_text() == "new" and not target.is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot tell whether a file is in use")
def test_what_a_killed_process_left_is_removed_by_the_next_one(tmp_path: Path) -> None:
    """But neither what another process is writing now, nor a file of the user."""
    python(KILLED, tmp_path / "graph.npz")
    (left,) = tmp_path.iterdir()
    assert left.read_text() == "half"
    (tmp_path / ".mine.part").write_text("mine")
    with replacing(tmp_path / "other.npz") as busy:
        long_ago = time.time() - 1000
        for path in (left, busy, tmp_path / ".mine.part"):
            os.utime(path, (long_ago, long_ago))
        write_whole(tmp_path / "third.npz", "whole")
        assert busy.exists() and not left.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.part", "other.npz", "third.npz"]


def test_a_full_disk_is_named_by_the_file_that_was_asked_for(tmp_path: Path) -> None:
    with pytest.raises(OSError) as refused, replacing(tmp_path / "scores.csv"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert refused.value.filename == str(tmp_path / "scores.csv") and refused.value.errno == errno.ENOSPC
    with pytest.raises(FileNotFoundError) as refused:
        write_whole(tmp_path / "missing" / "scores.csv", "")
    assert refused.value.filename == str(tmp_path / "missing" / "scores.csv")


def test_a_function_is_compiled_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numba refuses to cache where the package and the user's cache are both read-only, as in a container."""
    whole = module.njit

    def no_cache(*, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function 'double': no locator available for file")
        return whole(**options)

    monkeypatch.setattr(module, "njit", no_cache)

    @compiled(nogil=True)
    def double(value: int) -> int:
        return 2 * value

    assert double(21) == 42


def test_more_memory_than_there_is_gets_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda: 2_000_000_000)
    memory.check_memory("AMEN", 1.9e9)
    refuses(r"AMEN would need about 3.0 GB .* only 2.0 GB", memory.check_memory, "AMEN", 3e9)
