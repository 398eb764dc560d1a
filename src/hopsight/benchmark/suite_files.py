"""Suites from TOML files: the user's own graphs, detectors, seeds and parameters."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hopsight.benchmark.cells import VIEWS
from hopsight.benchmark.recipes import all_recipes, check_recipes, choose_recipes, detector_of, parameters_of
from hopsight.benchmark.suites import Options, Suite, SuiteGraph, checksum, comparison, injected_graph, named_graph
from hopsight.checks import check_choice, check_count
from hopsight.loading import files_of
from hopsight.system.files import read_regular

TOP = ("name", "graphs", "detectors", "repetitions", "seeds", "view", "parameters")
GRAPH = ("name", "file", "nodes", "label", "directed", "ignore", "generate", "plant")
LOADING = ("nodes", "label", "directed", "ignore")


def read_suite(path: Path, options: Options) -> Suite:
    """Read a suite from a TOML file; options take precedence over the file.

    Paths are relative to the file. Every key is optional except ``graphs``::

        detectors = ["cross_hcm", "dominant", "hcm-paper", "my_package.my_module:MyDetector"]
        repetitions = 3                # injections of graphs with "plant"
        seeds = 2                      # seeds for each injection
        view = "raw"                   # or "scaled", "reduced"

        [parameters.dominant]
        n_epochs = 50

        [[graphs]]
        name = "disney"                # a name of the catalog

        [[graphs]]
        file = "edges.csv"             # or .mat, .npz, .graphml, .parquet
        nodes = "people.csv"
        label = "fraud"                # column with the ground truth

        [[graphs]]
        name = "small"
        generate = { n_nodes = 1000 }  # arguments of the generator
        plant = { n_cliques = 3, clique_size = 10 }  # arguments of hopsight.inject
    """
    content = _parsed(path)
    _check_keys(content, TOP, str(path))
    _check_types(content, path)
    check_choice("view", content.get("view", "raw"), VIEWS)
    repetitions = options.repetitions or content.get("repetitions", 2)
    seeds = options.seeds or content.get("seeds", 1)
    check_count("repetitions", repetitions)
    check_count("seeds", seeds)
    folder = path.resolve().parent
    graphs = [_graph(entry, folder, options, repetitions, seeds) for entry in content["graphs"]]
    graphs = [replace(graph, view=content.get("view", graph.view)) for graph in graphs]
    if options.graphs is not None:
        for name in options.graphs:
            check_choice("graphs", name, [graph.name for graph in graphs])
        graphs = [graph for graph in graphs if graph.name in options.graphs]
    recipes = choose_recipes(all_recipes(), options.detectors or content.get("detectors"))
    changes = content.get("parameters", {})
    check_recipes(changes)

    def parameters(recipe: str) -> Mapping[str, Any]:
        return parameters_of(recipe, changes.get(recipe, changes.get(detector_of(recipe), {})), device=options.device)

    plan = comparison(graphs, recipes, parameters)
    name = str(content.get("name", path.stem))
    return Suite(name=name, plan=plan, data_dir=options.data_dir, folder=str(folder))


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_regular(path).decode())
    except FileNotFoundError:
        raise ValueError(f"there is no suite file {path}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from None


def _check_types(content: Mapping[str, Any], path: Path) -> None:
    graphs = content.get("graphs")
    if not isinstance(graphs, list) or not graphs or not all(isinstance(entry, dict) for entry in graphs):
        raise ValueError(f"{path} names no graphs: add a [[graphs]] section for each of them")
    for name, expected, words in (("detectors", list, "a list of names"), ("parameters", dict, "a table per detector")):
        if not isinstance(content.get(name, expected()), expected):
            raise ValueError(f"{path}: {name} must be {words}, got {content[name]!r}")


def _check_keys(table: Mapping[str, Any], known: tuple[str, ...], place: str) -> None:
    for key in table:
        check_choice(f"{place}: key", key, known)


def _graph(entry: Mapping[str, Any], folder: Path, options: Options, repetitions: int, seeds: int) -> SuiteGraph:
    """Return one graph of a suite file."""
    _check_keys(entry, GRAPH, "[[graphs]]")
    for key, expected in (("file", str), ("nodes", str), ("generate", dict), ("plant", dict)):
        if not isinstance(entry.get(key, expected()), expected):
            raise ValueError(
                f"[[graphs]]: {key} must be {'a path' if expected is str else 'a table'}, got {entry[key]!r}"
            )
    if "file" in entry:
        found = _file_graph(entry, folder, repetitions * seeds)
    elif "generate" in entry:
        name = str(entry.get("name", "generated"))
        found = SuiteGraph(name=name, settings={"generate": dict(entry["generate"])}, n_seeds=repetitions * seeds)
    elif "name" in entry:
        found = named_graph(str(entry["name"]), options, repetitions, seeds)
    else:
        raise ValueError("every [[graphs]] section needs a name of the catalog, a file, or generate")
    extra = [key for key in LOADING if key in entry and "file" not in entry]
    if extra:
        raise ValueError(f"[[graphs]]: {extra[0]} needs a file")
    if "plant" not in entry:
        return found
    settings = {key: value for key, value in found.settings.items() if key != "planting"}
    return injected_graph(found.name, settings, entry["plant"], options, repetitions, seeds)


def _file_graph(entry: Mapping[str, Any], folder: Path, n_seeds: int) -> SuiteGraph:
    arguments = {"source": str(entry["file"]), **{key: entry[key] for key in LOADING if key in entry}}
    files = files_of(folder / entry["file"], folder / entry["nodes"] if "nodes" in entry else None)
    for file in (folder / str(entry[key]) for key in ("file", "nodes") if key in entry):
        if not file.is_file():
            raise ValueError(f"[[graphs]]: there is no file {file}")
    settings = {"load": arguments, "sha256": [checksum(file) for file in files]}
    return SuiteGraph(name=str(entry.get("name", Path(entry["file"]).stem)), settings=settings, n_seeds=n_seeds)
