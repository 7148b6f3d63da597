"""Kernels called per kind of work, and their compile times, for estimates.

Seconds are of one 2.5 GHz server core; {kind} stands for a semiring and a dtype, {dtype} for the dtype, {size} for the
integers of its size. "exponentials" are closures over log_plus of at least 32 vertices. `tests/test_compile.py`
compares the names with actual calls.
"""

from __future__ import annotations

import os
from functools import cache

from ...host.compiling import Missing, uncounted
from .compile import missing as not_there
from .kinds import Kind, raw

#: Kernels, by seconds, that each kind of work certainly calls; if one is missing, those of `_BESIDES` may be, too.
_CALLED = {
    "closure": {
        0.1: "dense.pivot.pivot_row.{kind} dense.pivot.sweep.{kind}",
        0.2: "sparse.movers.copy_square.{size} dense.gemm.panel.{kind}",
        0.3: "dense.gemm.pack.{dtype}",
        0.4: "dense.pivot.closure",
    },
    "exponentials": {
        0.1: "dense.logarithmic.exponentials.{kind} dense.logarithmic.logarithms.{kind} "
        "dense.pivot.pivot_row.plus_times.{dtype} dense.pivot.sweep.plus_times.{dtype}",
        0.2: "sparse.movers.copy_square.{size} dense.gemm.panel.plus_times.{dtype}",
        0.3: "dense.gemm.pack.{dtype}",
        0.4: "dense.pivot.closure",
    },
    "elimination": {
        0.1: "sparse.symbolic.tally sparse.peeling.among_themselves sparse.peeling.followed "
        "sparse.symbolic.postorder sparse.symbolic.in_postorder sparse.symbolic.paths sparse.symbolic.rows "
        "sparse.symbolic.relatives sparse.symbolic.places sparse.symbolic.owners sparse.symbolic.diagonal "
        "sparse.strips.fill.{kind} sparse.fronts.place.{kind} sparse.fronts.extend.{kind}",
        0.2: "sparse.symbolic.arcs sparse.fronts.eliminate sparse.abreast.pivots.{kind} "
        "sparse.abreast.others.{kind} sparse.movers.take_apart.{size}",
        0.3: "sparse.symbolic.neighbours sparse.degree.columns sparse.symbolic.supernodes",
        0.4: "sparse.peeling.peel",
        1.1: "sparse.degree.minimum_degree",
    },
    "hub labels": {
        0.1: "sparse.hubs.add_pivots.{kind} sparse.hubs.put_labels.{kind} sparse.hubs.meet.{kind}",
        0.2: "sparse.hubs.combine_strip.{kind}",
        0.5: "sparse.hubs.descend.{size}",
    },
    "hops": {0.4: "sparse.search.levels"},
    "searches": {0.5: "sparse.relaxation.search.{searched}.32"},
    "bits": {0.4: "bits.closure.close_block"},
    "index": {
        0.2: "sparse.reach.group sparse.reach.choose sparse.reach.ascend sparse.reach.descend sparse.reach.decide",
        0.4: "sparse.reach.components",
    },
    "levels": {
        0.1: "bits.rows.unpack_rows bits.rows.count_rows",
        0.3: "bits.rows.pack_rows",
    },
}
#: Kernels that most such work calls besides, or later.
_BESIDES = {
    "closure": {
        0.1: "dense.gemm.block",
        0.4: "dense.pivot.small_closures.{kind}",
    },
    "exponentials": {
        0.1: "dense.gemm.block dense.pivot.pivot_row.{kind} dense.pivot.sweep.{kind} "
        "dense.logarithmic.scale_columns.{kind} dense.logarithmic.scale_rows.{kind}",
        0.2: "dense.logarithmic.finish.{kind}",
        0.6: "dense.gemm.panel.{kind}",
    },
    "elimination": {
        0.1: "sparse.movers.collect.{size} sparse.strips.pair_strip.{kind} sparse.strips.climb_strip.{kind} "
        "sparse.sweep.ancestors sparse.sweep.places sparse.fronts.bring sparse.movers.copy_entries.{size}",
        0.2: "sparse.sweep.climb sparse.sweep.sweep sparse.strips.sweep_strip.{kind} sparse.movers.transpose.{size}",
        0.3: "sparse.sweep.pairs sparse.fronts.renew",
    },
    "hub labels": {
        0.2: "sparse.hubs.pairs sparse.hubs.pair",
        0.6: "sparse.hubs.follow.{size}",
    },
    "hops": {0.2: "sparse.movers.transpose.{size}"},
    "searches": {
        0.1: "csr.entries.arrange sparse.relaxation.preorder",
        0.2: "sparse.movers.transpose.{size}",
        0.4: "sparse.relaxation.search.{searched}.4",
    },
    "bits": {
        0.1: "bits.planes.copy_words bits.planes.spread_rows bits.planes.load_planes bits.planes.collect_rows "
        "bits.planes.store_planes bits.closure.index_column bits.gemm.accumulate_strip bits.rows.unpack_rows",
        0.2: "bits.closure.update_column",
    },
    "index": {
        0.1: "sparse.reach.spread",
        0.3: "sparse.reach.reduce",
        0.8: "sparse.reach.search",
    },
    "levels": {1.6: "bits.gemm.multiply_block"},
}


def missing(work: str, kind: Kind | None = None) -> Missing:
    """Kernels still to compile; none if SEMIRING_ASSUME_COMPILED is set."""
    if (work, kind) in _compiled:
        return _NOTHING
    if os.environ.get("SEMIRING_ASSUME_COMPILED"):
        return _NOTHING
    called, besides = called_by(work, kind), _filled(_BESIDES[work], kind)
    with uncounted:
        absent = not_there(called)
        if not absent:
            _compiled.add((work, kind))
            return _NOTHING
        absent |= not_there(besides)
    return Missing(len(absent), sum({**called, **besides}[name] for name in absent))


_NOTHING = Missing()
#: (work, kind) whose kernels are all present.
_compiled: set[tuple[str, Kind | None]] = set()


@cache
def called_by(work: str, kind: Kind | None) -> dict[str, float]:
    """The kernels that such work certainly calls, with seconds to compile each."""
    return _filled(_CALLED[work], kind)


def _filled(kernels: dict[float, str], kind: Kind | None) -> dict[str, float]:
    words = {"kind": kind.code.tag[1:], "dtype": kind.dtype, "size": raw(kind.itemsize).dtype} if kind else {}
    if kind:  # searches may run over another kind
        ranked = {code[-3:] for code in (kind.add, kind.mul)} == {"min", "max"}
        words["searched"] = "min_max.int32" if ranked else kind.code.tag[1:].replace("int16", "int32")
    return {name: seconds for seconds, names in kernels.items() for name in names.format(**words).split()}
