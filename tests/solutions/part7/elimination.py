import numpy as np


def lu(A):
    U, n = A.astype(float), len(A)
    L = np.eye(n)
    for k in range(n):
        L[k + 1 :, k] = U[k + 1 :, k] / U[k, k]
        U[k + 1 :] -= L[k + 1 :, k, None] * U[k]
        U[k + 1 :, k] = 0
    return L, U
