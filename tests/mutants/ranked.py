"""The k best simple paths, and alternatives."""

from . import Mutant

KERNELS, SMALL = (
    "semiring/kernels/cpu/routes/ranked.py",
    "tests/test_ranked.py::test_small_graphs_with_ties_zeros_parallel_edges_and_parts",
)

MUTANTS = [
    Mutant(
        "ranked-found-arcs-again",
        KERNELS,
        "        spots[nodes[c].vertex].child = s + 1\n",
        "        pass\n",
        SMALL,
        "A path is found again by the arc that it took.",
    ),
    Mutant(
        "ranked-through-the-prefix",
        KERNELS,
        "spots[y].settled = spots[y].failed = state[STAMP]",
        "spots[y].settled = spots[y].failed = 0",
        SMALL,
        "Paths visit vertices of the prefix again.",
    ),
    Mutant(
        "ranked-order-of-equals",
        KERNELS,
        "    return x < y\n",
        "    return x > y\n",
        SMALL,
        "Of equal paths the last comes first.",
    ),
    Mutant(
        "ranked-bottlenecks-at-their-bound",
        KERNELS,
        " and not (widest and key > space.key[s]):",
        ":",
        "tests/test_ranked.py::test_semirings[max_min]",
        "Of paths with the same worst edge one that is better in part comes first.",
    ),
    Mutant(
        "ranked-best-paths-that-meet-the-prefix",
        KERNELS,
        "        if spots[x].failed == stamp:\n            return -1\n",
        "",
        "tests/test_ranked.py::test_yen_is_scipys",
        "A path goes on by a best path through its own prefix.",
    ),
    Mutant(
        "ranked-left-out-for-good",
        KERNELS,
        "if rest >= 0 or nodes[s].first >= 0:",
        "if rest >= 0:",
        "tests/test_ranked.py::test_vertices_of_many_edges",
        "Of many arcs none is searched for but the best.",
    ),
    Mutant(
        "ranked-parallel-edges",
        "semiring/dense/ranking.py",
        "np.lexsort((costs[among], tails[parallel], heads[parallel]))",
        "np.lexsort((-costs[among], tails[parallel], heads[parallel]))",
        SMALL,
        "Of parallel edges the worst counts.",
    ),
    Mutant(
        "ranked-longer-than-integers",
        "semiring/dense/ranking.py",
        "d[beyond] = self._most + 1",
        "d[beyond] = self._none",
        "tests/test_ranked.py::test_your_own_semiring_and_what_is_refused",
        "Paths beyond 2⁶¹ are left out without a word.",
    ),
    Mutant(
        "ranked-limit-of-the-result",
        "apsp/answers/result/ranked.py",
        "for x in (limit, self.engine.limit) if x is not None",
        "for x in (limit,) if x is not None",
        "tests/test_ranked.py::test_labels_limits_and_parts_of_results",
        "Paths beyond the limit of the result are given.",
    ),
    Mutant(
        "ranked-alternatives-one-way",
        "semiring/kernels/cpu/routes/apart.py",
        "[] if self._twins is None else [self._twins[arcs]]",
        "[]",
        "tests/test_ranked.py::test_alternatives_share_at_most_a_part",
        "An undirected edge that is taken the other way is not shared.",
    ),
]
