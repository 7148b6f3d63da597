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

#: Kernels that each kind of work certainly calls; if one is missing, those of `_BESIDES` may be, too.
_CALLED = {
    "closure": {
        "sparse.movers.copy_square.{size}": 0.2,
        "dense.pivot.pivot_row.{kind}": 0.1,
        "dense.pivot.sweep.{kind}": 0.1,
        "dense.gemm.panel.{kind}": 0.2,
        "dense.gemm.pack.{dtype}": 0.3,
        "dense.pivot.closure": 0.4,
    },
    "exponentials": {
        "dense.exponentials.exponentials.{kind}": 0.1,
        "dense.exponentials.logarithms.{kind}": 0.1,
        "sparse.movers.copy_square.{size}": 0.2,
        "dense.pivot.pivot_row.plus_times.{dtype}": 0.1,
        "dense.pivot.sweep.plus_times.{dtype}": 0.1,
        "dense.gemm.panel.plus_times.{dtype}": 0.2,
        "dense.gemm.pack.{dtype}": 0.3,
        "dense.pivot.closure": 0.4,
    },
    "elimination": {
        "sparse.symbolic.tally": 0.1,
        "sparse.symbolic.neighbours": 0.3,
        "sparse.peeling.peel": 0.4,
        "sparse.peeling.among_themselves": 0.1,
        "sparse.degree.minimum_degree": 1.1,
        "sparse.degree.columns": 0.3,
        "sparse.peeling.followed": 0.1,
        "sparse.symbolic.postorder": 0.1,
        "sparse.symbolic.in_postorder": 0.1,
        "sparse.symbolic.supernodes": 0.3,
        "sparse.symbolic.paths": 0.1,
        "sparse.symbolic.rows": 0.1,
        "sparse.symbolic.relatives": 0.1,
        "sparse.symbolic.places": 0.1,
        "sparse.symbolic.owners": 0.1,
        "sparse.symbolic.arcs": 0.2,
        "sparse.symbolic.diagonal": 0.1,
        "sparse.fronts.eliminate": 0.2,
        "sparse.strips.fill.{kind}": 0.1,
        "sparse.fronts.place.{kind}": 0.1,
        "sparse.fronts.extend.{kind}": 0.1,
        "sparse.abreast.pivots.{kind}": 0.2,
        "sparse.abreast.others.{kind}": 0.2,
        "sparse.movers.take_apart.{size}": 0.2,
    },
    "hub labels": {
        "sparse.hubs.combine_strip.{kind}": 0.2,
        "sparse.hubs.add_pivots.{kind}": 0.1,
        "sparse.hubs.put_labels.{kind}": 0.1,
        "sparse.hubs.meet.{kind}": 0.1,
        "sparse.hubs.descend.{size}": 0.5,
    },
    "hops": {"sparse.search.levels": 0.4},
    "searches": {"sparse.relaxation.search.{searched}.32": 0.5},
    "bits": {"bits.closure.close_block": 0.4},
    "index": {
        "sparse.reach.group": 0.2,
        "sparse.reach.components": 0.4,
        "sparse.reach.choose": 0.2,
        "sparse.reach.ascend": 0.2,
        "sparse.reach.descend": 0.2,
        "sparse.reach.decide": 0.2,
    },
    "levels": {"bits.rows.pack_rows": 0.3, "bits.rows.unpack_rows": 0.1, "bits.rows.count_rows": 0.1},
}
#: Kernels that most such work calls besides, or later.
_BESIDES = {
    "closure": {"dense.gemm.block": 0.1, "dense.pivot.small_closures.{kind}": 0.4},
    "exponentials": {
        "dense.gemm.block": 0.1,
        "dense.pivot.pivot_row.{kind}": 0.1,
        "dense.pivot.sweep.{kind}": 0.1,
        "dense.gemm.panel.{kind}": 0.6,
        "dense.logarithmic.scale_columns.{kind}": 0.1,
        "dense.logarithmic.scale_rows.{kind}": 0.1,
        "dense.logarithmic.finish.{kind}": 0.2,
    },
    "elimination": {
        "sparse.movers.collect.{size}": 0.1,
        "sparse.sweep.pairs": 0.3,
        "sparse.strips.pair_strip.{kind}": 0.1,
        "sparse.strips.climb_strip.{kind}": 0.1,
        "sparse.sweep.ancestors": 0.1,
        "sparse.sweep.places": 0.1,
        "sparse.sweep.climb": 0.2,
        "sparse.sweep.sweep": 0.2,
        "sparse.strips.sweep_strip.{kind}": 0.2,
        "sparse.movers.transpose.{size}": 0.2,
        "sparse.fronts.renew": 0.3,
        "sparse.fronts.bring": 0.1,
        "sparse.movers.copy_entries.{size}": 0.1,
    },
    "hub labels": {
        "sparse.hubs.pairs": 0.2,
        "sparse.hubs.pair": 0.2,
        "sparse.hubs.follow.{size}": 0.6,
    },
    "hops": {"sparse.movers.transpose.{size}": 0.2},
    "searches": {
        "sparse.relaxation.search.{searched}.4": 0.4,
        "csr.positions.arrange": 0.1,
        "sparse.relaxation.preorder": 0.1,
        "sparse.movers.transpose.{size}": 0.2,
    },
    "bits": {
        "bits.planes.copy_words": 0.1,
        "bits.planes.spread_rows": 0.1,
        "bits.planes.load_planes": 0.1,
        "bits.planes.collect_rows": 0.1,
        "bits.planes.store_planes": 0.1,
        "bits.closure.index_column": 0.1,
        "bits.gemm.accumulate_strip": 0.1,
        "bits.closure.update_column": 0.2,
        "bits.rows.unpack_rows": 0.1,
    },
    "index": {"sparse.reach.search": 0.8, "sparse.reach.spread": 0.1, "sparse.reach.reduce": 0.3},
    "levels": {"bits.gemm.multiply_block": 1.6},
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


def _filled(kernels: dict[str, float], kind: Kind | None) -> dict[str, float]:
    words = {"kind": kind.code.tag[1:], "dtype": kind.dtype, "size": raw(kind.itemsize).dtype} if kind else {}
    if kind:  # searches may run over another kind
        ranked = {code[-3:] for code in (kind.add, kind.mul)} == {"min", "max"}
        words["searched"] = "min_max.int32" if ranked else kind.code.tag[1:].replace("int16", "int32")
    return {name.format(**words): seconds for name, seconds in kernels.items()}
