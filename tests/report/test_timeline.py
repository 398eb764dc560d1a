"""The page of a run over time, as text; a browser opens it in test_browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

from hopsight.report.timeline import write_timeline


def test_the_page_holds_its_values_and_no_path(tmp_path: Path) -> None:
    page = {
        "name": "payments.csv", "summary": ["Judged 3 events."], "n_windows": 1, "fits": [],
        "windows": [[7, "2024-01-01", 3, 2, 1, 0.5, 1.25, "events"]],
        "alerts": [[7, "</script>", "b", "2024-01-01", 3.5, "hop", 3.0, "They had no path."]],
        "nodes": [["</script>", 3.5, "hop", 3, 1, "It was new.", [[7, "2024-01-01", 3, 3.5]]]],
        "run": {"started": "2024-01-02", "request": {"path": "/secret/folder/payments.csv"}, "warnings": ["Careful."]},
    }  # fmt: skip
    write_timeline(tmp_path / "report.html", page)
    text = (tmp_path / "report.html").read_text()
    data = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    assert data["alerts"][0][1] == "</script>"
    assert data["warnings"] == ["Careful."]
    assert "/secret/folder" not in text
    assert "run" not in data
