"""Tampered models with a valid checksum are refused in one sentence, or usable."""

import json
import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from hopsight.cli import main
from hopsight.detectors import DETECTORS, storage
from hopsight.detectors.storage import load_detector
from hopsight.explanations import Explainer
from hopsight.graph import AttributedGraph
from hopsight.io import write
from toys import quick, refuses, two_groups

WRONG: list[Any] = [
    "x", None, [1], {"a": 1}, -1, 10**9, 1.5, True, [], {}, 0, float("nan"), 1e308, 10**30, ["a"], [[1]],
]  # fmt: skip


@pytest.fixture(scope="module")
def graph() -> AttributedGraph:
    return two_groups(3, n_each=12)


@pytest.fixture(scope="module")
def fitted(graph: AttributedGraph, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the folders of saved models, for tests that damage a copy."""
    folders = {name: tmp_path_factory.mktemp(name) for name in ("hcm", "cross_hcm", "dominant", "lof")}
    for name, folder in folders.items():
        quick(name).fit(graph).save(folder)
    return folders


def forge(folder: Path, record: dict[str, Any], content: bytes) -> None:
    """Write both files with a matching checksum."""
    record.pop("checksum", None)
    record["checksum"] = storage._checksum(record, content)
    (folder / "detector.json").write_text(json.dumps(record))
    (folder / "arrays.safetensors").write_bytes(content)


def forgeries(folder: Path, wrong: list[Any], per_name: int) -> Iterator[str]:
    """Write forged models to the folder, one after another, and yield what is wrong with each."""
    text, content = (folder / "detector.json").read_text(), (folder / "arrays.safetensors").read_bytes()
    names = [(part, name) for part in ("parameters", "values") for name in json.loads(text)[part]]
    for place, (part, name) in enumerate(names):
        for turn in range(per_name):
            record = json.loads(text)
            record[part][name] = wrong[(place + turn) % len(wrong)]
            forge(folder, record, content)
            yield f"{name} = {record[part][name]!r}"
        record = json.loads(text)
        del record[part][name]
        forge(folder, record, content)
        yield f"{name} is missing"
    for name, array in load(content).items():
        changes = {"missing": None, "shorter": array[:-1], "a number": np.array(1.0), "a truth value": array > 0}
        for what, other in changes.items():
            arrays = load(content)
            del arrays[name]
            if other is not None:
                arrays[name] = np.ascontiguousarray(other)
            forge(folder, json.loads(text), save(arrays))
            yield f"{name} is {what}"


def use(model: Any, graph: AttributedGraph) -> None:
    """Call everything on the model that a command would call."""
    model.predict(return_score=True, return_prob=True, return_conf=True)
    Explainer(model, graph).node("3-1")
    model.decision_function(graph)


@pytest.mark.parametrize(("name", "wrong", "per_name"), [
    *((name, WRONG[:6], 1) for name in ("lof", "dominant", "cross_hcm")),
    *(pytest.param(name, WRONG, len(WRONG), marks=pytest.mark.attack) for name in DETECTORS),
])  # fmt: skip
def test_forged_models_are_refused_or_usable(
    name: str, wrong: list[Any], per_name: int, graph: AttributedGraph, tmp_path: Path
) -> None:
    few = {"n_folds": 2, "n_inner": 2, "n_epochs": 4, "burn_in": 2, "n_samples": 2} if name == "cross_hcm" else {}
    quick(name, **few).fit(graph).save(tmp_path)
    loaded = load_detector(tmp_path)
    if DETECTORS[name].transferable:
        use(loaded, graph)
    n_forged = n_refused = 0
    for what in forgeries(tmp_path, wrong, per_name):
        n_forged += 1
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(load_detector(tmp_path), graph)
        except (ValueError, MemoryError) as error:
            n_refused += "is damaged: " in str(error)
            assert "\n" not in str(error) and len(str(error)) < 500
        except Exception as error:
            pytest.fail(f"{name}, {what}: {error!r}")
    assert n_refused > n_forged // 3


@pytest.mark.parametrize(("name", "change", "words"), [
    ("evidence_.ring", lambda values: values[:-1], "evidence_ has the wrong type or length"),
    ("evidence_.ring", None, "evidence_ lacks a kind"),
    ("evidence_.lockstep", None, "kind_thresholds_ has the wrong type or length"),
    ("decided_by_", lambda values: values + 4, "decided_by_ names an unknown kind of evidence"),
    ("edge_score_", lambda values: values[:-1], "edge_score_ has the wrong type or length"),
    ("edge_label_", lambda values: values > 0, "edge_label_ has the wrong type or length"),
    ("edge_dissimilarity_", None, "edge_dissimilarity_ has the wrong type or length"),
])  # fmt: skip
def test_forged_evidence_is_refused(
    name: str, change: Callable[[np.ndarray], np.ndarray] | None, words: str, fitted: dict[str, Path], tmp_path: Path
) -> None:
    shutil.copytree(fitted["cross_hcm"], tmp_path, dirs_exist_ok=True)
    arrays = load((tmp_path / "arrays.safetensors").read_bytes())
    values = arrays.pop(name)
    if change is not None:
        arrays[name] = np.ascontiguousarray(change(values))
    forge(tmp_path, json.loads((tmp_path / "detector.json").read_text()), save(arrays))
    refuses(f"is damaged: {words}; fit and save it again", load_detector, tmp_path)


@pytest.mark.parametrize(("part", "name", "value", "words"), [
    ("parameters", "n_units", "many", "n_units cannot be 'many'"),
    ("parameters", "n_units", 10**6, "n_units cannot be 1000000"),
    ("parameters", "burn_in", None, "burn_in cannot be None"),
    ("parameters", "contamination", 3.0, "contamination must be"),
    ("parameters", "surprise", 3.0, "surprise cannot be 3.0"),
    ("values", "threshold_", "high", "threshold_ cannot be 'high'"),
    ("values", "magnitude_", "big", "its parts do not fit together"),
    ("values", "transform_.names", 7, "the names of its columns are not text"),
    ("values", "ahp_", [1, 2], "ahp_ has the wrong type or length"),
])  # fmt: skip
def test_the_command_line_reports_what_is_wrong(
    part: str,
    name: str,
    value: object,
    words: str,
    graph: AttributedGraph,
    fitted: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("signal.signal", lambda *_: None)
    write(graph, tmp_path / "graph.npz")
    shutil.copytree(fitted["hcm"], tmp_path / "model")
    record = json.loads((tmp_path / "model" / "detector.json").read_text())
    record[part][name] = value
    arrays = load((tmp_path / "model" / "arrays.safetensors").read_bytes())
    arrays.pop(name, None)
    forge(tmp_path / "model", record, save(arrays))
    command = ["score", str(tmp_path / "model"), str(tmp_path / "graph.npz"), "--out", str(tmp_path / "out")]
    assert main([*command, "--quiet"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("hopsight: the saved detector in ") and words in line
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["hcm", "cross_hcm", "dominant"])
def test_numbers_that_are_not_finite_are_refused(name: str, fitted: dict[str, Path], tmp_path: Path) -> None:
    """With NaN weights, scales or centers, every node would get the score 0."""
    shutil.copytree(fitted[name], tmp_path, dirs_exist_ok=True)
    record = json.loads((tmp_path / "detector.json").read_text())
    content = (tmp_path / "arrays.safetensors").read_bytes()
    for part in load(content):
        arrays = load(content)
        if arrays[part].dtype.kind != "f" or not arrays[part].size:
            continue
        for value in (np.nan, np.inf):
            arrays[part].flat[-1] = value
            forge(tmp_path, record, save(arrays))
            refuses(f"{part} has values that are not finite numbers", load_detector, tmp_path)
