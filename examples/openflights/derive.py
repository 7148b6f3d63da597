"""Derive `airports.csv` and `routes.csv.gz` from OpenFlights' own `airports.dat` and `routes.dat`.

    python derive.py airports.dat routes.dat

An airport is kept if it has an IATA code and a route begins or ends there; a route, once, if it is direct, both of its
ends are such airports, and they differ. Ends are matched by IATA code, as some routes carry no airport number.
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterable
from pathlib import Path

NOTICE = "Contains information from OpenFlights, available under the ODbL 1.0: see LICENSE-ODbL."


def airports(path: Path) -> dict[str, tuple[str, ...]]:
    """IATA code → code, name, city, country, latitude, longitude."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    # Columns: number, name, city, country, IATA, ICAO, latitude, longitude, …; \N where there is no value.
    kept = (row for row in rows if row[4] != r"\N")
    return {row[4]: (row[4], *row[1:4], f"{float(row[6]):.6f}", f"{float(row[7]):.6f}") for row in kept}


def routes(path: Path) -> set[tuple[str, str]]:
    """(source, target) of every direct route."""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    # Columns: airline, number, source, number, target, number, codeshare, stops, equipment.
    return {(row[2], row[4]) for row in rows if row[7] == "0" and row[2] != row[4]}


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


def main(airports_dat: str, routes_dat: str) -> None:
    here = Path(__file__).parent
    places, pairs = airports(Path(airports_dat)), routes(Path(routes_dat))
    pairs = {(u, v) for u, v in pairs if u in places and v in places}
    served = sorted({code for pair in pairs for code in pair})
    header = ("code", "name", "city", "country", "latitude", "longitude")
    (here / "airports.csv").write_bytes(table(header, (places[code] for code in served)))
    packed = gzip.compress(table(("source", "target"), sorted(pairs)), mtime=0)
    (here / "routes.csv.gz").write_bytes(packed)
    print(f"{len(served)} airports, {len(pairs)} routes. {NOTICE}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python derive.py airports.dat routes.dat")
    main(*sys.argv[1:])
