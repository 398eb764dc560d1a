"""The attribute transformation of a fit, scaling and principal axes, kept to be applied to new graphs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import ArpackError

from hopsight.checks import check_choice, check_count, option, plural
from hopsight.io.derive import SHARE, currency_of
from hopsight.io.rules import MISSING_CATEGORY
from hopsight.system.threads import VALUES_AT_ONCE, blas_on_one_thread, few_threads, for_each, in_order, n_threads

FloatArray = NDArray[np.float64]

SCALINGS = ("auto", "none", "row", "standard", "clipped", "rank", "mixed")
LIMIT = 5.0  # standard deviations at which "clipped" clips
RANK_WEIGHT = 0.5  # "mixed" adds ranks to "clipped" with this weight
COLUMNS_AT_ONCE = 16
MANY_VALUES = 1 << 25  # of more numbers, copies are made for some columns at a time
VALUES_COPIED = 1 << 24  # by one thread for their mean and deviation
TINY = float(np.finfo(np.float64).tiny)  # smaller numbers lose digits, and NumPy 1.26 warns when dividing them
ROWS_AT_ONCE, ROWS_PROJECTED = 1024, 256  # by one thread at a time
SMALL = 1 << 20  # values of a sparse matrix that is made dense to find its principal axes


@dataclass(frozen=True)
class AttributeTransform:
    """Scaling and, if there are more columns than ``n_components``, projection on principal axes.

    Create it with :meth:`fit`. Columns are matched by name, in any order. If nodes are of several types, every column
    is first standardized among the nodes of a type, so that a node is compared with its own kind.

    Examples
    --------
    >>> X = np.array([[1.0, 10.0], [3.0, 10.0]])
    >>> transform = AttributeTransform.fit(X, ["age", "height"], scaling="standard", rng=np.random.default_rng(0))
    >>> transform.apply(X[:, ::-1], ["height", "age"]).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """

    names: Sequence[str]
    scaling: str
    center: FloatArray  # (n_columns,)
    scale: FloatArray  # (n_columns,)
    quantiles: FloatArray | None = None  # (1001, n_columns), for ranks
    axes: FloatArray | None = None  # (n_components, n_columns)
    origin: FloatArray | None = None  # (n_components,) position of the mean on the axes
    types: Sequence[str] = ()
    type_center: FloatArray | None = None  # (n_types, n_columns)
    type_scale: FloatArray | None = None  # (n_types, n_columns)

    @classmethod
    def fit(cls, attributes: Any, names: Sequence[str], **options: Any) -> Self:
        """Learn the transformation; ``options`` are those of :meth:`fit_apply`."""
        return cls.fit_apply(attributes, names, **options)[0]

    @classmethod
    def fit_apply(
        cls,
        attributes: Any,
        names: Sequence[str],
        *,
        scaling: str = "auto",
        n_components: int | None = None,
        types: NDArray[np.object_] | None = None,
        rng: np.random.Generator,
        out: Callable[[tuple[int, int]], NDArray[Any]] | None = None,
    ) -> tuple[Self, Any]:
        """Return the transformation and what it makes of the attributes, which are scaled only once for both.

        ``scaling="auto"`` standardizes all attributes except bags of words. ``types`` are those of the nodes; they do
        not matter if attributes are not standardized. ``out`` makes an array of a shape, into which attributes are
        transformed some rows at a time.
        """
        check_choice("scaling", scaling, SCALINGS)
        if n_components is not None:
            check_count("n_components", n_components)
        if scaling == "auto":
            scaling = choose_scaling(attributes)
        n_columns = attributes.shape[1]
        scaled = cls(list(names), scaling, np.zeros(n_columns), np.ones(n_columns))
        if types is not None and scaling not in ("none", "row") and len(set(types.tolist())) > 1:
            scaled = scaled._with_types(attributes, types)
            attributes = scaled._within_types(attributes, types)
        if scaling in ("rank", "mixed"):
            scaled = replace(scaled, quantiles=column_quantiles(attributes))
        if scaling in ("standard", "clipped", "mixed"):
            center, scale = column_moments(attributes)
            scaled = replace(scaled, center=center, scale=scale)
        projected = n_components is not None and n_components < scaled.n_outputs
        if out is not None and not projected:
            return scaled, scaled._by_rows(lambda rows: scaled.prepared(attributes[rows]), out, attributes.shape[0])
        prepared, center, scale = scaled.prepared(attributes)
        if n_components is not None and projected:
            middle = center if scaling == "standard" else np.asarray(prepared.mean(axis=0), dtype=np.float64).ravel()
            axes = principal_axes(prepared, middle, scale, n_components, rng=rng)
            scaled = replace(scaled, axes=axes, origin=(axes / scale) @ middle)
        if out is not None:
            return scaled, scaled._by_rows(lambda rows: (prepared[rows], center, scale), out, prepared.shape[0])
        return scaled, scaled._finished(prepared, center, scale)

    @property
    def n_outputs(self) -> int:
        """Number of columns that :meth:`apply` returns."""
        if self.axes is not None:
            return len(self.axes)
        return len(self.names) * (2 if self.scaling == "mixed" else 1)

    @property
    def output_names(self) -> list[str]:
        """What to call the columns of :meth:`apply`: a principal component by the two attributes that weigh most."""
        if self.axes is None:
            return [*self.names] * (self.n_outputs // len(self.names))
        weight = np.abs(self.axes).reshape(len(self.axes), -1, len(self.names)).sum(axis=1)
        most = np.argsort(-weight, axis=1, kind="stable")[:, :2]
        called = [(name if len(name) < 30 else f"{name[:29]}…").replace("=", " ") for name in self.names]
        return [f"mix of {called[first]} and {called[second]}" for first, second in most.tolist()]

    def columns_of(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Return which columns of :meth:`apply` come from these attributes alone; none if columns are projected."""
        mine = np.array([name in names for name in self.names], dtype=np.bool_)
        return np.resize(mine, self.n_outputs) if self.axes is None else np.zeros(self.n_outputs, dtype=np.bool_)

    @cached_property
    def _rank_spread(self) -> FloatArray:
        """What ranks are divided by; an explanation transforms single nodes, many of them."""
        assert self.quantiles is not None
        return rank_spread(self.quantiles)

    def _with_types(self, attributes: Any, types: NDArray[np.object_]) -> Self:
        known = sorted(set(types.tolist()))
        moments = [column_moments(attributes[types == each]) for each in known]
        center, scale = (np.stack(part) for part in zip(*moments, strict=True))
        return replace(self, types=known, type_center=center, type_scale=scale)

    def _within_types(self, attributes: Any, types: NDArray[np.object_] | None) -> Any:
        """Return each column as deviations from the mean of the node's type."""
        if self.type_center is None or self.type_scale is None:
            return attributes
        if types is None or not set(types.tolist()) <= set(self.types):
            raise ValueError(
                f"the model was fitted on nodes of the types {', '.join(self.types)}; the graph has others"
            )
        place = np.searchsorted(np.array(self.types, dtype=object), types)
        dense = attributes.toarray() if sp.issparse(attributes) else attributes
        return dense / self.type_scale[place] - (self.type_center / self.type_scale)[place]

    def apply(
        self,
        attributes: Any,
        names: Sequence[str],
        types: NDArray[np.object_] | None = None,
        out: Callable[[tuple[int, int]], NDArray[Any]] | None = None,
        left_out: Mapping[str, str | float] | None = None,
    ) -> Any:
        """Transform the attributes of any graph that has the columns of the fit.

        Returns a dense float64 matrix, or a sparse one when sparse attributes are neither centered nor projected; for
        ``out`` see :meth:`fit_apply`, and for ``left_out`` :func:`in_order_of`.
        """
        ordered = in_order_of(self.names, attributes, names, left_out)
        if out is None:
            return self._finished(*self.prepared(self._within_types(ordered, types)))
        return self._by_rows(
            lambda rows: self.prepared(self._within_types(ordered[rows], None if types is None else types[rows])),
            out,
            ordered.shape[0],
        )

    def _by_rows(
        self, prepared: Callable[[slice], Any], out: Callable[[tuple[int, int]], NDArray[Any]], n_rows: int
    ) -> NDArray[Any]:
        """Transform some rows at a time, in threads."""
        most = ROWS_AT_ONCE if self.axes is None else ROWS_PROJECTED
        found, step = out((n_rows, self.n_outputs)), min(most, max(1, VALUES_AT_ONCE // len(self.names)))

        def fill(start: int) -> None:
            rows = slice(start, start + step)
            part = self._finished(*prepared(rows))
            found[rows] = part.toarray() if sp.issparse(part) else part

        with few_threads(1):
            for_each(fill, range(0, n_rows, step))
        return found

    def _finished(self, prepared: Any, center: FloatArray, scale: FloatArray) -> Any:
        """Project prepared attributes on the axes, or do the centering and division left to do."""
        if self.axes is not None:
            turned = np.divide(self.axes.T, scale[:, None], order="C")
            if prepared.shape[0] <= ROWS_PROJECTED:
                return np.asarray(prepared @ turned) - self.origin
            found = np.empty((prepared.shape[0], len(self.axes)))

            def project(start: int) -> None:
                rows = slice(start, start + ROWS_PROJECTED)
                found[rows] = prepared[rows] @ turned - self.origin

            with few_threads(1):
                for_each(project, range(0, len(found), ROWS_PROJECTED))
            return found
        if self.scaling != "standard":
            return prepared
        dense = prepared.toarray() if sp.issparse(prepared) else prepared
        return dense / scale - center / scale  # this order cannot overflow

    def prepared(self, attributes: Any) -> tuple[Any, FloatArray, FloatArray]:
        """Return the scaled attributes, and the centering and division left to do, which would make them dense."""
        if self.scaling == "standard":
            return attributes.astype(np.float64, copy=False), self.center, self.scale
        prepared = attributes.astype(np.float64, copy=False)
        if self.scaling == "row":
            prepared = row_scaled(attributes)
        elif self.scaling in ("clipped", "mixed"):
            prepared = clipped(attributes, self.center, self.scale)
        if self.quantiles is not None and self.scaling == "rank":
            prepared = ranked(attributes, self.quantiles)
        elif self.quantiles is not None:
            ranks = ranked(attributes, self.quantiles) / self._rank_spread
            prepared = np.hstack([prepared, RANK_WEIGHT * ranks])
        return prepared, np.zeros(prepared.shape[1]), np.ones(prepared.shape[1])


def principal_axes(
    attributes: Any, center: FloatArray, scale: FloatArray, n_components: int, *, rng: np.random.Generator
) -> FloatArray:
    """Return the ``(n_components, n_attributes)`` principal axes of ``(attributes − center) / scale``.

    Those of dense attributes are eigenvectors of the covariance matrix, or singular vectors if there are more columns
    than rows. ARPACK finds those of large sparse attributes from products with them. The largest entry of each axis is
    positive, and BLAS runs on one thread, so that the axes are the same for any number of threads. There are no more
    axes than rows or columns.
    """
    from sklearn.decomposition import PCA

    n_rows, n_columns = attributes.shape
    n_components = min(n_components, n_rows, n_columns)
    if sp.issparse(attributes) and n_rows * n_columns > SMALL and n_components < min(n_rows, n_columns):
        scaled: Any = sp.csr_array(attributes.astype(np.float64) @ sp.diags_array(1.0 / scale))
        solver = "arpack"
    else:
        scaled = ((attributes.toarray() if sp.issparse(attributes) else attributes) - center) / scale
        solver = "covariance_eigh" if n_columns <= n_rows else "full"
    model = PCA(n_components, svd_solver=solver, random_state=int(rng.integers(2**31)))
    try:
        with blas_on_one_thread(), np.errstate(invalid="ignore"):  # shares of no variance at all
            return np.asarray(model.fit(scaled).components_, dtype=np.float64)
    except ArpackError:  # no start vector, since all rows are equal
        return np.eye(n_components, n_columns)


class LacksAttributesError(ValueError):
    """A graph does not have the attributes that a model was fitted on."""


def in_order_of(
    wanted: Sequence[str], attributes: Any, names: Sequence[str], left_out: Mapping[str, str | float] | None = None
) -> Any:
    """Return the columns by name; a category that no node of this graph has becomes a column of zeros.

    ``left_out`` says what columns that the graph lacks would be (:attr:`hopsight.graph.AttributedGraph.left_out`).
    """
    if list(names) == list(wanted):
        return attributes
    position = {name: column for column, name in enumerate(names)}
    coded = {name.partition("=")[0] for name in names if "=" in name}
    plain = {each for name in names for each in (name, name.rpartition(", ")[0])}  # "born" of "born, days since 1970"
    coded |= {each for each in plain if f"{each}=(missing)" in wanted}
    shared = {name.rpartition(", ")[0] for name in (*names, *(left_out or ()))}  # "channel sent" of "…, share card"
    spelled = {name.lower(): name for name in names if "=" in name or SHARE in name}  # Oslo may be OSLO elsewhere
    missing: list[str] = []
    values: list[float] = []  # of columns that are the same everywhere
    for name in wanted:
        same = name if name in position else (left_out or {}).get(name, spelled.get(name.lower()))
        category, share, _ = name.partition(SHARE)
        if same is None and (category in shared if share else "=" in name and name.partition("=")[0] in coded):
            same = 0.0
        if isinstance(same, float):
            position[name] = len(names) + len(values)
            values.append(same)
        elif same in position:
            position[name] = position[same]
        else:
            missing.append(name)
    if missing:
        unit, mine = currency_of(missing), currency_of(names)
        others = [name for name in names if name not in wanted]
        remedy = "read it from tables with the same columns"
        if others:
            remedy += f" (it has others, such as {others[0]!r}; {option('ignore', ['COLUMN'])} leaves a column out)"
        if unit is not None and mine not in (None, unit):
            remedy = f"its amounts are in {mine}; if some are in {unit}, load it with {option('currency', unit)}"
        lacks = f"the graph lacks {plural(len(missing), 'attribute')} that the model was fitted on"
        raise LacksAttributesError(f"{lacks}, first {missing[0]!r}: {remedy}")
    if values:
        more = np.tile(values, (attributes.shape[0], 1))
        sparse = sp.issparse(attributes)
        attributes = sp.csr_array(sp.hstack([attributes, more])) if sparse else np.hstack([attributes, more])
    return attributes[:, [position[name] for name in wanted]]


def unseen_categories(wanted: Sequence[str], names: Sequence[str], attributes: Any) -> dict[str, tuple[int, str]]:
    """Return by column how many nodes have a category that a fit did not know, and the first one.

    >>> unseen_categories(["city=Oslo", "city=Rome", "kind=a"], ["city=Bern", "kind=A"], np.array([[1, 0], [0, 1]]))
    {'city': (1, 'Bern')}
    >>> unseen_categories(["channel sent, share card"], ["channel sent, share cash"], np.array([[0.5], [0.0]]))
    {'channel sent': (1, 'cash')}
    """
    known = {name.lower() for name in wanted}
    parts = {name: name.partition(SHARE if SHARE in name else "=") for name in (*wanted, *names)}
    columns = {parts[name][0].lower() for name in wanted if parts[name][1]}
    found: dict[str, tuple[int, str]] = {}
    for place, name in enumerate(names):
        column, _, value = parts[name]
        if column.lower() in columns and name.lower() not in known and value != MISSING_CATEGORY:
            before, first = found.get(column, (0, value))
            found[column] = before + int((attributes[:, [place]] != 0).sum()), first
    return found


def choose_scaling(attributes: Any) -> str:
    """Return ``"none"`` for a bag of words and ``"standard"`` for everything else.

    A bag of words has no negative values and at most a tenth nonzero ones. Its columns have the same unit, and
    standardizing would inflate the rarest words.

    >>> choose_scaling(np.eye(12)), choose_scaling(np.arange(8.0).reshape(4, 2))
    ('none', 'standard')
    """
    values = attributes.data if sp.issparse(attributes) else attributes
    if values.size and values.min() < 0:
        return "standard"
    return "none" if np.count_nonzero(values) <= 0.1 * np.prod(attributes.shape) else "standard"


def column_moments(attributes: Any) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of every column; a constant column gets its magnitude as deviation.

    A sparse matrix stays sparse. Columns are first divided by their largest magnitude, so that values near 1e300 do
    not overflow.
    """
    if not sp.issparse(attributes) and attributes.size > VALUES_COPIED and attributes.shape[1] > 1:
        width = max(1, VALUES_COPIED // attributes.shape[0])
        parts = [attributes[:, start : start + width] for start in range(0, attributes.shape[1], width)]
        means, deviations = zip(*in_order(column_moments, parts), strict=True)
        return np.concatenate(means), np.concatenate(deviations)
    peak = np.asarray(abs(attributes).max(axis=0).todense() if sp.issparse(attributes) else abs(attributes).max(axis=0))
    peak = peak.ravel().astype(np.float64)
    peak[peak < 1e-300] = 1.0  # practically zero, and the inverse would overflow
    if sp.issparse(attributes):
        scaled = attributes.astype(np.float64) @ sp.diags_array(1.0 / peak)
        mean = np.asarray(scaled.mean(axis=0)).ravel()
        square = np.asarray(scaled.multiply(scaled).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        scaled = attributes / peak
        mean, deviation = scaled.mean(axis=0, dtype=np.float64), scaled.std(axis=0, dtype=np.float64)
    constant = deviation < 1e-10
    mean, deviation = np.clip(mean, -1.0, 1.0), np.minimum(deviation, 1.0)  # beyond, it is rounding, and could overflow
    return mean * peak, peak * np.where(constant, 1.0, deviation)


def row_scaled(attributes: Any) -> Any:
    """Divide every row by the sum of its magnitudes; a zero row stays zero."""
    total = np.asarray(abs(attributes).sum(axis=1), dtype=np.float64).ravel()
    inverse = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
    if sp.issparse(attributes):
        return sp.csr_array(sp.diags_array(inverse) @ attributes)
    return attributes * inverse[:, None]


def column_quantiles(attributes: Any, n_points: int = 1001) -> FloatArray:
    """Return ``(n_points, n_columns)`` quantiles of every column, the reference for ranks."""
    levels = np.linspace(0.0, 1.0, n_points)
    out = np.empty((n_points, attributes.shape[1]))
    for columns, values in _columns(attributes, lambda rows, _: np.quantile(rows, levels, axis=1)):
        out[:, columns] = values
    return out


def ranked(attributes: Any, quantiles: FloatArray) -> FloatArray:
    """Replace every value by its mid-rank among the reference quantiles, from −½ to ½."""
    out, known = np.empty(attributes.shape), np.ascontiguousarray(quantiles.T)

    def places(rows: FloatArray, columns: slice) -> FloatArray:
        found = np.empty(rows.shape)
        for row, reference, place in zip(rows, known[columns], found, strict=True):
            place[:] = np.searchsorted(reference, row, side="left")
            place += np.searchsorted(reference, row, side="right")
        return (found / (2.0 * len(quantiles)) - 0.5).T

    for columns, values in _columns(attributes, places):
        out[:, columns] = values
    return out


def _columns(attributes: Any, work: Callable[..., FloatArray]) -> Iterator[tuple[slice, FloatArray]]:
    """Yield blocks of columns, and the result of the work on them: each column as a row, so that it is contiguous."""
    by_column: Any = attributes.tocsc() if sp.issparse(attributes) else np.asarray(attributes)
    few = MANY_VALUES // (n_threads() * max(1, attributes.shape[0]))
    width = max(1, min(COLUMNS_AT_ONCE, attributes.shape[1] // n_threads(), few))
    parts = [slice(start, start + width) for start in range(0, attributes.shape[1], width)]

    def prepared(columns: slice) -> FloatArray:
        chosen = by_column[:, columns]
        rows = np.ascontiguousarray(chosen.toarray().T if sp.issparse(chosen) else chosen.T)
        return work(rows, columns)

    run = map if np.prod(attributes.shape) <= VALUES_AT_ONCE else in_order  # a thread costs more than a few rows
    yield from zip(parts, run(prepared, parts), strict=True)


def rank_spread(quantiles: FloatArray) -> FloatArray:
    """Return the standard deviation of the ranks of each column, which is smaller where values are tied."""
    spread = ranked(quantiles, quantiles).std(axis=0)
    return np.asarray(np.where(spread > 0, spread, 1.0))


def clipped(attributes: Any, center: FloatArray, scale: FloatArray) -> FloatArray:
    """Standardize, and clip values to five standard deviations."""
    dense = attributes.toarray() if sp.issparse(attributes) else attributes
    return np.clip(dense / scale - center / scale, -LIMIT, LIMIT)  # in this order nothing overflows


def unit_of(attributes: Any) -> float:
    """Return 1, or the largest magnitude if it is too far from 1 for sums of fourth powers in single precision.

    >>> unit_of(np.array([[0.0, -700.0]])), unit_of(np.array([[1e-12, 5e-12]])), unit_of(np.array([[2e-309]]))
    (1.0, 5e-12, 1.0)
    """
    largest = float(max(attributes.max(), -attributes.min()))
    return 1.0 if largest < TINY or 1e-4 <= largest <= 1e4 else largest
