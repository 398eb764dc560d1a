"""run.json: complete, plain JSON, and refused when it is not ours."""

from __future__ import annotations

import json
import logging
import os
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from hopsight.graph import AttributedGraph
from hopsight.runs.folder import (
    Stages,
    checksums,
    graph_statistics,
    notices,
    read_record,
    write_record,
)
from hopsight.system.machine import versions


def test_what_is_written_is_read_back_as_plain_json(tmp_path: Path) -> None:
    record = {"losses": np.array([1.5, np.nan]), "n": np.int64(3), "folder": Path("x"), "seed": 0, "name": "né"}
    write_record(tmp_path / "run.json", record)
    back = read_record(tmp_path)
    assert back == read_record(tmp_path / "run.json")
    assert (back["losses"], back["n"], back["folder"], back["name"]) == ([1.5, None], 3, "x", "né")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "no finished run"),
        ("{", "is damaged"),
        ('{"format": "hopsight-run", "x": ' + "9" * 5000 + "}", "run.json is damaged"),
        ("[" * 100_000, "run.json is damaged"),
        ("[]", "not the record of a hopsight run"),
        ('{"format": "other"}', "not the record of a hopsight run"),
        ('{"format": "hopsight-run", "version": 99}', "version 99, this hopsight reads 1"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, content: str | None, sentence: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_text(content)
    with pytest.raises(ValueError, match=sentence):
        read_record(tmp_path)


def test_statistics_of_a_small_graph() -> None:
    graph = AttributedGraph.from_edges([0, 0, 1, 1], [1, 1, 2, 1], np.eye(4), labels=[0, 0, 0, 1])
    statistics = graph_statistics(graph)
    assert (statistics["n_nodes"], statistics["n_edges"], statistics["n_attributes"]) == (4, 2, 4)
    assert (statistics["n_duplicates"], statistics["n_self_loops"], statistics["n_isolated"]) == (1, 1, 1)
    assert (statistics["mean_degree"], statistics["max_degree"], statistics["labeled"]) == (1.0, 2, True)


def test_versions_name_what_matters() -> None:
    assert {"python", "hopsight", "torch", "numpy"} <= set(versions())
    json.dumps(versions())


def test_checksums_are_those_of_the_files_that_are_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert checksums(str(tmp_path / "a"), None, "blogcatalog") == {str(tmp_path / "a"): known}


def test_stages_are_timed_and_reported() -> None:
    said: list[str] = []
    stages = Stages(said.append, lambda name, seconds: said.append(f"{name} done"))
    with stages.stage("load"):
        time.sleep(0.01)
    assert said == ["load", "load done"]
    assert 0.01 <= stages.seconds["load"] < 5


def test_notices_are_collected_once_from_logs_and_warnings() -> None:
    said: list[str] = []
    logger = logging.getLogger("hopsight.somewhere")
    level = logging.getLogger("hopsight").level
    with notices(said.append) as seen:
        logger.info("column %s is left out", "weight")
        logger.info("column %s is left out", "weight")
        logger.debug("not important")
        warnings.warn("a library warns", stacklevel=1)
        warnings.warn("for developers only", DeprecationWarning, stacklevel=1)
    assert seen == said == ["column weight is left out", "a library warns"]
    assert logging.getLogger("hopsight").level == level


def test_a_pipe_or_a_device_is_no_record(tmp_path: Path) -> None:
    """Neither does a pipe block nor a device fill the memory."""
    os.mkfifo(tmp_path / "run.json")
    for path in (tmp_path, tmp_path / "run.json", Path("/dev/zero")):
        with pytest.raises(ValueError, match="is not a file but a folder, pipe or device"):
            read_record(path)
