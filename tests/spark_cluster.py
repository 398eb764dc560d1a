"""Run a small detection twice on two worker processes, kill one of them during the second, and write both scores.

    python tests/spark_cluster.py OUT.json STAGE

STAGE is the stage during which an executor is killed.
"""

import json
import os
import sys
import threading
from pathlib import Path

import psutil
import pyarrow as pa

from hopsight.hcm.cross_hcm import CrossHCM
from hopsight.runs.console import Progress
from hopsight.spark.detection import detect
from hopsight.spark.session import open_session
from spark_stages import QUICK, QUICK_JAVA, without_compiler
from toys import two_groups

BACKEND = "CoarseGrainedExecutorBackend"


def executors() -> list[psutil.Process]:
    """Return the worker processes of this driver that are alive."""
    return [process for process in psutil.Process().children(recursive=True) if BACKEND in command_line(process)]


def command_line(process: psutil.Process) -> str:
    """Return the command line of a process; a process that ended since it was listed, such as a zombie, has none."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # ZombieProcess is one
        return ""


def main() -> None:
    """Detect, and once more while an executor is killed."""
    out, doomed = Path(sys.argv[1]), sys.argv[2]
    graph = two_groups(2, n_each=75)
    settings = f"--conf spark.executor.extraJavaOptions='{QUICK_JAVA}' --driver-java-options '{QUICK_JAVA}'"
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{settings} pyspark-shell"
    spark = open_session("local-cluster[2,1,2048]")
    without_compiler(spark)
    source, target = graph.node_ids[graph.edges].tolist()
    edges = spark.createDataFrame(pa.table({"source": source, "target": target})).repartition(4)
    columns = {name: graph.attributes[:, number] for number, name in enumerate(graph.attribute_names)}
    nodes = spark.createDataFrame(pa.table({"id": graph.node_ids.tolist(), **columns}))
    killed: list[int] = []

    def kill() -> None:
        victim = executors()[0]
        killed.append(victim.pid)
        victim.kill()

    class Killer(Progress):
        def begin(self, stage: str) -> None:
            super().begin(stage)
            if stage == doomed:
                threading.Timer(1.0, kill).start()

    def scores(progress: Progress) -> dict[str, float]:
        found = detect(edges, nodes, CrossHCM(**QUICK), n_blocks=2, progress=progress)
        return {row["node"]: row["score"] for row in found.scores.collect()}

    whole, broken = scores(Progress()), scores(Killer())
    out.write_text(json.dumps({"whole": whole, "broken": broken, "killed": killed}), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main()
