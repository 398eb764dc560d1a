"""A finished run with a hostile node name, and a server for it."""

import shutil
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hopsight as hs
from hopsight.graph import AttributedGraph
from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.io import write
from hopsight.review.server import make_app, make_server
from hopsight.review.session import Session, open_session
from hopsight.runs.detect import detect
from hopsight.runs.request import Request, Source
from review_served import IMAGE, TOKEN, Served

SETTINGS = {**CrossHCM.quick, "n_epochs": 12, "burn_in": 6, "n_samples": 6}


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a finished run; its most anomalous node has markup as its name."""
    folder = tmp_path_factory.mktemp("review")
    made = hs.make_graph(200, n_structural=10, n_attribute_anomalies=10, seed=5)
    names = [f"user-{i:03d}" for i in range(made.n_nodes)]
    first = int(np.argmax(hs.CrossHCM(seed=0, **SETTINGS).fit(replace(made, node_ids=names)).decision_score_))
    names[first], attributes = IMAGE, made.attributes.copy()
    attributes[first] *= 5  # another name is another draw: it is the first in any
    graph = AttributedGraph(
        made.adjacency, attributes, node_ids=names, attribute_names=made.attribute_names, labels=made.labels,
        name="shop",
    )  # fmt: skip
    write(graph, folder / "graph.npz")
    settings = {name: str(value) for name, value in SETTINGS.items()}
    source = Source(path=str(folder / "graph.npz"))
    detect(Request(detector="cross_hcm", source=source, settings=settings, top=3), folder / "run")
    return folder / "run"


@pytest.fixture
def run_folder(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of the finished run, without verdicts."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def session(run_folder: Path) -> Session:
    return open_session(run_folder)


@pytest.fixture
def served(session: Session) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})
        app = make_app(session, token=TOKEN, hosts=hosts, reviewer="ann")
        server = make_server(app)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Served(f"http://127.0.0.1:{port}", port, session)
        server.should_exit = True
        thread.join()
