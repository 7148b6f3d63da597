"""Convergence of I ⊕ A ⊕ A² ⊕ …: cycles for an idempotent ⊕, limits of other sums, rounding."""
