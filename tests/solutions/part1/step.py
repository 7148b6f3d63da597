import numpy as np


def step(D, k):
    np.minimum(D, D[:, k, None] + D[None, k, :], out=D)
