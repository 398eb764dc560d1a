"""Read several text files with the same columns as one table, as a folder of Parquet files is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hopsight.io.reader import check_parts
from hopsight.io.textfile import TextTable
from hopsight.system.lazy_polars import pl


@dataclass(frozen=True)
class TextParts:
    """Text tables whose headers have been read and whose rows have not."""

    parts: Sequence[TextTable]  # one per file
    of_folders: Sequence[Mapping[str, str]]  # for each of them, the columns that its folders name, such as year=2024

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, those of folders last."""
        return (*self.parts[0].names, *self.of_folders[0])

    @property
    def first_rows(self) -> Sequence[Sequence[str]]:
        """Cells of the first rows of the first file."""
        return [[*row, *self.of_folders[0].values()] for row in self.parts[0].first_rows]

    def codes(self) -> list[str]:
        """Return the columns that hold codes with leading zeros in some file."""
        found = {name for part in self.parts for name in part.codes()}
        return [name for name in self.names if name in found]

    def read(self, columns: Sequence[str], text: Sequence[str]) -> pl.DataFrame:
        """Return these columns of all files; numbers in one and text in another become text."""
        frames = []
        for part, more in zip(self.parts, self.of_folders, strict=True):
            frame = part.read([name for name in columns if name not in more], text)
            cells = [pl.lit(value).alias(name) for name, value in more.items() if name in columns]
            frames.append(frame.with_columns(cells).select(columns))
        return pl.concat(frames, how="vertical_relaxed")


def as_one(parts: Sequence[TextTable], paths: Sequence[Path]) -> TextParts:
    """Return text files as one table; refuse those whose columns differ."""
    first = parts[0]
    for part, path in zip(parts[1:], paths[1:], strict=True):
        check_parts(first.names, part.names, paths[0].name, path.name)
    return TextParts(parts, _of_folders(paths, first.names))


def once(first: str, notices: list[str] | None) -> Callable[[str, list[str]], None]:
    """Return a function that passes on the notices about another file unless the first one had the same."""
    said = list(notices or ())

    def pass_on(name: str, found: list[str]) -> None:
        from hopsight.io.notices import notice

        for sentence in found:
            if (alike := sentence.replace(name, first)) not in said:
                said.append(alike)
                notice(sentence, notices)

    return pass_on


def _of_folders(paths: Sequence[Path], known: Sequence[str]) -> list[dict[str, str]]:
    """Return what folders such as ``year=2024`` say about each file, if they say it about all."""
    found = []
    for path in paths:
        pairs = (part.partition("=") for part in path.parts[:-1])
        found.append({name: value for name, mark, value in pairs if mark and name and name not in known})
    return found if all(each.keys() == found[0].keys() for each in found) else [{} for _ in paths]
