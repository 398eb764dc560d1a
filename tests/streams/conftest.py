"""One finished run over the toy stream, for all tests that only read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from hopsight.streams.events import Columns
from hopsight.streams.run import StreamRequest, stream
from stream_toys import toy_events


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stream")
    toy_events().write_parquet(folder / "events.parquet")
    columns = Columns(time="time", amount="amount", label="label")
    request = StreamRequest(path=str(folder / "events.parquet"), columns=columns, window="1d")
    stream(request, folder / "run")
    return folder / "run"
