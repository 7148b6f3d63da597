"""Products of numbers on packed panels, closures of pivot blocks, and the verbs made of them."""
