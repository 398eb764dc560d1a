"""The report in a notebook: the same page as in the run folder, in a frame of its own."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hopsight.baselines.lof import LOF
from hopsight.datasets import make_textbook
from hopsight.report.page import report


def test_the_report_is_shown_in_a_frame_that_can_only_run_its_own_script(tmp_path: Path) -> None:
    graph = make_textbook("outlier", n=100)
    page = report(LOF().fit(graph), top=3)
    shown = page._repr_html_()
    frame = re.fullmatch(
        r'<iframe title="(.*?)" sandbox="allow-scripts allow-downloads" .* srcdoc="([^"]*)"></iframe>', shown, re.DOTALL
    )
    assert frame is not None
    assert html.unescape(frame[2]) == page.text and "of the 3 known anomalies" in page.text
    assert repr(page).startswith("ReportPage('textbook-outlier · hopsight', ")
    assert page.write(tmp_path / "a.html").read_text(encoding="utf-8") == page.text


def test_a_loaded_detector_needs_its_graph(tmp_path: Path) -> None:
    from hopsight.detectors.storage import load_detector

    graph = make_textbook("outlier", n=100)
    LOF().fit(graph).save(tmp_path / "model")
    model = load_detector(tmp_path / "model")
    with pytest.raises(ValueError, match="pass graph=, the one it was fitted on"):
        report(model)
    assert "LOF" in report(model, graph, top=1).text


@pytest.mark.parametrize("first", ["import hopsight.report.page", "from hopsight.report import page", "hopsight.plot"])
def test_hs_report_can_be_called_whatever_was_imported_before(first: str) -> None:
    program = f"import hopsight; {first}; print(callable(hopsight.report), hopsight.report.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "hopsight.report"]
