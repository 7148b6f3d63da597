import numpy as np


def product(X, Y):
    return np.min(X[:, :, None] + Y[None, :, :], axis=1, initial=np.inf)


def closure(D):
    n = len(D)
    if n <= 1:
        np.minimum(D, 0, out=D)
        return
    h = n // 2
    A, B, C, E = D[:h, :h], D[:h, h:], D[h:, :h], D[h:, h:]
    closure(A)
    B[...] = product(A, B)
    C[...] = product(C, A)
    np.minimum(E, product(C, B), out=E)
    closure(E)
    B[...] = product(B, E)
    C[...] = product(E, C)
    np.minimum(A, product(B, C), out=A)
