"""Part 5: transitive closure on bits, Warshall's algorithm.

rows[i] is an integer: bit j is set if there is an arc from i to j. Set bit j of rows[i] wherever a walk of one arc or
more leads from i to j, and return the list. One machine instruction then does 64 entries: there is no loop over j.

    pytest examples/lab/part5
"""


def closure(rows: list[int]) -> list[int]:
    raise NotImplementedError("part 5: write closure(rows) in examples/lab/part5/bits.py")
