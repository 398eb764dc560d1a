"""Two real worker processes: the scores are the same if one of them dies during the run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hopsight.spark.session import missing_requirement

SCRIPT = Path(__file__).resolve().parents[1] / "spark_cluster.py"


@pytest.mark.slow
@pytest.mark.skipif(missing_requirement() is not None, reason=str(missing_requirement()))
def test_losing_an_executor_changes_no_score(tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    done = subprocess.run([sys.executable, str(SCRIPT), str(out), "judge"], capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if not line.startswith(("\tat ", "        at "))]
    assert done.returncode == 0, "\n".join(said[:80])
    found = json.loads(out.read_text(encoding="utf-8"))
    assert len(found["killed"]) == 1 and found["broken"] == found["whole"]
