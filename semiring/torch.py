"""Dynamic programming on PyTorch tensors: linear chains (CRF, HMM, CTC), associative scans, sequence alignment.

Built on `einsum` and the chain recursion (chains.py), one launch on a GPU. Differentiable where their semirings are;
float16 and bfloat16 give float32.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Any

try:
    import torch
    from torch import Tensor
except ModuleNotFoundError as error:
    way = "PyTorch is required. Install it: `pip install torch`."
    raise ModuleNotFoundError(f"semiring.torch: {way}", name=error.name) from None

from .algebra.catalog import get
from .algebra.records import Semiring
from .host.errors import AlgebraError, DomainError, ShapeError
from .host.spelling import Named
from .host.types import Function
from .tensors.gradients.sequences import checked, ends_of, outside
from .tensors.gradients.tensors import Tensors, chain, traced
from .tensors.sums import einsum
from .tensors.sums import sum as sum_


def associative_scan(A: Tensor, semiring: str | Semiring = "log_plus", *, reverse: bool = False) -> Tensor:
    """A₁, A₁ ⊗ A₂, A₁ ⊗ A₂ ⊗ A₃, …: prefix products of a sequence of matrices, in log₂ T rounds.

    Parameters
    ----------
    A : tensor, shape (…, T, n, n)
    semiring : str or Semiring
    reverse : bool
        Suffix products instead: …, A_{T−1} ⊗ A_T, A_T.

    Returns
    -------
    tensor, shape (…, T, n, n)

    Raises
    ------
    ShapeError, DTypeError, DomainError, DeviceError, MemoryNeeded
        As `semiring.matmul`; ShapeError if matrices are not square.

    See Also
    --------
    log_partition : For a vector along the sequence, with far less work.
    semiring.einsum : Products of different matrices.

    Notes
    -----
    At most 2 T products of n³ pairs, one call a round (Blelloch 1990).

    Examples
    --------
    >>> import torch
    >>> associative_scan(torch.tensor([[[1.0]], [[2.0]], [[3.0]]]), "max_plus").flatten().tolist()
    [1.0, 3.0, 6.0]
    """
    if A.ndim < 3 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(f"associative_scan: A must be (…, T, n, n), got shape {tuple(A.shape)}.")
    s, steps = get(semiring), A.shape[-3]
    A = A.flip(-3) if reverse else A

    def product(X: Tensor, Y: Tensor) -> Tensor:
        X, Y = (Y, X) if reverse else (X, Y)
        return einsum("...tij,...tjk->...tik", X, Y, semiring=s)

    def scan(A: Tensor) -> Tensor:
        if A.shape[-3] < 2:
            return A
        odd = scan(product(A[..., 0:-1:2, :, :], A[..., 1::2, :, :]))
        even = product(odd[..., : (A.shape[-3] - 1) // 2, :, :], A[..., 2::2, :, :])
        even = torch.cat((A[..., :1, :, :].to(even.dtype), even), -3)
        pairs = torch.stack((even[..., : odd.shape[-3], :, :], odd), -3).flatten(-4, -3)
        return torch.cat((pairs, even[..., odd.shape[-3] :, :, :]), -3)

    found = scan(A) if steps > 1 else einsum("...tij->...tij", A, semiring=s)
    return found.flip(-3) if reverse else found


def log_partition(
    unary: Tensor, transitions: Tensor, *, final: Tensor | None = None, lengths: Tensor | None = None
) -> Tensor:
    """log Σ exp(score) over all paths of a linear-chain model: a CRF's partition function, an HMM's likelihood.

    The score of a path is the sum of `unary[b, t, y_t]`, `transitions[y_{t−1}, y_t]`, and `final[y]` at its end.

    Parameters
    ----------
    unary : tensor, shape (B, T, S)
        Emission scores; those of the first step include start scores.
    transitions : tensor, shape (S, S), (B, S, S) or (B, T − 1, S, S)
        From state to state; −inf if forbidden.
    final : tensor, shape (S,) or (B, S), optional
    lengths : integer tensor, shape (B,), optional
        Steps of each sequence, at least 1; T by default.

    Returns
    -------
    tensor, shape (B,)
        −inf where there is no path. Gradients are marginals: by `unary` of states, by `transitions` of pairs.

    Raises
    ------
    ShapeError, DTypeError
        If shapes do not fit, or dtypes differ.

    See Also
    --------
    marginals, viterbi : Gradient by `unary`; the best path.
    hmm_scores : `unary` of a hidden Markov model.

    Notes
    -----
    B T S² pairs, forward and backward. Each step is normalised by its maximum, so float32 keeps its precision over
    thousands of steps. Second derivatives run step by step.

    Examples
    --------
    >>> import torch
    >>> log_partition(torch.zeros(1, 3, 2), torch.zeros(2, 2)).exp().round()
    tensor([8.])
    """
    unary, transitions, last = checked(unary, transitions, final, lengths, "log_partition")
    x, shift = chain(unary, transitions, "log_plus")
    rows = torch.arange(len(x), device=x.device)
    end = x[rows, last] if final is None else _log_plus.times(x[rows, last], final.expand(len(x), -1).to(x.dtype))
    total = _log_plus.total(end, (1,)).double() + shift[rows, last]
    return total.to(x.dtype)


def marginals(
    unary: Tensor, transitions: Tensor, *, final: Tensor | None = None, lengths: Tensor | None = None
) -> Tensor:
    """P(y_t = s): probability of each state at each step of a linear-chain model.

    Parameters
    ----------
    unary, transitions, final, lengths
        As in `log_partition`.

    Returns
    -------
    tensor, shape (B, T, S)
        Rows sum to 1; zeros beyond a sequence's end and where there is no path. Differentiable by `unary` and
        `transitions`.

    Raises
    ------
    ShapeError, DTypeError
        As `log_partition`.

    See Also
    --------
    log_partition : Its gradient is this.

    Notes
    -----
    Cost of `log_partition`, forward and backward.

    Examples
    --------
    >>> import torch
    >>> marginals(torch.zeros(1, 2, 2), torch.zeros(2, 2)).tolist()
    [[[0.5, 0.5], [0.5, 0.5]]]
    """
    unary, transitions, _ = checked(unary, transitions, final, lengths, "marginals")
    graph = torch.is_grad_enabled() and (unary.requires_grad or transitions.requires_grad)
    with torch.enable_grad():
        scores = unary if unary.requires_grad else unary.detach().requires_grad_()
        total = log_partition(scores, transitions, final=final, lengths=lengths)
        (found,) = torch.autograd.grad(total.masked_fill(total == -torch.inf, 0).sum(), scores, create_graph=graph)
    return found


def viterbi(
    unary: Tensor, transitions: Tensor, *, final: Tensor | None = None, lengths: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Best path of a linear-chain model, and its score.

    Parameters
    ----------
    unary, transitions, final, lengths
        As in `log_partition`.

    Returns
    -------
    scores : tensor, shape (B,)
        −inf where there is no path. Differentiable, along the path.
    paths : int64 tensor, shape (B, T)
        States; −1 beyond a sequence's end. Ties go to the lowest last state, and so backwards.

    Raises
    ------
    ShapeError, DTypeError
        As `log_partition`.

    See Also
    --------
    log_partition : Sum over all paths.

    Notes
    -----
    B T S² pairs over (max, +), sums in the order of steps; then B T S for backtracking.

    Examples
    --------
    >>> import torch
    >>> viterbi(torch.tensor([[[0.0, 1.0], [0.5, 0.0]]]), torch.zeros(2, 2))
    (tensor([1.5000]), tensor([[1, 0]]))
    """
    unary, transitions, last = checked(unary, transitions, final, lengths, "viterbi")
    count, steps, _ = unary.shape
    rows = torch.arange(count, device=unary.device)
    with torch.no_grad():
        x, _ = chain(unary, transitions, "max_plus")
        ends = x if final is None else x + final.reshape(-1, 1, x.shape[2]).to(x.dtype)
        paths = traced(transitions, x, last, ends[rows, last].argmax(1), "max_plus")
    operands = unary, transitions, unary if final is None else final
    if not (torch.is_grad_enabled() and any(X.requires_grad for X in operands)):
        return ends[rows, last].amax(1), paths
    states, inside = paths.clamp(min=0), paths >= 0
    along = unary.gather(2, states[..., None])[..., 0]
    M = transitions.expand(count, max(steps - 1, 0), -1, -1) if transitions.ndim < 3 else transitions
    M = M[:, None].expand(-1, max(steps - 1, 0), -1, -1) if M.ndim == 3 else M
    between = M[rows[:, None], torch.arange(max(steps - 1, 0), device=M.device), states[:, :-1], states[:, 1:]]
    scores = torch.where(inside, along, 0).sum(1) + torch.where(inside[:, 1:], between, 0).sum(1)
    if final is not None:
        scores = scores + final.expand(count, -1)[rows, states[rows, last]]
    return scores, paths


def hmm_scores(observations: Tensor, initial: Tensor, emissions: Tensor) -> Tensor:
    """`unary` of a hidden Markov model for `log_partition`, `marginals` and `viterbi`; `transitions` are log P(s′ | s).

    Parameters
    ----------
    observations : integer tensor, shape (B, T)
    initial : tensor, shape (S,)
        log P(y₀ = s).
    emissions : tensor, shape (S, V)
        log P(x | y = s).

    Returns
    -------
    tensor, shape (B, T, S)

    Raises
    ------
    ShapeError, DomainError
        If shapes do not fit; if an observation has no column of `emissions`.

    See Also
    --------
    log_partition : The log-likelihood.

    Notes
    -----
    A gather.

    Examples
    --------
    >>> import torch
    >>> hmm_scores(torch.tensor([[1, 0]]), torch.zeros(2), torch.tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
    [[[2.0, 4.0], [1.0, 3.0]]]
    """
    if observations.ndim != 2 or initial.ndim != 1 or emissions.ndim != 2 or len(initial) != len(emissions):
        came = ", ".join(str(tuple(X.shape)) for X in (observations, initial, emissions))
        raise ShapeError(f"hmm_scores: (B, T), (S,) and (S, V) are required, got {came}.")
    if outside(observations, 0, emissions.shape[1] - 1):
        raise DomainError(
            f"hmm_scores: observations must be integers from 0 to {emissions.shape[1] - 1}, got others. Pad sequences "
            "with any of these, as by observations.clamp(min=0), and pass their lengths on."
        )
    unary = emissions.mT[observations.long()]
    return torch.cat((unary[:, :1] + initial, unary[:, 1:]), 1)


def ctc_scores(log_probs: Tensor, targets: Tensor, target_lengths: Tensor, *, blank: int = 0) -> dict[str, Tensor]:
    """Connectionist temporal classification as a linear chain: `log_partition(**ctc_scores(…))` is −CTC loss.

    States are blank, first label, blank, second label, …, blank (Graves et al. 2006); `viterbi` gives the best
    alignment, in which state 2 k + 1 is label k and even states are blanks.

    Parameters
    ----------
    log_probs : tensor, shape (B, T, C)
        Not in the order (T, B, C) of `torch.nn.CTCLoss`.
    targets : integer tensor, shape (B, L)
        Labels other than the blank; entries beyond a target's length are ignored.
    target_lengths : integer tensor, shape (B,)
    blank : int

    Returns
    -------
    dict
        `unary`, `transitions` and `final` for `log_partition`, `marginals` and `viterbi`; add `lengths` if needed.

    Raises
    ------
    ShapeError, DomainError
        If shapes or lengths do not fit; if a label is the blank, or beyond `log_probs`.

    See Also
    --------
    viterbi : Best alignment.
    torch.nn.functional.ctc_loss : The loss alone.

    Notes
    -----
    A gather; the chain has 2 L + 1 states.

    Examples
    --------
    >>> import torch
    >>> even = torch.full((1, 3, 2), 0.5).log()
    >>> log_partition(**ctc_scores(even, torch.tensor([[1]]), torch.tensor([1]))).exp()  # 6 of 8 sequences
    tensor([0.7500])
    """
    if log_probs.ndim != 3 or targets.ndim != 2 or not len(log_probs) == len(targets) == len(target_lengths):
        came = ", ".join(str(tuple(X.shape)) for X in (log_probs, targets, target_lengths))
        raise ShapeError(f"ctc_scores: (B, T, C), (B, L) and (B,) are required, got {came}.")
    if outside(target_lengths, 0, targets.shape[1]):
        raise ShapeError(f"ctc_scores: target_lengths must lie in 0 … {targets.shape[1]}, got {target_lengths!r}.")
    count, states, target_lengths = len(targets), 2 * targets.shape[1] + 1, target_lengths.long()
    symbols = torch.full((count, states), blank, dtype=torch.int64, device=targets.device)
    symbols[:, 1::2] = targets
    k = torch.arange(states, device=targets.device)
    inside = k <= 2 * target_lengths[:, None]
    symbols = torch.where(inside, symbols, blank)
    classes = log_probs.shape[2]
    labels = torch.where(inside & (k % 2 == 1) & (symbols == blank), -1, symbols)
    if targets.is_floating_point() or outside(labels, 0, classes - 1):
        raise DomainError(
            f"ctc_scores: labels must be integers from 0 to {classes - 1} other than the blank, {blank}, got others."
        )
    unary = log_probs.gather(2, symbols[:, None].expand(-1, log_probs.shape[1], -1))
    none = torch.full((), -torch.inf, dtype=unary.dtype, device=unary.device)
    unary = torch.cat((torch.where(k < 2, unary[:, :1], none), unary[:, 1:]), 1)
    step = k[None, :] - k[:, None]
    other = (symbols[:, None, :] != blank) & (symbols[:, None, :] != symbols[:, :, None])
    allowed = (step == 0) | (step == 1) | ((step == 2) & other)
    ends = inside & (k >= 2 * target_lengths[:, None] - 1)
    return {"unary": unary, "transitions": none.where(~allowed, 0), "final": none.where(~ends, 0)}


def dtw(
    costs: Tensor, *, lengths: tuple[Tensor, Tensor] | None = None, semiring: str | Semiring = "min_plus"
) -> Tensor:
    """Dynamic time warping: least sum of costs along a path from (0, 0) to (m − 1, n − 1) by steps →, ↓ and ↘.

    Parameters
    ----------
    costs : tensor, shape (B, m, n)
        Cost of matching step i of one sequence to step j of the other; inf if forbidden.
    lengths : pair of integer tensors, shape (B,), optional
        Lengths of the sequences, at least 1.
    semiring : str or Semiring
        (min, +); "log_plus" with −costs / temperature is soft DTW (Cuturi and Blondel 2017), "min_max" the discrete
        Fréchet distance.

    Returns
    -------
    tensor, shape (B,)

    Raises
    ------
    ShapeError, AlgebraError
        If costs are not 3-D, m or n is 0, or lengths are beyond these; if costs require gradients and the semiring has
        no derivatives.

    See Also
    --------
    edit_distance : Gaps of cost 1.

    Notes
    -----
    m + n steps, one antidiagonal each.

    Examples
    --------
    >>> import torch
    >>> x, y = torch.tensor([[1.0, 2, 3]]), torch.tensor([[1.0, 1, 2, 3]])
    >>> dtw((x[:, :, None] - y[:, None]).abs())
    tensor([0.])
    """
    if costs.ndim != 3 or not costs.shape[1] or not costs.shape[2]:
        raise ShapeError(f"dtw: costs must be (B, m, n), m and n at least 1, got shape {tuple(costs.shape)}.")
    least = torch.float32 if costs.is_floating_point() else torch.float64
    s, costs = get(semiring), costs.to(torch.promote_types(costs.dtype, least))
    ends = ends_of(lengths, costs, 1, "dtw")
    inner = torch.nn.functional.pad(costs, (1, 0, 1, 0), value=s.zero)
    with Named("dtw", "einsum"):
        return _wavefront(inner, inner, inner, ends, s)


def edit_distance(
    a: Tensor, b: Tensor, *, lengths: tuple[Tensor, Tensor] | None = None, substitution: float = 1.0
) -> Tensor:
    """Levenshtein distance of each pair of sequences: insertions, deletions and substitutions.

    Parameters
    ----------
    a : integer tensor, shape (B, m)
    b : integer tensor, shape (B, n)
    lengths : pair of integer tensors, shape (B,), optional
    substitution : float
        Cost of a substitution; from 2 on they never pay.

    Returns
    -------
    float32 tensor, shape (B,)

    Raises
    ------
    ShapeError
        If shapes do not fit.

    See Also
    --------
    dtw : Costs by pair.

    Notes
    -----
    m + n steps, one antidiagonal each (Wagner and Fischer 1974).

    Examples
    --------
    >>> import torch
    >>> words = [torch.tensor([list(w)]) for w in (b"kitten", b"sitting")]
    >>> edit_distance(*words)
    tensor([3.])
    """
    if a.ndim != 2 or b.ndim != 2 or len(a) != len(b):
        raise ShapeError(f"edit_distance: (B, m) and (B, n) are required, got {tuple(a.shape)} and {tuple(b.shape)}.")
    costs = torch.where(a[:, :, None] != b[:, None], float(substitution), 0.0)
    ends = ends_of(lengths, costs, 0, "edit_distance")
    differ = torch.nn.functional.pad(costs, (1, 0, 1, 0), value=torch.inf)
    gap = torch.ones_like(differ)
    return _wavefront(differ, gap, gap, ends, get("min_plus"))


def _wavefront(both: Tensor, down: Tensor, right: Tensor, ends: Any, s: Semiring) -> Tensor:
    """D at `ends` by antidiagonals: D[0, 0] = 1, D[i, j] = ⊕ over the predecessors (i−1, j−1), (i−1, j), (i, j−1).

    both, down, right (B, m + 1, n + 1): factor of each of these steps into (i, j).
    """
    times: Function = partial(einsum, "bi,bi->bi", semiring=s)
    total: Function = partial(sum_, semiring=s, axis=0)
    with suppress(AlgebraError):  # no derivatives
        library = Tensors(s, "one", None)
        times, total = library.times, partial(library.total, axes=(0,))
    count, m, n = both.shape
    i = torch.arange(m, device=both.device)
    empty = both.new_full((count, m), s.zero)
    last = empty.clone()
    last[:, 0] = s.one
    diagonals, before = [last], empty
    for d in range(1, m + n - 1):
        inside = (i <= d) & (d - i < n)
        b, v, h = (X[:, i, (d - i).clamp(0, n - 1)] for X in (both, down, right))
        above = torch.cat((empty[:, :1], last[:, :-1]), 1)
        corner = torch.cat((empty[:, :1], before[:, :-1]), 1)
        terms = [times(*pair) for pair in ((corner, b), (above, v), (last, h))]
        before, last = last, torch.where(inside, total(torch.stack(terms)), s.zero)
        diagonals.append(last)
    at, rows = ends[0] + ends[1], torch.arange(count, device=both.device)
    return torch.stack(diagonals, 1)[rows, at, ends[0]]


_log_plus = Tensors(get("log_plus"), "one", None)

__all__ = [
    "associative_scan", "ctc_scores", "dtw", "edit_distance", "hmm_scores", "log_partition", "marginals", "viterbi",
]  # fmt: skip
