"""Saved detectors: the same scores to the bit, and anything else is refused."""

import ast
import errno
import json
import os
import pickle
from collections.abc import Callable
from dataclasses import astuple, fields, is_dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from safetensors import SafetensorError

import hopsight
from hopsight.baselines.dominant import DOMINANT
from hopsight.baselines.madan import MADAN
from hopsight.canonical import Context, Events
from hopsight.detectors import storage
from hopsight.detectors.storage import load_detector, with_edges
from hopsight.graph import AttributedGraph
from toys import quick, refuses, two_groups


@pytest.fixture(scope="module")
def graph() -> AttributedGraph:
    rng = np.random.default_rng(5)
    return AttributedGraph(rng.random((30, 30)) < 0.15, rng.normal(size=(30, 4)))


@pytest.fixture(scope="module")
def model(graph: AttributedGraph) -> DOMINANT:
    return DOMINANT(n_epochs=3, n_components=2, seed=7).fit(graph)


@pytest.fixture
def folder(model: DOMINANT, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_every_fitted_value_is_restored(model: DOMINANT, folder: Path) -> None:
    loaded = load_detector(folder)
    assert type(loaded) is DOMINANT and loaded == model  # the parameters
    names = {name for name in vars(model) if name.endswith("_")} - {"graph_", "transform_"}
    assert {"decision_score_", "threshold_", "label_", "loss_", "weights_", "unit_"} <= names
    for name in names:
        value, again = getattr(model, name), getattr(loaded, name)
        if isinstance(value, np.ndarray):
            assert again.dtype == value.dtype and np.array_equal(again, value)
        else:
            assert again == value and type(again) is type(value)
    assert loaded.transform_.names == model.transform_.names
    assert np.array_equal(loaded.transform_.axes, model.transform_.axes) and not hasattr(loaded, "graph_")


def test_numpy_numbers_are_saved_as_plain_ones(graph: AttributedGraph, tmp_path: Path) -> None:
    MADAN(seed=np.int64(3), t=np.float64(2.0), time_limit=np.inf).fit(graph).save(tmp_path)  # type: ignore[arg-type]
    loaded = load_detector(tmp_path)
    assert loaded.seed == 3 and loaded.t == 2.0 and loaded.time_limit == np.inf
    DOMINANT(n_epochs=1, encoder_units=(np.int64(4),)).fit(graph).save(tmp_path)  # type: ignore[arg-type]
    assert load_detector(tmp_path).encoder_units == (4,)


def test_every_part_of_cross_hcm_is_restored(tmp_path: Path) -> None:
    small = two_groups(0, n_each=20)
    source, target = small.edges
    events = Events(source, target, np.arange(1.0, source.size + 1.0), np.linspace(1.6e9, 1.7e9, source.size))
    counts = np.arange(2.0 * small.n_nodes).reshape(-1, 2)
    n_shared, nodes = small.n_nodes // 2, np.arange(small.n_nodes)
    shared = {"others": [f"c{number}" for number in range(n_shared)], "other_types": np.zeros(n_shared)}
    links = {"n_sharing": np.full(n_shared, 2), "links": [nodes, nodes // 2]}
    context = Context(counts, ("card", "device"), ("card",), **shared, **links)
    relation = {"edge_relation": np.arange(small.n_edges) % 2, "relation_names": ("paid", "referred")}
    small = replace(small, events=events, context=context, **relation)
    first, second = small.node_ids[:2].tolist()
    pairs = [tuple(small.node_ids[edge].tolist()) for edge in small.edges[:, :2].T]
    fitted = quick("cross_hcm").fit(small).learn({first: "anomalous", second: "normal"})
    fitted = fitted.learn({pairs[0]: "anomalous", pairs[1]: "normal"})
    fitted.save(tmp_path)
    loaded = load_detector(tmp_path)
    for name in type(fitted).parts:
        before, after = getattr(fitted, name), getattr(loaded, name)
        assert type(after) is type(before)
        for field in fields(before):
            one, other = getattr(before, field.name), getattr(after, field.name)
            pairs = zip(astuple(one), astuple(other), strict=True) if is_dataclass(one) else [(one, other)]
            for mine, theirs in pairs:
                np.testing.assert_array_equal(theirs, mine)
    assert all(np.array_equal(loaded.evidence_[kind], fitted.evidence_[kind]) for kind in fitted.evidence_)
    again = [each.judge(small) for each in (fitted, loaded)]
    assert np.array_equal(again[0].decision_score_, again[1].decision_score_)
    groups = with_edges(loaded, small.edges).groups_
    assert [group.members.tolist() for group in groups] == [group.members.tolist() for group in fitted.groups_]


def test_saving_again_replaces_the_old_model(folder: Path, graph: AttributedGraph) -> None:
    other = MADAN(t=3.0).fit(graph)
    other.save(folder)
    assert np.array_equal(load_detector(folder).decision_score_, other.decision_score_)
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.safetensors", "detector.json"]


def edit(name: str, change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def edit_record(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], object]:
    def changed(content: bytes) -> bytes:
        record = json.loads(content)
        change(record)
        return json.dumps(record).encode()

    return edit("detector.json", changed)


def of_version(number: int) -> Callable[[Path], object]:
    return edit_record(lambda record: record.update(version=number))


def flip_last_bit(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no arrays": (lambda folder: (folder / "arrays.safetensors").unlink(), "arrays.safetensors is missing"),
    "no record": (lambda folder: (folder / "detector.json").unlink(), "a saved detector: detector.json is missing"),
    "truncated arrays": (edit("arrays.safetensors", lambda content: content[:-40]), "is damaged"),
    "truncated header": (edit("arrays.safetensors", lambda content: content[:20]), "is damaged"),
    "one bit": (edit("arrays.safetensors", flip_last_bit), "is damaged: its checksum does not match"),
    "truncated record": (edit("detector.json", lambda content: content[: len(content) // 2]), "is damaged"),
    "empty record": (edit("detector.json", lambda content: b""), "is damaged"),
    "not text": (edit("detector.json", lambda content: b"\xff\xfe\x00"), "is damaged"),
    "too deep": (edit("detector.json", lambda content: b"[" * 200_000), "is damaged"),
    "a list": (edit("detector.json", lambda content: b"[1, 2]"), "was not written by hopsight"),
    "foreign": (edit("detector.json", lambda content: b'{"format": "keras"}'), "was not written by hopsight"),
    "newer": (of_version(99), "by a newer hopsight .format version 99, this one reads 5.: update hopsight"),
    "older": (of_version(0), r"by an older hopsight \(format version 0, this one reads 5\): fit and save it again"),
    "no version": (edit_record(lambda record: record.pop("version")), "was not written by hopsight"),
    "other seed": (edit_record(lambda record: record["parameters"].update(seed=8)), "checksum does not match"),
    "other threshold": (edit_record(lambda record: record["values"].update(threshold_=0.0)), "checksum does not match"),
    "no checksum": (edit_record(lambda record: record.pop("checksum")), "checksum does not match"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_model_is_refused_in_one_sentence(folder: Path, kind: str) -> None:
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(ValueError, match=message) as caught:
        load_detector(folder)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 400
    assert caught.value.__context__ is None or caught.value.__suppress_context__  # no chain of tracebacks


class Malicious:
    """Runs code when unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("executed"),))


@pytest.mark.parametrize("name", ["arrays.safetensors", "detector.json"])
def test_a_pickle_never_runs(folder: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (folder / name).write_bytes(pickle.dumps(Malicious()))
    refuses("is damaged", load_detector, folder)
    assert not (tmp_path / "executed").exists()
    pickle.loads((folder / name).read_bytes())  # the pickle does run code when unpickled
    assert (tmp_path / "executed").exists()


@pytest.mark.parametrize("name", ["predict", "__class__", "_fit", "seed", "a b_", "__x__"])
def test_a_forged_checksum_sets_fitted_values_only(folder: Path, name: str) -> None:
    """Someone who edits the file can recompute the checksum: still no method or parameter is replaced."""

    def forge(record: dict[str, Any]) -> None:
        record["values"][name] = 7
        record.pop("checksum")
        record["checksum"] = storage._checksum(record, (folder / "arrays.safetensors").read_bytes())

    edit_record(forge)(folder)
    refuses(f"is damaged: '{name}' is not a fitted value", load_detector, folder)


@pytest.mark.parametrize(("detector", "names"), [
    ("hcm", ["optimizer", "prediction", "score", "precision"]),
    ("dominant", ["final_activation", "initial", "scaling"]), ("resgcn", ["scaling"]), ("lof", ["scaling"]),
    ("amen", ["norm", "boundary_sim", "scaling"]), ("radar", ["scaling"]), ("anomalous", ["scaling"]),
    ("madan", ["t", "isolated"]),
])  # fmt: skip
def test_a_word_that_a_parameter_does_not_know_is_refused(detector: str, names: list[str], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    quick(detector).fit(two_groups(0, n_each=20)).save(folder)
    content, arrays = (folder / "detector.json").read_bytes(), (folder / "arrays.safetensors").read_bytes()
    for name in names:

        def forge(record: dict[str, Any], name: str = name) -> None:
            record["parameters"][name] = "banana"
            record.pop("checksum")
            record["checksum"] = storage._checksum(record, arrays)

        (folder / "detector.json").write_bytes(content)
        edit_record(forge)(folder)
        refuses(f"is damaged: {name} must be one of .*banana", load_detector, folder)


def test_nothing_in_the_package_unpickles() -> None:
    """No module imports pickle or similar, or calls a loader that would run what it reads."""
    banned = {"pickle", "cPickle", "dill", "joblib", "cloudpickle", "marshal", "shelve"}
    for path in Path(hopsight.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.split(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                is_error = [alias.name for alias in node.names] == ["UnpicklingError"]
                names = [] if is_error else [(node.module or "").split(".")[0]]
            elif isinstance(node, ast.Call):
                allowed = [word.arg for word in node.keywords if getattr(word.value, "value", None) is True]
                assert "allow_pickle" not in allowed, f"{path.name}:{node.lineno} allows pickles"
                called = ast.unparse(node.func)
                is_safe = called == "torch.load" and "weights_only" in allowed
                assert is_safe or called not in {"torch.load", "torch.save"}, (
                    f"{path.name}:{node.lineno} calls {called}"
                )
            assert not banned & set(names), f"{path.name}:{getattr(node, 'lineno', 0)} imports {names}"


def test_a_full_disk_leaves_the_old_model(
    folder: Path, graph: AttributedGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = load_detector(folder).decision_score_
    whole = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        whole(self, content[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left"):
        MADAN(t=3.0).fit(graph).save(folder)
    monkeypatch.undo()
    said = SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")
    monkeypatch.setattr(storage, "save_file", Mock(side_effect=said))
    with pytest.raises(OSError, match=r"No space left on device: '.*arrays.safetensors'"):
        MADAN(t=3.0).fit(graph).save(folder)
    assert np.array_equal(load_detector(folder).decision_score_, before)
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.safetensors", "detector.json"]


@pytest.mark.parametrize("name", ["detector.json", "arrays.safetensors"])
def test_a_pipe_or_a_device_is_no_model(folder: Path, name: str) -> None:
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        (folder / name).unlink()
        make(folder / name)
        refuses(f"{name} is not a file but a folder, pipe or device", load_detector, folder)
