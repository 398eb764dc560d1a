"""Cells, recipes and suites: what runs, and when it is another fit."""

from collections import Counter
from dataclasses import fields, replace

import pytest

from hopsight.benchmark import Options, make_suite, run
from hopsight.benchmark.cells import Cell
from hopsight.benchmark.recipes import parameters_of
from hopsight.benchmark.suites import catalog_settings, named_graph
from hopsight.datasets import make_graph
from hopsight.hcm.hcm import HCM
from hopsight.io import write
from toys import refuses

CELL = Cell(
    graph="blogcatalog", settings={"sha256": "ab", "planting": {"n_cliques": 10, "clique_size": 15}},
    protocol="dominant", injection=0, view="reduced", detector="hcm",
    parameters={"lr": 0.01, "n_epochs": 300, "widths": [64, 32]}, seed=0,
)  # fmt: skip


def test_equal_cells_have_the_same_key_whatever_the_order_of_their_settings():
    parameters = {"widths": [64, 32], "n_epochs": 300, "lr": 0.01}
    assert replace(CELL, parameters=parameters).key == Cell(**CELL.as_dict()).key == CELL.key
    changed = ({"seed": 1}, {"view": "raw"}, {"injection": 1}, {"parameters": parameters | {"widths": [64, 33]}})
    assert CELL.key not in {replace(CELL, **each).key for each in changed}


def test_parameters_are_complete_so_that_a_changed_default_is_a_new_cell():
    parameters = parameters_of("hcm-paper", {"n_epochs": 7, "burn_in": 2})
    assert set(parameters) == {entry.name for entry in fields(HCM)} - {"seed"}
    paper = HCM.paper(n_epochs=7, burn_in=2)
    assert {name: getattr(paper, name) for name in parameters} == parameters


TRIVIAL = {"random", "degree", "attribute norm"}

SUITE = """
name = "mine"
detectors = ["lof", "benchmark.fakes:Degree"]
repetitions = 2
seeds = 2

[parameters.lof]
n_neighbors = 7

[[graphs]]
file = "edges.csv"
nodes = "people.csv"
label = "fraud"

[[graphs]]
name = "small"
generate = { n_nodes = 80, n_edges = 300, n_structural = 0, n_attribute_anomalies = 0 }
plant = { n_cliques = 2, clique_size = 4, n_attribute = 8, n_candidates = 10 }
"""


def quick(**options):
    return make_suite("quick", Options(**({"graphs": ["generated"]} | options)))


def test_quick_has_every_detector_on_a_small_graph_and_trains_less():
    plan = quick().plan
    assert {"LOF", "DOMINANT", "HCM", "HCM (paper)", "HCM (authors)", "CrossHCM"} | TRIVIAL <= {t.row for t in plan}
    assert {t.cell.parameters["n_epochs"] for t in plan if t.cell.detector == "hcm"} == {30}
    assert len({t.cell.key for t in plan}) < 50


def test_graphs_by_name_in_any_case_or_by_file(tmp_path, data_dir):
    options = Options(protocol="leak-free", data_dir=str(data_dir))
    found = [named_graph(name, options, 2, 3) for name in ("BlogCatalog", "Books")]
    assert [(graph.name, graph.protocol) for graph in found] == [("blogcatalog", "leak-free"), ("amazon", "as found")]
    assert found[0].settings["planting"] == {"n_cliques": 10, "clique_size": 15}
    write(make_graph(60, n_edges=200), tmp_path / "mine.npz")
    mine = named_graph(str(tmp_path / "mine.npz"), options, 2, 3)
    assert (mine.name, mine.n_seeds) == ("mine", 6)


def test_a_missing_file_is_a_setting_and_a_changed_file_another_one(tmp_path, data_dir):
    assert "data fetch acm" in catalog_settings("acm", str(tmp_path))["missing"]
    copy = tmp_path / "Disney.mat"
    copy.write_bytes((data_dir / "Disney.mat").read_bytes())
    published = catalog_settings("disney", str(tmp_path))
    assert published == {"sha256": "2bb0133d43c5338249bf9f23f532927a9b5fa9a3ba480f4d0ecc3563f44076fd"}
    copy.write_bytes(copy.read_bytes() + b" ")
    assert catalog_settings("disney", str(tmp_path)) != published


@pytest.fixture
def file(tmp_path):
    edges = [f"p{i},p{(i * 7 + 1) % 40}" for i in range(40)] + [f"p{i},p{i + 1}" for i in range(39)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    people = [f"p{i},{20 + i % 30},{i % 5},{int(i < 4)}" for i in range(40)]
    (tmp_path / "people.csv").write_text("\n".join(["id,age,town,fraud", *people]))
    (tmp_path / "suite.toml").write_text(SUITE)
    return tmp_path / "suite.toml"


def test_a_suite_of_the_users_own_graphs_runs(file, monkeypatch):
    monkeypatch.chdir("/")
    result = run(make_suite(str(file), Options(device="cpu")), file.parent / "out")
    assert (result.suite, result.n_failed) == ("mine", 0)
    found = {(row["graph"], row["row"]): row for row in result.rows}
    assert found["edges", "LOF"]["anomalies"] == 4
    assert found["edges", "LOF"]["attributes"] == 2, "the label is not an attribute"
    assert found["edges", "LOF"]["parameters"]["n_neighbors"] == 7 and found["small", "LOF"]["anomalies"] == 16
    count = Counter((row["graph"], row["row"]) for row in result.rows)
    assert (count["edges", "LOF"], count["edges", "random"], count["small", "LOF"]) == (1, 4, 2)
    again = run(make_suite(str(file), Options(device="cpu")), file.parent / "out")
    assert again.n_reused == again.n_cells


def test_a_changed_file_is_another_cell(file):
    before = make_suite(str(file), Options(device="cpu"))
    (file.parent / "people.csv").write_text((file.parent / "people.csv").read_text() + "\np40,30,1,0")
    after = make_suite(str(file), Options(device="cpu"))
    keys = [{task.cell.key for task in suite.plan if task.cell.graph == "edges"} for suite in (before, after)]
    assert not keys[0] & keys[1]


@pytest.mark.parametrize(("text", "message"), [
    ("graphs = ", "is not a TOML file"), (f"a = {'[' * 9999}", "is not a TOML file"),
    ("[[graphs]]\nfile = 5", "file must be a path, got 5"),
    ("[[graphs]]\ngenerate = 5", "generate must be a table, got 5"),
    ("seeds = 2", "names no graphs"), ("detector = ['lof']", "did you mean detectors"),
    ("[[graphs]]\nfile = 'edge.csv'", "there is no file"), ("[[graphs]]\nfiles = 'edges.csv'", "did you mean file"),
    ("[[graphs]]\nlabel = 'fraud'", "needs a name"),
    ("[[graphs]]\nname = 'generated'\nlabel = 'fraud'", "label needs a file"),
    ("[[graphs]]\nname = 'disny'", "did you mean disney"),
    ("seeds = 0\n[[graphs]]\nname = 'generated'", "seeds must be at least 1"),
    ("view = 'raws'\n[[graphs]]\nname = 'generated'", "view must be one of"),
    ("detectors = ['lofs']\n[[graphs]]\nname = 'generated'", "did you mean lof"),
    ("parameters = 3\n[[graphs]]\nname = 'generated'", "parameters must be a table per detector"),
])  # fmt: skip
def test_mistakes_are_refused_in_one_sentence(file, text, message):
    file.write_text(text)
    refuses(message, make_suite, str(file), Options())
