"""Explain nodes, edges and groups of a finished run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from commands import Run, assert_refused, detect
from hopsight.detectors import DETECTORS
from hopsight.detectors.storage import load_detector

QUICK = ("--detector", "cross_hcm", "--quiet", *(
    word for name, value in DETECTORS["cross_hcm"].quick.items() for word in ("--set", f"{name}={value}")
))  # fmt: skip


def test_a_group_is_explained_or_refused(run: Run, tables: Path) -> None:
    assert detect(run, tables, *QUICK, "--out", "result")[0] == 0
    assert_refused(run("explain", "result", "--group", 99), "group")
    assert_refused(run("explain", "result"), "--group NUMBER")
    assert_refused(run("explain", "result", "p5", "--group", 1), "--group NUMBER")
    model = load_detector("result/model")
    model.kind_thresholds_ = np.full(5, -1.0)  # every node may belong to a group
    model.save("result/model")
    code, out, err = run("explain", "result", "--group", 1)
    assert code == 0, err
    assert out.startswith("Group 1: a ring of ")
    assert json.loads(run("explain", "result", "--group", 1, "--json")[1])["group"] == 1


def test_explain_answers_for_a_finished_run_and_refuses_anything_else(run: Run, tables: Path) -> None:
    detect(run, tables, "--out", "result")
    code, out, err = run("explain", "result", "p5")
    assert code == 0, err
    assert "p5" in out
    assert "age" in out
    code, out, _ = run("explain", "result", "p5", "--json")
    assert json.loads(out)["node"] == "p5"
    code, out, err = run("explain", "result", "p5", "p6")
    assert code == 0, err
    assert out.startswith("Edge p5 – p6, judged by LOF")
    assert json.loads(run("explain", "result", "p5", "p6", "--json")[1])["target"] == "p6"
    assert_refused(run("explain", "result", "p5", "p39"), "no edge between 'p5' and 'p39'")
    assert_refused(run("explain", "result", "nobody"), "nobody")
    assert_refused(run("explain", tables, "p5"), "no finished run")
    assert_refused(run("explain", "nowhere", "p5"), "nowhere")
