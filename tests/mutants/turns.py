"""Turns: copies of vertices, and the readers of turns."""

from . import Mutant

EXPANSION, READER, RESULT = "apsp/io/expansion.py", "apsp/io/turns.py", "apsp/answers/result/turned.py"
DRAWN = "tests/test_turns.py::test_drawn_networks"
BY_WAY = "tests/test_turns.py::test_restrictions_by_way_hold_for_those_who_come_all_the_way"
REFUSED = "tests/test_turns.py::test_what_is_refused"

MUTANTS = [
    Mutant(
        "turns-back-in-dead-ends",
        EXPANSION,
        "cost[back & (least[tails[out]] < greatest[tails[out]])]",
        "cost[back]",
        "tests/test_turns.py::test_u_turns_but_in_dead_ends",
        "Nobody leaves a dead end.",
    ),
    Mutant(
        "turns-ways-of-one-part",
        EXPANSION,
        "for size in range(len(way) + 1, 1, -1)]",
        "for size in range(len(way), 1, -1)]",
        BY_WAY,
        "A restriction by way is never complete.",
    ),
    Mutant(
        "turns-ways-beside-pairs",
        EXPANSION,
        "        cost[row] = cost[base]\n",
        "",
        BY_WAY,
        "Within a restriction by way single turns are free.",
    ),
    Mutant(
        "turns-ways-merged-at-once",
        EXPANSION,
        "        if finer.max() == group.max():\n            break\n",
        "        break\n",
        BY_WAY,
        "Arcs that begin different restrictions share a copy.",
    ),
    Mutant(
        "turns-rows-of-the-same-first-cost",
        EXPANSION,
        "range(int(width.max(initial=0)))",
        "range(int(width.max(initial=0)) - 1)",
        DRAWN,
        "Arcs whose last turns differ share a copy.",
    ),
    Mutant(
        "turns-closed-edges-open",
        EXPANSION,
        "            costs = np.where(closed[made.edges], 0, costs)\n",
        "            pass\n",
        "tests/test_turns.py::test_weights_near_the_end_of_64_bits",
        "A closed edge behind a costly turn wraps.",
    ),
    Mutant(
        "turns-goals-shown",
        EXPANSION,
        "        kept = copies < len(self.origin) - len(self.split)\n",
        "        kept = copies < len(self.origin)\n",
        BY_WAY,
        "Paths name their last vertex twice.",
    ),
    Mutant(
        "turns-cheaper-than-forbidden",
        READER,
        "walks[walk] = max(known, cost[k])",
        "walks[walk] = min(known, cost[k])",
        "tests/test_turns.py::test_a_forbidden_turn_stays_so_beside_a_cost",
        "A cost opens a forbidden turn.",
    ),
    Mutant(
        "turns-only-others",
        READER,
        "for arc in others if arc not in taken]",
        "for arc in others if arc in taken]",
        "tests/test_turns.py::test_a_forbidden_turn_in_every_spelling",
        "only_straight_on forbids to go straight on.",
    ),
    Mutant(
        "turns-conditions-ignored",
        READER,
        '"(no|only)_[a-z_]+", str(kind)',
        '"(no|only)_.+", str(kind)',
        "tests/test_turns.py::test_ways_of_openstreetmap_and_pgrouting",
        "What holds on some days holds always.",
    ),
    Mutant(
        "turns-short-walks",
        READER,
        "if len(names) < 3 and self.ways is None:",
        "if len(names) < 2 and self.ways is None:",
        REFUSED,
        "A turn of two vertices is taken.",
    ),
    Mutant(
        "turns-sums-of-own",
        RESULT,
        "    ending[turned.split] -= 2 * own\n",
        "    ending[turned.split] -= own\n",
        "tests/test_turns.py::test_betweenness_with_endpoints",
        "Betweenness with endpoints counts a vertex on the way to itself.",
    ),
    Mutant(
        "turns-what-ends-passes",
        RESULT,
        "np.maximum(through[turned.split] - arrived, 0.0)",
        "through[turned.split]",
        DRAWN,
        "What ends at a split vertex passes it.",
    ),
    Mutant(
        "turns-structure-of-other-copies",
        "apsp/answers/result/reweighting.py",
        "    kept &= turned is None or (r.turned is not None and turned.graph.rows is r.turned.graph.rows)\n",
        "",
        "tests/test_turns.py::test_few_new_weights_and_costs_follow_hub_labels",
        "New turns are eliminated by the structure of the old ones.",
    ),
    Mutant(
        "turns-limit-of-a-part",
        "apsp/road/engines/part.py",
        "        found = None if self._limit else self.engine.nearest(i[wanted], towards=towards)\n",
        "        found = self.engine.nearest(i[wanted], towards=towards)\n",
        "tests/test_turns.py::test_the_nearest_within_a_limit",
        "The nearest is found beyond the limit.",
    ),
]
