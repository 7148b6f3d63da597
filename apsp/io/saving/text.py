"""Tables as rows of numbers below a comment: for `diff`, `numpy.loadtxt`, `apsp.read`."""

from __future__ import annotations

import io

from semiring.stores.files import writing

from .base import Arrays, Store, StrPath, Table


def save(table: Table, path: StrPath, more: Arrays) -> None:
    """Write the comment of `apsp.io.formats.matrix` and the entries, inf for no path."""
    with writing(path) as file, io.TextIOWrapper(file, "utf-8", newline="\n") as text:
        text.write("# matrix of {} rows and {} columns\n".format(*table.shape))
        text.writelines(" ".join(map(str, numbers)) + "\n" for numbers in table.lines())


STORE = Store((".txt",), save)
