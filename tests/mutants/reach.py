"""Reachability: labels, searches, components, and edges that come and go."""

from . import Mutant

KERNELS, UPDATES = "semiring/kernels/cpu/sparse/reach.py", "apsp/answers/reach/updates.py"
PAIRS = "tests/test_reach_index.py::test_every_pair_of_small_graphs_is_as_a_loop_says"
ROWS = "tests/test_reach_index.py::test_rows_of_larger_graphs_are_as_a_search_says"
CHANGES = "tests/test_reach_index.py::test_edges_that_come_and_go_give_the_answers_of_a_fresh_closure"

MUTANTS = [
    Mutant(
        "reach-interval-with-gaps",
        KERNELS,
        "if heads[e] + 1 == covered:",
        "if heads[e] + 2 >= covered:",
        PAIRS,
        "An interval of surely reached vertices has some that are not.",
    ),
    Mutant(
        "reach-supports-the-wrong-way",
        KERNELS,
        "((U.to & V.of) != 0)",
        "((U.to & V.to) != 0)",
        PAIRS,
        "Two vertices that reach one support reach each other.",
    ),
    Mutant(
        "reach-bloom-the-wrong-way",
        KERNELS,
        "(V.below & ~U.below)",
        "(U.below & ~V.below)",
        ROWS,
        "A vertex reaches only what reaches as much.",
    ),
    Mutant(
        "reach-depth-of-sources-alone",
        KERNELS,
        "max(H.depth, U.depth + 1)",
        "max(H.depth, U.depth)",
        ROWS,
        "All vertices are as deep as a source.",
    ),
    Mutant(
        "reach-searches-meet-themselves",
        KERNELS,
        "met[y] == 2 - side",
        "met[y] == 1 + side",
        PAIRS,
        "A search that comes back to where it was has found the other end.",
    ),
    Mutant(
        "reach-marks-of-the-last-search",
        KERNELS,
        "    for k in range(end_there):\n        met[queues[1 - side, k]] = 0\n",
        "",
        PAIRS,
        "What one search has met, the next one takes for its own.",
    ),
    Mutant(
        "reach-component-too-large",
        KERNELS,
        "low[held[state[3] - 1]] >= least:",
        "low[held[state[3] - 1]] >= 0:",
        PAIRS,
        "Vertices of components that are not complete fall to one that is.",
    ),
    Mutant(
        "reach-reduction-by-arcs-before",
        KERNELS,
        "range(e + 1, starts[0][tails[e] + 1])",
        "range(e + 1, starts[0][tails[e] + 1] - 1)",
        PAIRS,
        "The last arc of a vertex replaces none.",
    ),
    Mutant(
        "reach-update-cycles",
        UPDATES,
        "        if bits[j, i]:\n",
        "        if i == j:\n",
        CHANGES,
        "A new edge that closes a cycle leaves its vertices without a way to themselves.",
    ),
    Mutant(
        "reach-update-some-implied",
        UPDATES,
        "if np.all(t.closed[a, b]):",
        "if np.any(t.closed[a, b]):",
        CHANGES,
        "Edges are left out where another one says nothing new.",
    ),
    Mutant(
        "reach-update-loops-of-components",
        UPDATES,
        "    joined[d.component[cyclic]] = True\n",
        "",
        CHANGES,
        "Loops are forgotten where components are closed again.",
    ),
    Mutant(
        "reach-update-one-way",
        UPDATES,
        "(u if graph.directed else np.minimum(u, v))",
        "u",
        CHANGES,
        "An undirected edge goes only as it was listed.",
    ),
    Mutant(
        "reach-loaded-arcs-in-any-order",
        "apsp/answers/reach/archives.py",
        "(c.tails <= c.heads).any() or ",
        "",
        "tests/test_reach.py::test_parts_that_do_not_fit_one_another_are_a_format_error",
        "Arcs of a damaged file lead to higher numbers.",
    ),
]
