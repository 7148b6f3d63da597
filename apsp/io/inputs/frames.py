"""Tables of pandas, Polars, PyArrow and others known to narwhals: long ones list edges, wide ones are matrices."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from semiring.algebra import dtypes
from semiring.algebra.catalog import min_plus
from semiring.algebra.conversion import conform
from semiring.host.errors import DTypeError, FormatError, ShapeError
from semiring.host.spelling import came
from semiring.host.types import Frame, Input, Label

from ..formats.tokens import seconds
from ..graph import Graph
from ..graph.edge_lists import numbers
from ..labels import number_ends
from ..reading.directions import direction_columns, turned
from ..reading.lines import ends_of, from_lines
from ..reading.options import ANYHOW, BY_RULE, SOURCES, TARGETS, Reading, choose, is_numeral, names_ends
from .base import Kind, named, named_or_placed

_refuse = partial(FormatError, "GeoPandas frame", None)


def _of_lines(source: Input, reading: Reading) -> Graph:
    """An edge per row, by `from_lines`; index levels may name the ends."""
    frame = source.drop(columns=source.geometry.name)
    levels = [name for name in source.index.names if str(name).casefold() in (*SOURCES, *TARGETS)]
    for name in levels:
        frame[name] = source.index.get_level_values(name)
    try:
        lines = [None if x is None or x.is_empty else ends_of(x.__geo_interface__) for x in source.geometry]
    except ValueError as error:
        raise _refuse(f"geometries must be lines, got {error}.") from None
    found = frame.to_dict("records")
    properties = [{name: x.item() if isinstance(x, np.generic) else x for name, x in row.items()} for row in found]
    return from_lines(lines, properties, reading, _refuse).having(crs=source.crs)


#: Libraries of tables that narwhals supports.
_LIBRARIES = frozenset(
    "pandas polars pyarrow modin cudf narwhals duckdb ibis pyspark sqlframe dask fireducks daft".split()
)


def recognises(source: Frame, reading: Reading) -> bool:
    """Whether the source is a table by library or protocol; a single column is not."""
    library = type(source).__module__.partition(".")[0]
    # a duckdb relation has `columns`; a pyarrow array has none
    return (library in _LIBRARIES and hasattr(type(source), "columns")) or hasattr(source, "__narwhals_dataframe__")


def is_table(source: Frame) -> bool:
    """Whether narwhals supports this as a table."""
    return recognises(source, ANYHOW)


def columns_of(source: Frame) -> dict[Any, list[Any]]:
    """A table's columns by name."""
    table = _Table(source)
    return {name: column.to_list() for name, column in zip(table.names, table.columns, strict=True)}


def of_table(source: Frame, reading: Reading) -> Graph:
    """Edges if columns are named or chosen for their ends; else a matrix if row and column labels agree."""
    table = _Table(source)
    if reading.columns is None and not reading.named and not table.names_ends:
        matrix = table.matrix()
        if matrix is not None:
            return matrix
        table.refuse_other_shapes()
    return table.edges(reading)


class _Table:
    """A table's columns, prepared for NumPy."""

    def __init__(self, source: Frame) -> None:
        import narwhals as nw

        self.kind = f"{type(source).__module__.partition('.')[0]} table"
        self.refuse = partial(FormatError, self.kind, None)
        try:
            batch = type(source).__name__ == "RecordBatch"
            frame: Any = nw.from_native(sys.modules["pyarrow"].Table.from_batches([source]) if batch else source)
            frame = frame.collect() if hasattr(frame, "collect") else frame
        except Exception as error:  # library errors: duplicate columns, a failing query
            said = " ".join(str(error).split())
            raise self.refuse(
                f"must be a table of columns whose names differ, got: {said}. Rename or drop some."
            ) from error
        self.columns = list(frame.iter_columns())
        self.names: list[Any] = list(frame.columns)
        self.height = len(frame)
        index = nw.maybe_get_index(frame)
        self._index = index
        #: Whether the index is a default one, without information.
        self.counted = index is not None and type(index).__name__ == "RangeIndex"

    @cached_property
    def index(self) -> list[Any] | None:
        """Row labels; None in a library without any."""
        return None if self._index is None else list(self._index)

    @property
    def names_ends(self) -> bool:
        return names_ends(self.names)

    def matrix(self) -> Graph | None:
        """The labelled matrix of a wide table, or None."""
        if len(self.columns) - self.height not in (0, 1):
            return None
        columns, names, rows = self.columns, self.names, self.index
        if rows is None and len(columns) == self.height + 1 and not columns[0].dtype.is_numeric():
            columns, names, rows = columns[1:], names[1:], columns[0].to_list()  # row labels in Polars and Arrow
        if len(columns) != self.height or not all(c.dtype.is_numeric() or str(c.dtype) == "Boolean" for c in columns):
            return None
        if rows is not None and rows != names:
            if sorted(map(str, rows)) == sorted(map(str, names)):
                way = "Sort or rename the rows"
                if self.kind == "pandas table" and list(map(str, rows)) == list(map(str, names)):
                    way = "Say table.set_axis(table.columns)"  # an index of integers, and columns of their texts
                elif self.kind == "pandas table" and {*rows} == {*names}:
                    way = "Say table.loc[table.columns]"
                need = f"named as its columns, in their order, got {_few(rows)} and {_few(names)}"
                raise self.refuse(f"the rows of a matrix must be {need}. {way}.")
            return None
        confirmed = rows is not None and not self.counted
        if len(columns) in (2, 3) and not confirmed and all(c.dtype.is_integer() for c in columns[:2]):
            raise self.refuse(
                f"{self.height} rows of {self.height} columns without labels may be a matrix or edges. Say columns="
                f"{tuple(range(len(columns)))} for edges, apsp.Graph.from_matrix(table.to_numpy()) for a matrix."
            )
        return Graph.from_matrix(_together(columns, self.kind), labels=names)

    def refuse_other_shapes(self) -> None:
        """FormatError where the index names the ends of edges, or a matrix has no row names, or others."""
        numeric, way = all(column.dtype.is_numeric() for column in self.columns), ""
        if names_ends([*getattr(self._index, "names", ()), *self.names]):
            way = "table.reset_index(), where the index names the ends of edges"
        elif numeric and self.counted and len(self.columns) == self.height:
            way = "table.to_numpy(), if it is a matrix, or columns=(FROM, TO, WEIGHT), if it lists edges"
        elif numeric and self.index and not self.counted and all(isinstance(name, str) for name in self.index):
            way = "table.stack().dropna(), if its entries are weights between rows and columns"
        if way:
            problem = f"must name the ends of edges by columns, or rows as columns, got columns {_few(self.names)}"
            raise self.refuse(f"{problem}. Pass {way}.")

    def edges(self, reading: Reading) -> Graph:
        which = direction_columns(self.names, lambda index: self.columns[index].to_list())
        chosen = choose(self.names, reading, self.refuse, passed=which, numeric=self._is_numeric)
        for end in chosen[:2]:
            self._require_complete(end, "a vertex must have a name")
        ends = [self.columns[end] for end in chosen[:2]]
        whole = all(column.dtype.is_signed_integer() for column in ends)
        labels, rows, cols = number_ends(*(x.to_numpy() if whole else x.to_list() for x in ends))
        if not all(end.dtype.is_numeric() for end in ends) and {str(end.dtype) for end in ends} != {"String"}:
            text = next((x for x in labels if isinstance(x, str) and is_numeral(x) and float(x) in labels), None)
            if text is not None:
                name = came(self.names[chosen.target if ends[0].dtype.is_numeric() else chosen.source])
                way = f", as by table.astype({{{name}: float}})" if self.kind == "pandas table" else ""
                problem = f"the ends of an edge must be of one type, got {came(text)} as a text and as a number"
                raise self.refuse(f"{problem}. Make numbers of the column {name}{way}.")
        weights = None
        if chosen.weight is not None:
            column, name = self.columns[chosen.weight], self.names[chosen.weight]
            lasting = str(column.dtype).startswith("Duration")
            weights = None if lasting or column.dtype.is_numeric() else _durations(column)
            if weights is None and not (lasting or column.dtype.is_numeric()):
                way = "weight=None for unweighted edges" if reading.weight is BY_RULE else "another column"
                first = came(column.to_list()[0]) if len(column) else "none"
                raise self.refuse(
                    f"a weight must be a number, or a duration hh:mm:ss in every row, got {first} in row 0 of "
                    f"the column {came(name)} of {column.dtype}. Make numbers of it, or say {way}."
                )
            self._require_complete(chosen.weight, "a weight must be a number")
            weights = _numbers(column) if weights is None else weights
        graph = Graph.from_arrays(rows, cols, weights, labels=labels)
        columns = {self.names[index]: self.columns[index].to_list() for index in which}
        return turned(graph, columns, reading, lambda problem, row: self.refuse(f"{problem} (row {row})"))

    def _is_numeric(self, index: int) -> bool:
        column = self.columns[index]
        return column.dtype.is_numeric() or str(column.dtype).startswith("Duration") or _durations(column) is not None

    def _require_complete(self, index: int, requirement: str) -> None:
        column = self.columns[index]
        missing = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
        if missing.any():
            row, name = missing.to_list().index(True), came(self.names[index])
            way = f", as by table.dropna(subset=[{name}])" if self.kind == "pandas table" else ""
            raise self.refuse(f"{requirement}, got none in row {row} of the column {name}. Drop the row{way}.")


def _together(columns: Sequence[Any], kind: str) -> np.ndarray:
    if any(column.null_count() for column in columns):
        way = "table.astype(float).fillna(float('inf'))" if kind == "pandas table" else "inf where there is no edge"
        raise ShapeError(f"as_graph: a {kind} that is a matrix must have all its entries. Say {way}.")
    arrays = [_numbers(column) for column in columns]
    kinds = {array.dtype for array in arrays}
    if len(kinds) > 1:
        if np.dtype(bool) in kinds:
            raise DTypeError(
                f"as_graph: a {kind} that is a matrix must hold numbers or truth values, got both. Say what "
                "True and False weigh."
            )
        target = dtypes.resolve(min_plus, np.result_type(*kinds), where="as_graph")
        arrays = [conform(array, min_plus, target, where=f"as_graph: a {kind} that is a matrix") for array in arrays]
    return np.column_stack(arrays) if arrays else np.empty((0, 0))


def _numbers(column: Any) -> np.ndarray:
    """A column as an array, entry by entry for types unknown to NumPy: 128-bit integers, decimals."""
    plain = (column.dtype.is_integer() and "128" not in str(column.dtype)) or column.dtype.is_float()
    return numbers(column.to_list()) if column.dtype.is_numeric() and not plain else np.asarray(column.to_numpy())


def _durations(column: Any) -> np.ndarray | None:
    texts = column.to_list()
    return seconds(texts) if all(isinstance(text, str) for text in texts) else None


def _few(names: Sequence[Label]) -> str:
    return ", ".join(map(came, names[:5])) + (", …" if len(names) > 5 else "")


KINDS = {
    "geopandas": Kind(
        "a GeoPandas frame of lines",
        lambda source, reading: (
            hasattr(source, "to_crs") and hasattr(source, "columns") and hasattr(source, "geometry")
        ),
        _of_lines,
        columns=True,
        weights="the name of a column",
        accepts=named,
        lists=True,
    ),
    "frames": Kind(
        "a table that narwhals knows",
        recognises,
        of_table,
        columns=True,
        weights="the name or position of a column",
        accepts=named_or_placed,
        lists=True,
    ),
}
