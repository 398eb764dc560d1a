"""XML: linear time, Ctrl-C, no entities, bounded depth and number of keys."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from hopsight.io.graphml import read_graphml
from hopsight.io.xml import MAX_TOKEN, parse_xml

HEAD = '<graphml><key id="a" for="node" attr.name="a"/><graph>'
NODES = (
    '<node id="1"><data key="a">1</data></node><node id="2"><data key="a">2</data></node><edge source="1" target="2"/>'
)


def seconds(path: Path) -> float:
    start = time.process_time()
    assert read_graphml(path, notices=[]).n_nodes == 2
    return time.process_time() - start


@pytest.mark.parametrize("long", ["<!--{}-->", '<node id="3" x="{}"/>'], ids=["comment", "attribute"])
def test_time_is_linear_in_the_length_of_a_token(tmp_path: Path, long: str) -> None:
    text = f"{HEAD}{NODES}</graph></graphml>"
    times = []
    for size in (2_000_000, 8_000_000):
        (tmp_path / "g.graphml").write_text(
            text.replace("<edge", long.format("x" * size).replace("node id", "desc id") + "<edge")
        )
        times.append(seconds(tmp_path / "g.graphml"))
    assert times[1] < 2.0  # a minute when expat got small pieces


def test_a_token_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(f"{HEAD}<!--{'x' * (MAX_TOKEN + 3 * 2**20)}-->{NODES}</graph></graphml>")
    with pytest.raises(ValueError, match="more than 16 million characters"):
        read_graphml(tmp_path / "g.graphml")


def test_ctrl_c_stops_it(tmp_path: Path) -> None:
    (tmp_path / "g.graphml").write_text(f"{HEAD}{NODES}{'<desc/>' * 3_000_000}</graph></graphml>")
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            parse_xml(tmp_path / "g.graphml", lambda *_: None, lambda *_: None, lambda *_: None)
            time.sleep(5)  # the signal may come late on a busy machine
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def test_too_many_keys_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hopsight.io.graphml.MAX_KEYS", 1000)
    keys = "".join(f'<key id="k{number}" for="node"/>' for number in range(1001))
    (tmp_path / "g.graphml").write_text(f"<graphml>{keys}<graph>{NODES}</graph></graphml>")
    with pytest.raises(ValueError, match="more than 1,000 keys"):
        read_graphml(tmp_path / "g.graphml")
