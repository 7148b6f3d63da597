"""Sparse matrices over a semiring, in compressed rows: what is absent is its zero, what is stored counts.

matrix     SciPy's and CuPy's matrices taken in, and given back in kind
products   sparse by sparse, sparse by dense, with masks; powers
parts      sums of two matrices, transposition, reductions
"""
