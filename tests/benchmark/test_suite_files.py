"""Suites from TOML files."""

from __future__ import annotations

from collections import Counter

import pytest

from hopsight.benchmark import Options, make_suite, run

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
    assert found["edges", "LOF"]["parameters"]["n_neighbors"] == 7
    assert found["small", "LOF"]["anomalies"] == 16
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


def test_options_take_precedence(file):
    plan = make_suite(str(file), Options(graphs=["small"], detectors=["degree"], repetitions=3, seeds=1)).plan
    assert {task.cell.graph for task in plan} == {"small"}
    assert Counter(task.row for task in plan) == {"random": 3, "degree": 3, "attribute norm": 3}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("graphs = ", "is not a TOML file"),
        (f"a = {'[' * 9999}", "is not a TOML file"),
        ("[[graphs]]\nfile = 5", "file must be a path, got 5"),
        ("[[graphs]]\ngenerate = 5", "generate must be a table, got 5"),
        ("seeds = 2", "names no graphs"),
        ("detector = ['lof']", "did you mean detectors"),
        ("[[graphs]]\nfile = 'edge.csv'", "there is no file"),
        ("[[graphs]]\nfiles = 'edges.csv'", "did you mean file"),
        ("[[graphs]]\nlabel = 'fraud'", "needs a name"),
        ("[[graphs]]\nname = 'generated'\nlabel = 'fraud'", "label needs a file"),
        ("[[graphs]]\nname = 'disny'", "did you mean disney"),
        ("seeds = 0\n[[graphs]]\nname = 'generated'", "seeds must be at least 1"),
        ("view = 'raws'\n[[graphs]]\nname = 'generated'", "view must be one of"),
        ("detectors = ['lofs']\n[[graphs]]\nname = 'generated'", "did you mean lof"),
        ("parameters = 3\n[[graphs]]\nname = 'generated'", "parameters must be a table per detector"),
    ],
)
def test_mistakes_are_refused_in_one_sentence(file, text, message):
    file.write_text(text)
    with pytest.raises(ValueError, match=message) as caught:
        make_suite(str(file), Options())
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"there is no suite file .*none\.toml"):
        make_suite(str(tmp_path / "none.toml"), Options())
