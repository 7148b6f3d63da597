"""Does I ⊕ A ⊕ A² ⊕ … converge? Cycles where ⊕ is idempotent, limits of other sums, what rounding left of either."""
