import math

from semiring import Op, Semiring


def declare():
    lowest = Op("lowest", python=lambda a, b: a if a < b else b, cuda="min(a, b)", simd="min")
    highest = Op("highest", python=lambda a, b: a if a > b else b, cuda="max(a, b)", simd="max")
    return Semiring("passes", add=lowest, mul=highest, zero=math.inf, one=-math.inf, samples=(-3, 0, 5, 8))
