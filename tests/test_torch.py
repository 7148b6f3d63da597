"""`semiring.torch`: linear chains, scans and alignments against plain scans of PyTorch in float64, and loops."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch.autograd import gradcheck, gradgradcheck  # noqa: E402 (skipped above where it is missing)

import semiring  # noqa: E402 (torch is skipped above where it is missing)
from semiring import AlgebraError, DomainError, DTypeError, ShapeError  # noqa: E402 (torch is skipped above where it is missing)
from semiring import torch as chains  # noqa: E402 (torch is skipped above where it is missing)
from semiring.tensors.gradients.tensors import chain, step_by_step  # noqa: E402 (torch is skipped above where it is missing)

INF = math.inf


def scores(count, steps, states, *, kind="one", seed=0, dtype=torch.float64, missing=0.0):
    g = torch.Generator().manual_seed(seed)
    shape = {"one": (), "each": (count,), "steps": (count, steps - 1)}[kind]
    unary = torch.randn(count, steps, states, generator=g, dtype=torch.float64)
    M = torch.randn(*shape, states, states, generator=g, dtype=torch.float64)
    M = M.masked_fill(torch.rand(M.shape, generator=g) < missing, -INF)
    return unary.to(dtype), M.to(dtype)


def plain(unary, M, reduce, lengths=None):
    """Step by step, as PyTorch users write it: the vectors of all steps; those beyond an end stay as they were."""
    rows = [unary[:, 0]]
    for t in range(1, unary.shape[1]):
        step = M[:, t - 1] if M.ndim == 4 else M
        new = reduce(rows[-1][:, :, None] + step, 1) + unary[:, t]
        rows.append(new if lengths is None else torch.where((t < lengths)[:, None], new, rows[-1]))
    return torch.stack(rows, 1)


@pytest.mark.parametrize("kind", ["one", "each", "steps"])
def test_log_partition_and_marginals_are_a_plain_scan(kind):
    unary, M = (X.requires_grad_() for X in scores(3, 9, 5, kind=kind))
    final, lengths = torch.randn(5, dtype=torch.float64), torch.tensor([9, 1, 4])
    for ends, until in ((None, None), (final, lengths)):
        wanted = plain(unary, M, torch.logsumexp, until)[:, -1]
        wanted = torch.logsumexp(wanted if ends is None else wanted + ends, 1)
        found = chains.log_partition(unary, M, final=ends, lengths=until)
        torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
        weights = torch.tensor([1.0, -2, 0.5], dtype=torch.float64)  # of either sign
        for X, Y in zip(*(torch.autograd.grad((Z * weights).sum(), (unary, M)) for Z in (found, wanted)), strict=True):
            torch.testing.assert_close(X, Y, rtol=1e-10, atol=1e-12)
        P = chains.marginals(unary.detach(), M.detach(), final=ends, lengths=until)
        torch.testing.assert_close(P, torch.autograd.grad(wanted_sum(unary, M, ends, until), unary)[0])
        assert not P.requires_grad


def wanted_sum(unary, M, final, lengths):
    end = plain(unary, M, torch.logsumexp, lengths)[:, -1]
    return torch.logsumexp(end if final is None else end + final, 1).sum()


@pytest.mark.parametrize("kind", ["one", "each", "steps"])
def test_derivatives_and_those_of_derivatives(kind):
    operands = [X.requires_grad_() for X in scores(2, 4, 3, kind=kind)]
    assert gradcheck(chains.log_partition, operands)
    assert gradgradcheck(chains.log_partition, operands, fast_mode=True)
    assert gradcheck(lambda unary: chains.log_partition(unary, operands[1].detach()), operands[:1])
    assert gradcheck(lambda unary, M: chains.marginals(unary, M)[:, 1], operands)
    assert gradcheck(lambda unary, M: chains.viterbi(unary, M)[0], operands)


def test_float32_loses_nothing_over_many_steps():
    unary, M = scores(2, 2000, 4)
    exact = plain(unary, M, torch.logsumexp)[:, -1].logsumexp(1)
    torch.testing.assert_close(chains.log_partition(unary.float(), M.float()).double(), exact, rtol=1e-6, atol=0)
    P = chains.marginals(unary.float(), M.float())
    torch.testing.assert_close(P.double(), chains.marginals(unary, M), rtol=0, atol=1e-5)
    torch.testing.assert_close(P.sum(2), torch.ones(2, 2000), rtol=0, atol=1e-5)
    half = chains.log_partition(unary[:, :5].bfloat16(), M.bfloat16())
    assert half.dtype == torch.float32


def test_where_there_is_no_path_nothing_is_nan():
    unary, M = scores(2, 4, 3, missing=0.5, seed=1)
    M[:, 0], unary[1, 2] = -INF, -INF
    for X in (unary, M):
        X.requires_grad_()
    Z = chains.log_partition(unary, M)
    assert Z[1] == -INF
    grads = torch.autograd.grad(Z[:1].sum(), (unary, M))
    assert all(bool(torch.isfinite(g).all()) for g in grads)
    assert not grads[1][M == -INF].any()
    P = chains.marginals(unary.detach(), M.detach())
    assert not P[1].any()
    assert chains.viterbi(unary.detach(), M.detach())[0][1] == -INF
    torch.testing.assert_close(P[0].sum(1), torch.ones(4, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["one", "each", "steps"])
def test_viterbi_is_the_best_of_all_paths(kind):
    unary, M = scores(3, 5, 3, kind=kind, seed=4)
    lengths, final = torch.tensor([5, 2, 1]), torch.randn(3, 3, dtype=torch.float64)
    best, paths = chains.viterbi(unary, M, final=final, lengths=lengths)
    for b, length in enumerate(lengths.tolist()):
        step = [M if M.ndim == 2 else M[b] if M.ndim == 3 else M[b, t] for t in range(4)]
        every = {
            p: (
                unary[b, range(length), p].sum()
                + sum(step[t][p[t], p[t + 1]] for t in range(length - 1))
                + final[b, p[-1]]
            ).item()
            for p in itertools.product(range(3), repeat=length)
        }
        path = tuple(paths[b, :length].tolist())
        assert path == max(every, key=every.get)
        assert best[b].item() == pytest.approx(every[path], rel=1e-12)
        assert (paths[b, length:] == -1).all()
    whole, _ = chains.viterbi(unary.float(), M.float())
    assert torch.equal(whole, plain(unary.float(), M.float(), torch.amax)[:, -1].amax(1))  # bit for bit


@pytest.mark.parametrize("name", ["log_plus", "max_plus", "plus_times"])
def test_scans_of_products_are_those_one_after_the_other(name):
    for steps in (0, 1, 2, 3, 6, 7):
        A = torch.rand(2, steps, 3, 3, dtype=torch.float64)
        for reverse in (False, True):
            found = chains.associative_scan(A, name, reverse=reverse)
            assert found.shape == A.shape
            for b, t in itertools.product(range(2), range(steps)):
                part = A[b, t:] if reverse else A[b, : t + 1]
                wanted = part[0]
                for X in part[1:]:
                    wanted = semiring.matmul(wanted, X, name)
                torch.testing.assert_close(found[b, t], wanted)
    A.requires_grad_()
    assert gradcheck(lambda A: chains.associative_scan(A[:1, :3], name)[:, -1], [A])
    with pytest.raises(ShapeError, match=r"A must be \(…, T, n, n\)"):
        chains.associative_scan(torch.ones(2, 2))


def test_a_scan_of_products_is_the_same_as_a_chain():
    unary, M = scores(2, 6, 3)
    products = chains.associative_scan(M + unary[:, 1:, None], "log_plus")[:, -1]
    total = semiring.einsum("bi,bij->b", unary[:, 0], products, semiring="log_plus")
    before = unary.clone(), M.clone()
    torch.testing.assert_close(chains.log_partition(unary, M), total)
    assert torch.equal(unary, before[0])  # not written to
    assert torch.equal(M, before[1])


def test_hidden_markov_models_are_sums_over_all_paths():
    g = torch.Generator().manual_seed(0)
    start, M, emit = (torch.rand(*s, generator=g).double().log_softmax(-1) for s in ((3,), (3, 3), (3, 4)))
    seen = torch.tensor([[0, 3, 1, 1]])
    unary = chains.hmm_scores(seen, start, emit)
    total = sum(
        math.exp(
            start[p[0]]
            + sum(emit[s, x] for s, x in zip(p, seen[0], strict=True))
            + sum(M[a, b] for a, b in itertools.pairwise(p))
        )
        for p in itertools.product(range(3), repeat=4)
    )
    assert chains.log_partition(unary, M).exp().item() == pytest.approx(total, rel=1e-10)
    with pytest.raises(ShapeError, match=r"hmm_scores: \(B, T\), \(S,\) and \(S, V\)"):
        chains.hmm_scores(seen, start, emit[:2])


def test_ctc_is_pytorchs_and_its_alignment_spells_the_target():
    g = torch.Generator().manual_seed(1)
    logits = torch.randn(4, 8, 5, generator=g, dtype=torch.float64).requires_grad_()
    targets = torch.tensor([[1, 2, 3], [2, 2, 9], [4, 9, 9], [9, 9, 9]]).clamp(max=4)
    sizes, steps = torch.tensor([3, 2, 1, 0]), torch.tensor([8, 5, 8, 3])
    log_probs = logits.log_softmax(2)
    model = chains.ctc_scores(log_probs, targets, sizes)
    found = -chains.log_partition(**model, lengths=steps)
    wanted = torch.nn.functional.ctc_loss(log_probs.transpose(0, 1), targets, steps, sizes, reduction="none")
    torch.testing.assert_close(found, wanted)
    for X, Y in zip(*(torch.autograd.grad(Z.sum(), logits, retain_graph=True) for Z in (found, wanted)), strict=True):
        torch.testing.assert_close(X, Y)
    _, states = chains.viterbi(**{k: X.detach() for k, X in model.items()}, lengths=steps)
    for b, (size, length) in enumerate(zip(sizes.tolist(), steps.tolist(), strict=True)):
        heard = [int(k) // 2 for k, _ in itertools.groupby(states[b, :length].tolist()) if k % 2]
        assert heard == list(range(size))
    with pytest.raises(ShapeError, match="ctc_scores"):
        chains.ctc_scores(log_probs, targets[:2], sizes)


def loops(both, down, right, one, zero, reduce):
    """D of one pair of sequences, cell by cell."""
    m, n = both.shape
    D = np.full((m, n), zero)
    D[0, 0] = one
    for i, j in itertools.product(range(m), range(n)):
        came = [D[i, j]] * (i == j == 0)
        came += [D[i - 1, j - 1] + both[i, j]] * (i > 0 and j > 0) + [D[i - 1, j] + down[i, j]] * (i > 0)
        D[i, j] = reduce(came + [D[i, j - 1] + right[i, j]] * (j > 0))
    return D


def test_edit_distances_and_warping_agree_with_loops():
    g = torch.Generator().manual_seed(2)
    a, b = torch.randint(0, 3, (4, 6), generator=g), torch.randint(0, 3, (4, 5), generator=g)
    ends = torch.tensor([6, 3, 0, 1]), torch.tensor([5, 5, 2, 0])
    found = chains.edit_distance(a, b, lengths=ends)
    for k in range(4):
        differ = np.pad((a[k][:, None] != b[k]).numpy() * 1.0, ((1, 0), (1, 0)))
        gap = np.ones_like(differ)
        assert found[k] == loops(differ, gap, gap, 0, INF, min)[int(ends[0][k]), int(ends[1][k])]
    costs = torch.rand(3, 5, 4, generator=g, dtype=torch.float64).requires_grad_()
    ends = torch.tensor([5, 2, 1]), torch.tensor([4, 4, 3])
    logsum = np.logaddexp.reduce
    for name, zero, reduce in (("min_plus", INF, min), ("log_plus", -INF, logsum)):
        for until in (None, ends):
            found = chains.dtw(costs, lengths=until, semiring=name)
            for k in range(3):
                c = np.pad(costs[k].detach().numpy(), ((1, 0), (1, 0)), constant_values=zero)
                D = loops(c, c, c, 0, zero, reduce)
                at = (5, 4) if until is None else (int(ends[0][k]), int(ends[1][k]))
                assert found[k].item() == pytest.approx(D[at], rel=1e-12)
        assert gradcheck(lambda c, name=name: chains.dtw(c, lengths=ends, semiring=name), [costs])
    frechet = chains.dtw(costs.detach(), lengths=ends, semiring="min_max")  # the discrete Fréchet distance
    for k in range(3):
        D = costs[k].detach().numpy().copy()
        for i, j in np.ndindex(D.shape):
            came = [D[x, y] for x, y in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if min(x, y) >= 0]
            D[i, j] = max(D[i, j], min(came, default=0))
        assert frechet[k] == D[int(ends[0][k]) - 1, int(ends[1][k]) - 1]
    with pytest.raises(AlgebraError, match=r"^dtw: derivatives are defined .* min_max. Pass A.detach\(\)"):
        chains.dtw(costs, semiring="min_max")
    with pytest.raises(ShapeError, match="dtw: costs must be"):
        chains.dtw(torch.ones(2, 0, 3))


def test_chains_over_other_semirings_have_gradients_step_by_step():
    unary, M = (X.requires_grad_() for X in scores(2, 5, 3))
    x, shift = chain(unary, M, "max_plus")
    assert not shift.any()
    again = step_by_step(unary, M, "max_plus")
    torch.testing.assert_close(x, again)
    for X, Y in zip(*(torch.autograd.grad(Z[:, -1].sum(), (unary, M)) for Z in (x, again)), strict=True):
        torch.testing.assert_close(X, Y)
    with pytest.raises(semiring.AlgebraError, match="⊗ must add numbers"):
        chain(unary.detach(), M.detach(), "plus_times")


def test_compiled_is_the_same():
    torch._dynamo.reset()
    unary, M = (X.requires_grad_() for X in scores(2, 5, 3))
    compiled = torch.compile(chains.log_partition, fullgraph=True, backend="aot_eager")
    grads = (torch.autograd.grad(call(unary, M).sum(), (unary, M)) for call in (compiled, chains.log_partition))
    for X, Y in zip(*grads, strict=True):
        torch.testing.assert_close(X, Y)


def test_what_is_refused():
    unary, M = scores(2, 5, 3)
    for wrong in ((unary[0], M), (unary, M[:2]), (unary[:, :0], M), (unary, M[None, None].expand(2, 5, 3, 3))):
        with pytest.raises(ShapeError, match="log_partition: unary"):
            chains.log_partition(*wrong)
    with pytest.raises(DTypeError, match="floats of one dtype"):
        chains.viterbi(unary, M.float())
    wrong = unary.clone()
    wrong[1, 2, 0] = torch.nan
    with pytest.raises(DomainError, match=r"chain: .*got nan at \(1, 2, 0\)"):
        chains.log_partition(wrong, M)
    for lengths in (torch.tensor([5]), torch.tensor([0, 5]), torch.tensor([5, 6])):
        with pytest.raises(ShapeError, match="lengths must be 2 integers from 1 to 5"):
            chains.marginals(unary, M, lengths=lengths)


def test_lengths_and_labels_beyond_what_is_there_are_refused():
    costs, words = torch.rand(2, 3, 2), (torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 2, dtype=torch.int64))
    for ends in (([0, 3], [2, 2]), ([4, 1], [1, 1]), ([1, 1], [4, 1]), ([1], [1]), ([1.0, 2.0], [1, 1]), ([3, 3],)):
        with pytest.raises(ShapeError, match=r"dtw: lengths must be two of 2 integers from 1 to \[3, 2\]"):
            chains.dtw(costs, lengths=tuple(map(torch.tensor, ends)))
    with pytest.raises(ShapeError, match="edit_distance: lengths must be two of 2 integers from 0"):
        chains.edit_distance(*words, lengths=(torch.tensor([-1, 3]), torch.tensor([2, 2])))
    probabilities, lengths = torch.rand(2, 5, 4).log_softmax(-1), torch.tensor([2, 2])
    for several in (torch.tensor([3, 2]), torch.tensor([-1, 2])):
        with pytest.raises(ShapeError, match="target_lengths must lie in 0 … 2"):
            chains.ctc_scores(probabilities, words[1], several)
    for label in (0, 4, -1):
        targets = torch.tensor([[1, label], [3, 3]])
        with pytest.raises(DomainError, match="labels must be integers from 0 to 3 other than the blank, 0"):
            chains.ctc_scores(probabilities, targets, lengths)
        chains.ctc_scores(probabilities, targets, torch.tensor([1, 2]))  # beyond the target it is ignored
    with pytest.raises(DomainError, match="labels must be integers"):
        chains.ctc_scores(probabilities, torch.tensor([[1.5, 2], [3, 3]]), lengths)
    emissions = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    for symbols in ([[-1, 0]], [[2, 0]], [[1.0, 0.0]], [[True, False]]):
        with pytest.raises(DomainError, match=r"integers from 0 to 1.*observations.clamp\(min=0\)"):
            chains.hmm_scores(torch.tensor(symbols), torch.zeros(2), emissions)


def test_what_comes_otherwise_is_taken_or_refused():
    unary, M = scores(2, 4, 3)
    final = torch.zeros(3, dtype=unary.dtype, requires_grad=True)
    total, paths = chains.viterbi(unary, M, final=final)
    total.sum().backward()
    assert final.grad.tolist() == torch.bincount(paths[:, -1], minlength=3).tolist()
    for wrong in (torch.zeros(3, 1), torch.zeros(4, 3), torch.tensor(0.0)):
        for call in (chains.viterbi, chains.log_partition, chains.marginals):
            with pytest.raises(ShapeError, match=r"final must be \(S,\) or \(B, S\), \(2, 3\), got"):
                call(unary, M, final=wrong)
    for call in (chains.viterbi, chains.marginals):
        with pytest.raises(DTypeError, match="tensors are required, got ndarray"):
            call(unary.numpy(), M.numpy())
        with pytest.raises(DTypeError, match="scores must be floats"):
            call(unary.long(), M.long())
    assert chains.log_partition(unary, M, lengths=[4, 2]).equal(
        chains.log_partition(unary, M, lengths=torch.tensor([4, 2]))
    )
    for wrong in (torch.tensor([4.0, 2.0]), torch.tensor([True, True])):
        with pytest.raises(ShapeError, match="lengths must be 2 integers"):
            chains.log_partition(unary, M, lengths=wrong)
    words = torch.tensor([[1, 2, 3]]), torch.tensor([[1, 5, 3]])
    assert [chains.edit_distance(*words, substitution=k).item() for k in (1, 2, 0.5, INF)] == [1, 2, 0.5, 2]
    assert chains.dtw(torch.ones(1, 2, 2, dtype=torch.int64)).item() == 2
    one = chains.associative_scan(torch.tensor([[[2.0]]]).half(), "min_plus")
    assert (one.dtype, one.tolist()) == (torch.float32, [[[2.0]]])
    with pytest.raises(DomainError, match="got nan"):
        chains.associative_scan(torch.tensor([[[torch.nan]]]), "min_plus")


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_lengths_and_symbols_of_any_integers_are_those_numbers(dtype):
    """As indices uint8 would be a mask, and sums of narrow integers wrap."""
    unary, M = scores(4, 4, 3)  # as many sequences as steps, so that a mask would fit
    lengths = torch.tensor([2, 2, 3, 2])
    for call in (chains.log_partition, chains.marginals, lambda *args, **more: chains.viterbi(*args, **more)[1]):
        torch.testing.assert_close(call(unary, M, lengths=lengths.to(dtype)), call(unary, M, lengths=lengths))
    g = torch.Generator().manual_seed(5)
    costs, ends = torch.rand(1, 300, 300, generator=g), (torch.tensor([100]), torch.tensor([110]))
    narrow = tuple(x.to(dtype) for x in ends)
    assert chains.dtw(costs, lengths=narrow) == chains.dtw(costs, lengths=ends)
    words = torch.randint(0, 3, (1, 300), generator=g), torch.randint(0, 3, (1, 300), generator=g)
    assert chains.edit_distance(*words, lengths=narrow) == chains.edit_distance(*words, lengths=ends)
    symbols, emissions = torch.tensor([[1, 0, 1], [0, 0, 1]]), torch.rand(2, 2, generator=g)
    found = chains.hmm_scores(symbols.to(dtype), torch.zeros(2), emissions)
    assert found.equal(chains.hmm_scores(symbols, torch.zeros(2), emissions))
    targets, probabilities = torch.arange(2, 72)[None], torch.rand(1, 99, 72, generator=g).log_softmax(-1)
    narrow, wide = (
        chains.log_partition(**chains.ctc_scores(probabilities, targets.to(x), torch.tensor([70], dtype=x)))
        for x in (dtype, torch.int64)
    )
    assert narrow == wide > -INF


def test_half_precision_is_computed_in_float32():
    unary, M = scores(2, 30, 3, dtype=torch.float16)
    for call in (chains.log_partition, chains.marginals, lambda *args: chains.viterbi(*args)[0]):
        for given in (unary, unary.clone().requires_grad_()):
            found = call(given, M)
            assert found.dtype == torch.float32
            torch.testing.assert_close(found, call(unary.float(), M.float()))
    costs = torch.rand(1, 50, 50).bfloat16()
    assert chains.dtw(costs).dtype == torch.float32
    assert chains.dtw(costs) == chains.dtw(costs.float())


def test_learned_costs(monkeypatch, capsys):
    """The example, with fewer streets: guesses come nearer to what is hidden."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "examples")
    import learned_costs

    monkeypatch.setattr("sys.argv", ["learned_costs.py", "--side", "4", "--trips", "400", "--steps", "100"])
    learned_costs.main()
    first, last = (float(line.split("streets")[1]) for line in capsys.readouterr().out.splitlines())
    assert last < 0.8 * first
