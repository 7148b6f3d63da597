"""Files that other libraries read: the statement that passes them on, by suffix; what is in an archive."""

from __future__ import annotations

import errno
import os
import zipfile

from ..reading.files import Source

#: By suffixes the kind of file, and the way out with {0!r} for its path.
_WAYS = {
    ".xlsx .xls .xlsm .ods": (
        "an Excel workbook",
        "apsp.as_graph(pandas.read_excel({0!r})) for edges, apsp.as_graph(pandas.read_excel({0!r}, index_col=0)"
        ".fillna(float('inf'))) for a matrix with blank cells. A sheet that is saved as .csv is read as it is",
    ),
    ".parquet": ("Parquet", "apsp.as_graph(pandas.read_parquet({0!r}))"),
    ".feather .arrow": ("Arrow", "apsp.as_graph(pandas.read_feather({0!r}))"),
    ".gpkg .shp .fgb": ("a layer of a map", "apsp.as_graph(geopandas.read_file({0!r}))"),
    ".osm": ("OpenStreetMap data", "apsp.as_graph(osmnx.graph_from_xml({0!r}), weight='length')"),
    ".pbf": (
        "packed OpenStreetMap data",
        "`osmium cat {0} -o area.osm` in a shell, then osmnx.graph_from_xml('area.osm')",
    ),
    ".adjlist": (
        "an adjacency list of NetworkX",
        "apsp.as_graph(networkx.read_adjlist({0!r}, create_using=networkx.DiGraph)), networkx.Graph where edges lead "
        "both ways",
    ),
    ".s6": ("sparse6", "apsp.as_graph(networkx.read_sparse6({0!r}))"),
    ".pkl .pickle": ("a pickle, which runs code", "apsp.as_graph(pandas.read_pickle({0!r})) if you trust its author"),
}
#: First bytes of packed files, and the modules that read them.
_PACKED = {b"BZh": "bz2", b"\xfd7zXZ": "lzma"}


def _archived(source: Source) -> list[str] | None:
    """Names in a ZIP archive; None for another file."""
    with source.open() as file:
        return zipfile.ZipFile(file).namelist() if zipfile.is_zipfile(file) else None


def refuse_folder(path: str | os.PathLike[str]) -> None:
    """Refuse a folder, naming a file in it."""
    if os.path.isdir(path):
        names = sorted(os.listdir(path))
        text = [name for name in names if name == "transfers.txt"] or [
            name for name in names if name.endswith((".csv", ".gr"))
        ]
        way = f"Say apsp.read({os.path.join(path, text[0])!r})." if text else "Name a file."
        raise IsADirectoryError(errno.EISDIR, f"must be a file, got a folder of {len(names)}. {way}", os.fspath(path))


def require_ours(source: Source, suffix: str) -> None:
    """FormatError, with the way out, for files that another library reads, and archives of files."""
    path = str(source.path)
    what, way = next((known for suffixes, known in _WAYS.items() if suffix in suffixes.split()), ("", ""))
    names = _archived(source) if suffix == ".zip" else None
    if names is not None:
        what, inside = f"an archive of {len(names)} files", next(iter(names), "…")
        if "stop_times.txt" in names:
            what, inside = "a GTFS feed, whose only list of edges is transfers.txt", "transfers.txt"
        way = f"apsp.read(zipfile.ZipFile({{0!r}}).open({inside!r}))"
    for magic, module in _PACKED.items():
        if source.head(len(magic)) == magic:
            what, way = "a packed one", f"apsp.read({module}.open({{0!r}}))"
    if what:
        raise source.error(f"must hold one graph as text or numbers, got {what}. Say {way.format(path)}.")
