"""Turn the data frames of other libraries into polars', without importing those libraries."""

from __future__ import annotations

from typing import Any

from hopsight.system.lazy_polars import pl


def is_frame(source: Any) -> bool:
    """Return whether an object is a table in memory, of whatever library."""
    if _library(source) in ("polars", "pandas"):
        return type(source).__name__ in ("DataFrame", "LazyFrame")
    if hasattr(source, "__arrow_c_stream__"):
        return hasattr(source, "columns") or hasattr(source, "schema")
    return hasattr(source, "columns") and any(
        hasattr(source, name)
        for name in ("__dataframe__", "__narwhals_dataframe__", "toArrow", "to_pyarrow", "compute")
    )


def frame_of(table: Any) -> pl.DataFrame:
    """Return a data frame of polars, pandas, pyarrow, or any library that Arrow or narwhals can read, as polars'.

    An index of pandas is a column if it has a name or holds text.
    """
    if not is_frame(table):
        raise ValueError(f"a table must be a path or a data frame, got {type(table).__name__}")
    if isinstance(table, pl.DataFrame):
        return table
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    try:
        if _library(table) == "pandas":
            return _from_pandas(table)
        if hasattr(table, "__arrow_c_stream__"):
            return _without_extensions(pl.DataFrame(table))
        return _by_narwhals(table)
    except (pl.exceptions.PolarsError, TypeError) as error:
        reason = str(error).strip().partition("\n")[0][:200]
        raise ValueError(f"the {type(table).__name__} cannot be read as a table: {reason}") from None


def _library(source: Any) -> str:
    return type(source).__module__.partition(".")[0]


def _by_narwhals(table: Any) -> pl.DataFrame:
    try:
        import narwhals
    except ImportError:
        raise ValueError(
            f"reading a {type(table).__name__} needs the package narwhals; run pip install 'hopsight[frames]', or "
            "convert it to polars or pandas first"
        ) from None
    frame: Any = narwhals.from_native(table)
    frame = frame.collect() if hasattr(frame, "collect") else frame
    return _without_extensions(frame.to_polars())


def _from_pandas(table: Any) -> pl.DataFrame:
    """Convert column by column: Arrow would refuse columns of mixed objects, and pyarrow may not be there."""
    if getattr(table.columns, "nlevels", 1) > 1:
        raise ValueError("the DataFrame has several levels of columns; join their names into one first")
    index = table.index
    names = [str(name) for name in table.columns]
    if any(name is not None for name in index.names) or (index.nlevels == 1 and _is_text(index)):
        table = table.reset_index()
        names = [str(name) for name in table.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two columns of the DataFrame are called {twice!r}; rename one")
    return pl.DataFrame([_series(name, table.iloc[:, place]) for place, name in enumerate(names)])


def _is_text(column: Any) -> bool:
    return column.dtype == object or str(column.dtype).startswith(("string", "str"))


def _series(name: str, column: Any) -> pl.Series:
    """Return a column of pandas; text and numbers mixed become text, and categories their values."""
    kind = str(column.dtype)
    if kind.startswith("datetime64[") and "," in kind:  # with a time zone
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        kind = str(column.dtype)
    if kind.startswith(("datetime64", "timedelta64")) or (
        getattr(column.dtype, "kind", "") in "biuf" and not _nullable(kind)
    ):
        values = column.to_numpy()
        return pl.Series(name, values, nan_to_null=values.dtype.kind == "f")
    empty = column.isna().to_numpy(dtype=bool)
    cells = [None if gap else cell for cell, gap in zip(column.tolist(), empty, strict=True)]
    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) > 1 and kinds <= {int, float}:
        return pl.Series(name, cells, dtype=pl.Float64, strict=False)
    if len(kinds) > 1 or any(kind.__name__ in ("Period", "UUID", "Interval") for kind in kinds):
        cells = [None if cell is None else str(cell) for cell in cells]
    return pl.Series(name, cells)


def _nullable(kind: str) -> bool:
    """Return whether a type is one of pandas' own, such as Int64, whose missing values NumPy cannot hold."""
    return kind[:1].isupper() or kind.endswith("[pyarrow]") or kind == "boolean"


def _without_extensions(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame whose columns of an extension type, such as PostgreSQL's numeric, are as they are stored."""
    for name, kind in frame.schema.items():
        if hasattr(kind, "ext_storage") or "ext[" in str(kind):
            frame = frame.with_columns(frame[name].ext.storage())
    return frame
