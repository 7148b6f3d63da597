"""Sparse matrices over a semiring in CSR form: absent entries are its zero, stored ones count whatever their value.

matrix     conversion from and to SciPy's and CuPy's matrices
products   sparse by sparse, sparse by dense, with masks; powers
parts      sums of two matrices, transposition, reductions
"""
