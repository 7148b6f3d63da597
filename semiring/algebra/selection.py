"""Requirements of predecessors: a ⊕ that selects one of its operands, and a valid closure."""

from __future__ import annotations

from ..host.errors import AlgebraError, DomainError
from .records import Semiring


def require_selection(semiring: Semiring, *, where: str) -> None:
    """AlgebraError for a semiring whose sums belong to no single path."""
    if semiring.add.selects is None:
        raise AlgebraError(
            f"{where}: ⊕ must select one of its operands, as min and max do, got {semiring.add.name} of "
            f"{semiring.name}, whose sums run over many paths. An Op of your own that does select says so: "
            'selects="least" or "greatest".'
        )


def refuse(pair: tuple[int, int] | None, semiring: Semiring) -> None:
    """DomainError for a pair whose entry no edge attains: D is not the closure of A."""
    if pair is not None:
        i, j = pair
        raise DomainError(
            f"predecessors: D must be the closure of A over {semiring.name}, got an entry at ({i}, {j}) that no edge "
            "attains. Compute it from this very matrix, as apsp.closure does."
        )
