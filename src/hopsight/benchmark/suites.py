"""Suites: which detectors run on which graphs, and how often; the quick one, and those of TOML files."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hopsight.benchmark.cells import PROTOCOLS, VIEWS, Cell, Plan, Task
from hopsight.benchmark.recipes import (
    all_recipes,
    check_recipes,
    choose_recipes,
    detector_of,
    is_deterministic,
    parameters_of,
    title_of,
)
from hopsight.checks import Refusal, check_choice, check_count
from hopsight.datasets import find, get_entry
from hopsight.loading import files_of
from hopsight.system.files import checksum, read_regular

QUICK = "quick"
GENERATED = "generated"
SMALL_GRAPH = {
    "n_nodes": 300, "n_edges": 1500, "n_attributes": 40, "n_structural": 0, "n_attribute_anomalies": 0, "seed": 0,
}  # fmt: skip
TOP = ("name", "graphs", "detectors", "repetitions", "seeds", "view", "parameters")
GRAPH = ("name", "file", "nodes", "label", "directed", "ignore", "generate", "plant")
LOADING = ("nodes", "label", "directed", "ignore")
SMALL_PLANTING = {"n_cliques": 2, "clique_size": 8, "n_attribute": 16, "n_candidates": 30}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What a user may choose; ``None`` leaves the choice to the suite.

    Parameters
    ----------
    graphs
        Names of the catalog, ``"generated"``, or files.
    detectors
        Recipes; ``"hcm*"`` stands for HCM and all its presets.
    repetitions, seeds
        Injections of a graph in which anomalies are planted, and seeds of the detector for each of them. A graph with
        anomalies of its own gets the product as seeds.
    protocol
        How anomalies are planted: ``"dominant"``, ``"hcm"`` or ``"leak-free"``, see :func:`hopsight.inject`.
    data_dir
        Folder with local copies of the catalog's graphs.
    device
        Where detectors run: ``"auto"``, ``"cpu"``, ``"cuda"``. A cell on another device is another cell.
    """

    graphs: Sequence[str] | None = None
    detectors: Sequence[str] | None = None
    repetitions: int | None = None
    seeds: int | None = None
    protocol: str = "dominant"
    data_dir: str | None = None
    device: str = "auto"

    def __post_init__(self) -> None:
        for name in ("repetitions", "seeds"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        check_choice("protocol", self.protocol, PROTOCOLS[1:])
        object.__setattr__(self, "device", _resolved(self.device))


@dataclass(frozen=True, kw_only=True)
class SuiteGraph:
    """A graph as one suite uses it; the fields are those of a :class:`Cell`."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    protocol: str = "as found"
    injections: Sequence[int | None] = (None,)
    n_seeds: int = 10
    view: str = "raw"

    @property
    def injected(self) -> bool:
        """Whether anomalies are planted."""
        return self.protocol != "as found"

    @property
    def missing(self) -> bool:
        """Whether no copy of the graph was found."""
        return "missing" in self.settings

    def repetitions(self, recipe: str) -> Iterator[tuple[int | None, int]]:
        """Yield the injection and the seed of each repetition: one seed if it changes nothing, or no copy was found."""
        once = self.missing or is_deterministic(recipe)
        for injection in self.injections[:1] if self.missing else self.injections:
            for seed in range(1 if once else self.n_seeds):
                yield injection, seed

    def cell(self, recipe: str, parameters: Mapping[str, Any], **fields: Any) -> Cell:
        """Return the cell of a recipe on this graph; ``fields`` are the other fields of the cell."""
        own = {"settings": self.settings, "protocol": self.protocol, "view": self.view}
        return Cell(graph=self.name, detector=detector_of(recipe), parameters=parameters, **(own | fields))


@dataclass(frozen=True, kw_only=True)
class Suite:
    """What to run: the tasks, under a name that is the title of the report."""

    name: str
    plan: Plan
    data_dir: str | None = None  # with local copies of the catalog's graphs
    folder: str | None = None  # that relative paths of graphs start from


def make_suite(name: str, options: Options) -> Suite:
    """Return the quick suite, or the suite of a TOML file."""
    if name == QUICK:
        return _quick(options)
    if Path(name).suffix.lower() == ".toml":
        return read_suite(Path(name), options)
    raise Refusal("suite", f"must be {QUICK!r} or a .toml file, got {name!r}")


def _quick(options: Options) -> Suite:
    """Return every detector with quick settings on graphs of a few hundred nodes, to see that everything works."""
    repetitions, seeds = options.repetitions or 2, options.seeds or 1
    if options.graphs is not None:
        graphs = [named_graph(name, options, repetitions, seeds) for name in options.graphs]
    else:
        disney = named_graph("disney", options, repetitions, seeds)
        graphs = [small_graph(options, repetitions, seeds), *([] if disney.missing else [disney])]
    recipes = choose_recipes(all_recipes(), options.detectors)
    plan = comparison(graphs, recipes, lambda recipe: parameters_of(recipe, {}, device=options.device, quick=True))
    return Suite(name=QUICK, plan=plan, data_dir=options.data_dir)


def comparison(
    graphs: Sequence[SuiteGraph], recipes: Sequence[str], parameters: Callable[[str], Mapping[str, Any]]
) -> list[Task]:
    """Return the tasks of a comparison: every recipe on every graph."""
    return [
        Task("comparison", title_of(recipe), graph.cell(recipe, parameters(recipe), injection=injection, seed=seed))
        for graph in graphs
        for recipe in recipes
        for injection, seed in graph.repetitions(recipe)
    ]


def named_graph(name: str, options: Options, repetitions: int, seeds: int) -> SuiteGraph:
    """Return a graph by its name in the catalog, ``"generated"``, or a file; anomalies are planted if it has none."""
    if name == GENERATED:
        return small_graph(options, repetitions, seeds)
    if Path(name).is_file():
        path = Path(name).resolve()
        settings = {"load": {"source": str(path)}, "sha256": [checksum(path)]}
        return SuiteGraph(name=path.stem, settings=settings, n_seeds=repetitions * seeds)
    entry = get_entry(name)
    settings = catalog_settings(entry.name, options.data_dir)
    if entry.kind != "to inject":
        return SuiteGraph(name=entry.name, settings=settings, n_seeds=repetitions * seeds)
    return injected_graph(entry.name, settings, {"n_cliques": 10, "clique_size": 15}, options, repetitions, seeds)


def small_graph(options: Options, repetitions: int, seeds: int) -> SuiteGraph:
    """Return a generated graph of 300 nodes with planted anomalies."""
    return injected_graph(GENERATED, {"generate": SMALL_GRAPH}, SMALL_PLANTING, options, repetitions, seeds)


def injected_graph(
    name: str,
    settings: Mapping[str, Any],
    planting: Mapping[str, Any],
    options: Options,
    repetitions: int,
    seeds: int,
) -> SuiteGraph:
    """Return a graph in which anomalies are planted, several times."""
    return SuiteGraph(
        name=name,
        settings={**settings, "planting": dict(planting)},
        protocol=options.protocol,
        injections=range(repetitions),
        n_seeds=seeds,
    )


def catalog_settings(name: str, data_dir: str | None) -> dict[str, Any]:
    """Return the checksum of a catalog graph's file, or ``{"missing": reason}`` if there is no copy.

    The checksum is part of a cell: another file under the same name is another cell.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reported where the graph is loaded
        try:
            file = find(name, data_dir)
        except ValueError as error:
            return {"missing": str(error)}
    return {"sha256": checksum(file)}


def _resolved(device: str) -> str:
    if device == "cpu":
        return device
    from hopsight.nn.device import resolve_device

    return str(resolve_device(device))


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
