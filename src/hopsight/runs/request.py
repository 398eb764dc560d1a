"""What a run is asked for: the source of the graph, the detector and its settings, each checked by name and type."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Literal, Self, get_args, get_origin, get_type_hints

from hopsight.checks import Refusal, check_choice, option, suggest
from hopsight.detectors import get_detector
from hopsight.graph import AttributedGraph
from hopsight.io.notices import notice
from hopsight.io.rules import MISSING, rows_ignored
from hopsight.io.sources import file_of
from hopsight.io.typed import default_type, has_several, types_of, view

OPTIONS = ("seed", "device")  # fields that have their own option
PLACES = ("path", "nodes", "data_dir")  # fields of a source that say where it is, not how to read it
OF_NODES = ("label", "id_column", "type_column", "name_column")  # fields that name columns of the node table
LISTS = ("ignore", "category")
ENDS = ("source_column", "target_column")
COLUMNS = ("weight_column", "time_column", *OF_NODES, *ENDS)
KINDS: dict[type, str] = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a graph comes from and how to read it; without a path it is the demo graph."""

    path: str | None = None
    nodes: str | None = None
    directed: bool = False
    label: str | None = None
    ignore: tuple[str, ...] = ()
    source_column: str | None = None
    target_column: str | None = None
    id_column: str | None = None
    weight_column: str | None = None
    time_column: str | None = None
    type_column: str | None = None
    name_column: str | None = None
    category: tuple[str, ...] = ()
    currency: str | None = None
    derive: str | None = None
    duplicates: str | None = None
    bipartite: bool | None = None
    header: bool | None = None
    missing: str = "fill"
    rank_unknown: bool = False
    data_dir: str | None = None
    rank: str | None = None

    @classmethod
    def from_record(cls, record: Any) -> Self:
        """Return the source of a finished run, from its ``run.json``; a data folder that is gone is left out."""
        check_types(cls, record)
        try:
            folder = record["data_dir"]
            exists = folder is not None and Path(folder).is_dir()
            lists = {name: tuple(record.get(name, ())) for name in LISTS}
            return cls(**{**record, **lists, "data_dir": folder if exists else None})
        except (KeyError, TypeError) as error:
            raise _unrepeatable(error) from None

    def read(self, learn_from: str | None = None) -> AttributedGraph:
        """Return the graph, which keeps the column ``learn_from`` of one of its tables aside."""
        check_choice("missing", self.missing, MISSING)
        if self.path is None:
            from hopsight.datasets import make_demo

            return make_demo()
        from hopsight.loading import load

        options = dataclasses.asdict(self)
        graph: AttributedGraph = load(options.pop("path"), learn_from=learn_from, **options)
        return graph

    def read_ranked(self, learn_from: str | None = None) -> AttributedGraph:
        """Return the graph to judge: if nodes are of several types, what those of the type to rank see."""
        graph = self.read(learn_from)
        if not has_several(graph):
            return graph
        kind = default_type(graph)
        notice(f"Ranked type {kind!r} of {', '.join(types_of(graph))}; pass {option('rank')} for another.", None)
        return view(graph, kind)

    def read_like(self, other: Source, learned_from: str | None = None) -> Self:
        """Return this source with the options of another where it has none of its own, and say which.

        A column that ``other`` learned from is left out. Text that is not UTF-8 has the encoding that ``other`` names.
        """
        found: dict[str, Any] = {}
        for name in ("path", "nodes"):
            if (place := _encoded_like(getattr(self, name), getattr(other, name))) != getattr(self, name):
                found[name] = place
        edges, nodes = dataclasses.replace(self, **found)._columns(other)
        if not edges and other.rank and self.rank is None and str(self.path).endswith(".toml"):
            found["rank"] = other.rank
        default, names = type(self)(), [*edges, *nodes]
        theirs = [getattr(other, name) for name in ENDS]  # of an edge, which belong together
        ends = all(name in edges for name in theirs if name) and not (self.source_column or self.target_column)
        for each in dataclasses.fields(self) if edges else ():
            name, value = each.name, getattr(other, each.name)
            if name == "ignore" and learned_from in names:
                value = (*value, learned_from)
            known = nodes if name in OF_NODES else names
            if isinstance(value, tuple):
                value = tuple(one for one in value if one in known or one in rows_ignored(value, names))
            if name in PLACES or getattr(self, name) != getattr(default, name) or value == getattr(default, name):
                continue
            lacks = name in COLUMNS and value not in known
            if not lacks and not (name in OF_NODES and not nodes) and not (name in ENDS and not ends):
                found[name] = value
        if found:
            notice(f"Read as in the run of this model: {', '.join(_said(*each) for each in found.items())}.", None)
        return dataclasses.replace(self, **found)

    def _columns(self, other: Source) -> tuple[Sequence[str], Sequence[str]]:
        """Return the columns of the edge table and of the node table, none where there is no table."""
        from hopsight.io.frames import open_table
        from hopsight.io.sources import TABLE_SUFFIXES, is_source, reading, resolve
        from hopsight.io.tables import find_nodes

        place = resolve(self.path) if self.path is not None and is_source(self.path) else None
        if place is None or (isinstance(place, Path) and not place.name.lower().endswith(TABLE_SUFFIXES)):
            return (), ()
        with reading(place):
            header = other.header if self.header is None else self.header
            edges = open_table(place, header=header, notices=[]).names
        nodes = resolve(self.nodes) if self.nodes else find_nodes(place)
        with reading(nodes):
            return edges, () if nodes is None else open_table(nodes, notices=[]).names

    def files(self) -> list[str]:
        """Return the absolute paths of the files that are read."""
        from hopsight.loading import files_of

        files = [] if self.path is None else files_of(self.path, self.nodes, data_dir=self.data_dir)
        return [str(file.resolve()) for file in files]

    def repeatable(self) -> Self:
        """Return the same source with absolute paths, so that the run can be repeated from any folder.

        They name the encoding of text that is not UTF-8, so that later files are read in the same way.
        """
        data_dir = self.data_dir
        if self.path is not None and not Path(self.path).exists():
            # A name of the catalog: record where it was found, because HOPSIGHT_DATA may change.
            data_dir = next((str(Path(file).parent) for file in self.files()), data_dir)
        path, nodes = (_with_encoding(_absolute(each)) for each in (self.path, self.nodes))
        return dataclasses.replace(self, path=path, nodes=nodes, data_dir=_absolute(data_dir))


@dataclass(frozen=True, kw_only=True)
class Request:
    """Everything that determines the result of a detection; ``run.json`` keeps it for ``hopsight rerun``."""

    detector: str
    source: Source = field(default_factory=Source)
    preset: str | None = None
    seed: int = 0
    device: str = "auto"
    top: int = 20
    settings: Mapping[str, str] = field(default_factory=dict)
    memory_limit: str | None = None
    engine: str = "local"
    learn_from: str | None = None  # a file of labels to learn from, or a column of the node table
    anomalous_value: tuple[str, ...] = ()  # labels that mean anomalous, where that cannot be guessed
    only: str | None = None  # a file of the nodes to rank
    repeat: int = 1  # number of fits, each with another seed, whose mean score ranks the nodes
    csv: bool = False  # whether tables of more than a million rows are also CSV files

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the request of a finished run, from its ``run.json``."""
        asked: Any = record.get("request")
        check_types(cls, asked)
        try:
            words = tuple(asked.get("anomalous_value", ()))
            return cls(**{**asked, "source": Source.from_record(asked["source"]), "anomalous_value": words})
        except (KeyError, TypeError) as error:
            raise _unrepeatable(error) from None

    @property
    def learns_from_file(self) -> bool:
        """Whether labels come from a file; otherwise they come from a column of the node table, if at all."""
        return self.learn_from is not None and file_of(self.learn_from) is not None

    def read_ranked(self) -> AttributedGraph:
        """Return the graph to judge, which keeps a column of labels aside; a file of them may have rows to ignore."""
        if self.learn_from is None or not self.learns_from_file:
            return self.source.read_ranked(self.learn_from)
        from hopsight.io.labels import case_columns

        ignore = self.source.ignore
        of_cases = rows_ignored(ignore, case_columns(self.learn_from)) if any("=" in each for each in ignore) else {}
        of_rows = rows_ignored(ignore, self.source._columns(self.source)[0]) if of_cases else {}
        ignore = tuple(each for each in ignore if each not in of_cases or each in of_rows)
        return dataclasses.replace(self.source, ignore=ignore).read_ranked()

    def repeatable(self) -> Self:
        """Return the same request with absolute paths, so that the run can be repeated from any folder."""
        return dataclasses.replace(
            self,
            source=self.source.repeatable(),
            learn_from=_absolute(self.learn_from) if self.learns_from_file else self.learn_from,
            only=_absolute(self.only),
        )


def check_types(kind: type, values: Any) -> None:
    """Refuse a part of a record in which a value has the wrong type; people edit these files by hand."""
    hints = get_type_hints(kind)
    if not isinstance(values, dict):
        raise _unrepeatable(f"no {kind.__name__.lower()}")
    for name, value in values.items():
        expected = get_origin(hints.get(name)) or hints.get(name)
        if expected in (tuple, Source, Mapping):  # JSON has lists and objects instead
            inside = list(value.values()) if isinstance(value, dict) else value
            fits = isinstance(value, list if expected is tuple else dict)
            fits = fits and (expected is Source or all(isinstance(entry, str) for entry in inside))
        else:
            fits = expected is not None and isinstance(value, hints[name])
        if not fits:
            raise _unrepeatable(f"{name} cannot be {value!r}")


def _unrepeatable(reason: object) -> ValueError:
    return ValueError(f"the record does not say how to repeat the run: {reason}")


def _said(name: str, value: Any) -> str:
    """Return a field of a source as it is written on the command line."""
    if name in PLACES:
        return str(value)
    return option("no_header", True) if name == "header" else option(name, [*value] if name in LISTS else value)


def _encoded_like(path: str | None, other: str | None) -> str | None:
    """Return the source of a table with the encoding that another one names, where it needs it."""
    from hopsight.io.sources import Address, resolve

    place = None if path is None or other is None else resolve(other)
    if not isinstance(place, Address) or "encoding" not in place.options:
        return path
    return _with_encoding(path, place.options["encoding"])


def _with_encoding(path: str | None, encoding: str | None = None) -> str | None:
    """Return the source of a table with this encoding, or else the one that it is read with, where it needs one."""
    from hopsight.io.sources import Address, is_source, resolve
    from hopsight.io.textfile import with_encoding

    place = None if path is None or not is_source(path) else with_encoding(resolve(path), encoding)
    return str(place) if isinstance(place, Address) and "encoding" in place.options else path


def _absolute(path: str | None) -> str | None:
    """Return a source that means the same from any folder; a name of the catalog is left as it is."""
    if path is None:
        return None
    from hopsight.io.sources import absolute

    return str(Path(path).resolve()) if Path(path).exists() else absolute(path)


def make_detector(
    name: str,
    *,
    preset: str | None = None,
    seed: int = 0,
    device: str = "auto",
    settings: Mapping[str, str] | None = None,
) -> Any:
    """Return an unfitted detector with the given preset and settings.

    >>> make_detector("lof", settings={"contamination": "0.2"}).contamination
    0.2
    """
    cls = get_detector(name)
    values = {"seed": seed, "device": device} | typed_settings(cls, settings or {})
    if preset is None:
        return cls(**values)
    if not cls.presets:
        raise ValueError(f"{name} has no preset {preset!r}: leave out {option('preset')}")
    check_choice("preset", preset, cls.presets)
    return getattr(cls, preset)(**values)


def split_settings(settings: Iterable[str]) -> dict[str, str]:
    """Split texts of the form ``name=value``.

    >>> split_settings(["lr=0.01", "optimizer=adam"])
    {'lr': '0.01', 'optimizer': 'adam'}
    """
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise ValueError(f"--set takes name=value, got {setting!r}")
        if name in found:
            raise ValueError(f"--set gives {name} twice")
        found[name] = value.strip()
    return found


def with_options(
    settings: Mapping[str, str],
    *,
    evidence: Iterable[str] = (),
    false_alarms: float | None = None,
    contamination: float | None = None,
) -> dict[str, str]:
    """Add the options that set a hyperparameter to the settings of ``--set``, each at most once.

    >>> with_options({"lr": "0.1"}, evidence=["misfit", "ring"], false_alarms=0.2)
    {'lr': '0.1', 'evidence': 'misfit,ring', 'false_alarms': '0.2'}
    """
    if false_alarms is not None and contamination is not None:
        raise ValueError(f"{option('false_alarms')} and {option('contamination')} exclude each other: use one of them")
    asked: dict[str, Any] = {
        "evidence": ",".join(evidence) or None,
        "false_alarms": false_alarms,
        "contamination": contamination,
    }
    options = {name: str(value) for name, value in asked.items() if value is not None}
    for name in options:
        if name in settings:
            raise Refusal(name, "is given twice: by its own option and by --set")
    if "false_alarms" in options and settings.get("contamination", "auto") != "auto":
        raise ValueError(f"{option('false_alarms')} and {option('contamination')} exclude each other: use one of them")
    return {**settings, **options}


def typed_settings(cls: type, settings: Mapping[str, str]) -> dict[str, Any]:
    """Convert the settings to the types of the detector's fields."""
    hints = get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.name not in OPTIONS]
    for name in settings:
        if name in OPTIONS:
            raise ValueError(f"{name} has its own option: use {option(name)}")
        if name not in names:
            hint = suggest(name, names)
            more = hint or f"; it has {', '.join(names)}"
            raise ValueError(f"{cls.__name__} has no parameter {name!r}{more}")
    return {name: _typed(name, value, hints[name]) for name, value in settings.items()}


def _typed(name: str, text: str, hint: Any) -> Any:
    """Convert the text to the first of the hinted types that it fits, numbers before words."""
    if get_origin(hint) is tuple:
        return tuple(word.strip() for word in text.split(",") if word.strip())
    kinds = _kinds(hint)
    if NoneType in kinds and text.lower() in ("none", "null", ""):
        return None
    for kind in (bool, int, float, str):
        if kind in kinds:
            value = _as(kind, text)
            if value is not None:
                return value
    allowed = " or ".join(words for kind, words in KINDS.items() if kind in kinds)
    raise Refusal(name, f"must be {allowed}{' or none' if NoneType in kinds else ''}, got {text!r}")


def _kinds(hint: Any) -> Collection[Any]:
    if get_origin(hint) is Literal:
        return {type(choice) for choice in get_args(hint)}
    if get_args(hint):
        return {kind for part in get_args(hint) for kind in _kinds(part)}
    return {hint}


def _as(kind: type, text: str) -> Any:
    """Convert the text to one type, or return None if it does not fit."""
    if kind is bool:
        return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(text.lower())
    try:
        if kind is int:
            number = float(text)
            return int(text) if text.lstrip("+-").isdigit() else int(number) if number.is_integer() else None
        return kind(text)
    except (ValueError, OverflowError):
        return None
