"""How much faster are einsum, chains and hops of molecules than PyTorch's broadcasts, plain scans, and SciPy's loop?

    python benchmarks/tensors.py                # on the CPU, and on the GPU if there is one
    python benchmarks/tensors.py --quick        # a sixteenth of the work
    python benchmarks/tensors.py --device cuda  # there alone

What is timed is compared first: einsum with PyTorch's broadcast and reduction in blocks, and with torch-semiring-einsum
where it is installed; chains with a scan in PyTorch, in float64 too; hops with SciPy's shortest_path of each molecule.
Times are of calls, by the clock, until the device is done; the best of several runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from common import arguments, begin, best
from scipy.sparse.csgraph import shortest_path

# isort: split
import apsp
from semiring import einsum

torch: Any
try:
    import torch
except ImportError:  # `--help` is shown without it
    torch = None

#: Of one H200: how many times faster than torch-semiring-einsum, or than a plain scan.
BARS = {"log_plus": 20, "min_plus": 30, "backward": 10, "chain": 5}


def seconds(work: Callable[[], object], device: str) -> float:
    """Of a call, until the device is done."""

    def run() -> None:
        work()
        if device == "cuda":
            torch.cuda.synchronize()

    run()
    return best(run, 2, seconds=0.5)


def row(device: str, what: str, ours: float, others: dict[str, float], bar: float | None = None) -> None:
    ratios = "; ".join(f"{name} {t * 1e3:.2f} ms, {t / ours:.1f} ×" for name, t in others.items())
    print(f"| {device} | {what} | {ours * 1e3:.2f} | {ratios}{f', bar {bar}' if bar and device == 'cuda' else ''} |")


def by_blocks(reduce: Callable[..., Any], X: Any, Y: Any, block: int) -> Any:
    """The products by a broadcast and a reduction, in batches."""
    parts = [reduce(X[i : i + block, :, :, None] + Y[i : i + block, None], 2) for i in range(0, len(X), block)]
    return torch.cat(parts)


def theirs() -> Any:
    """torch-semiring-einsum's batch of products over (logaddexp, +), if it is installed."""
    try:
        import torch_semiring_einsum
    except ImportError:
        return None
    equation = torch_semiring_einsum.compile_equation("bij,bjk->bik")
    return lambda X, Y: torch_semiring_einsum.log_einsum(equation, X, Y)


def products(device: str, quick: bool) -> None:
    """einsum, forwards and backwards."""
    count, n = (4, 128) if quick or device == "cpu" else (64, 512)
    X, Y = (torch.randn(count, n, n, generator=torch.Generator().manual_seed(k)).to(device) for k in (0, 1))
    for name, reduce in (("min_plus", torch.amin), ("log_plus", torch.logsumexp)):

        def ours(X: Any = X, Y: Any = Y, name: str = name) -> Any:
            return einsum("bij,bjk->bik", X, Y, semiring=name)

        wanted = by_blocks(reduce, X, Y, 4)
        torch.testing.assert_close(ours(), wanted, rtol=1e-5, atol=1e-5)
        others = {"broadcast": seconds(lambda reduce=reduce: by_blocks(reduce, X, Y, 4), device)}
        if name == "log_plus" and (them := theirs()):
            others["torch-semiring-einsum"] = seconds(lambda them=them: them(X, Y), device)
        row(device, f"einsum {name}, ({count}, {n}, {n})", seconds(ours, device), others, BARS[name])
    count, n = (4, 64) if quick or device == "cpu" else (256, 256)
    A, B = (torch.randn(count, n, n, device=device, requires_grad=True) for _ in range(2))

    def gradients(call: Callable[..., Any]) -> Any:
        return torch.autograd.grad(call(A, B).sum(), (A, B))

    def contraction(A: Any, B: Any) -> Any:
        return einsum("bij,bjk->bik", A, B, semiring="log_plus")

    def broadcast(A: Any, B: Any) -> Any:
        return by_blocks(torch.logsumexp, A, B, 16)

    for g, h in zip(gradients(contraction), gradients(broadcast), strict=True):
        torch.testing.assert_close(g, h, rtol=1e-3, atol=1e-4)
    others = {"broadcast": seconds(lambda: gradients(broadcast), device)}
    if them := theirs():
        others["torch-semiring-einsum"] = seconds(lambda: gradients(them), device)
    what = f"forwards and backwards, log_plus, ({count}, {n}, {n})"
    row(device, what, seconds(lambda: gradients(contraction), device), others, BARS["backward"])


def scan(unary: Any, transitions: Any, reduce: Callable[..., Any]) -> Any:
    """A chain's last vector, step by step."""
    x = unary[:, 0]
    for t in range(1, unary.shape[1]):
        x = reduce(x[:, :, None] + transitions, 1) + unary[:, t]
    return x


def linear_chains(device: str, quick: bool) -> None:
    """A CRF's partition function and marginals, and its best path."""
    from semiring import torch as chains

    count, steps, states = (16, 128, 64) if quick or device == "cpu" else (256, 1024, 64)
    unary = torch.randn(count, steps, states, device=device, requires_grad=True)
    M = torch.randn(states, states, device=device, requires_grad=True)

    def ours(unary: Any = unary, M: Any = M) -> Any:
        Z = chains.log_partition(unary, M)
        return Z, *torch.autograd.grad(Z.sum(), (unary, M))

    def plain(unary: Any = unary, M: Any = M) -> Any:
        Z = scan(unary, M, torch.logsumexp).logsumexp(1)
        return Z, *torch.autograd.grad(Z.sum(), (unary, M))

    exact = plain(*(X.detach().double().requires_grad_() for X in (unary, M)))
    for x, y, tolerance in zip(ours(), exact, ({"rtol": 1e-5}, {"atol": 1e-5}, {"rtol": 1e-4}), strict=True):
        torch.testing.assert_close(x.double(), y, **{"rtol": 0, "atol": 0, **tolerance})
    best_scores, _ = chains.viterbi(unary.detach(), M.detach())
    assert torch.equal(best_scores, scan(unary.detach(), M.detach(), torch.amax).amax(1)), "scores are not a scan's"
    what = f"chain, partition and marginals, {count} × {steps} × {states}"
    row(device, what, seconds(ours, device), {"scan": seconds(plain, device)}, BARS["chain"])
    with torch.no_grad():
        others = {"scan, forwards alone": seconds(lambda: scan(unary, M, torch.amax), device)}
        row(device, "chain, best path", seconds(lambda: chains.viterbi(unary, M), device), others)


def molecules(count: int, n: int = 32) -> np.ndarray:
    """Trees with a ring each."""
    rng, A, b = np.random.default_rng(0), np.zeros((count, n, n), bool), np.arange(count)
    for i in range(1, n):
        parent = rng.integers(max(0, i - 4), i, count)
        A[b, parent, i] = A[b, i, parent] = True
    i, j = rng.integers(0, n, (2, count))
    A[b, i, j] = A[b, j, i] = i != j
    return A


def hops(device: str, quick: bool) -> None:
    """Of a padded array, and of a list."""
    A = molecules(625 if quick else 10_000)
    first = A[:500]
    wanted = np.array([shortest_path(a, unweighted=True) for a in first]).astype(np.int16)
    loop = seconds(lambda: [shortest_path(a, unweighted=True) for a in first], "cpu") * len(A) / len(first)
    indices: list[Any] = [np.array(np.nonzero(a)) for a in A]
    padded: Any = A
    if torch is not None:
        padded, indices = torch.from_numpy(A).to(device), [torch.from_numpy(x).to(device) for x in indices]
    for name, graphs in (("padded", padded), ("list", indices)):
        found = apsp.hops(graphs)
        assert (np.asarray(found[:500].cpu() if torch is not None else found[:500]) == wanted).all(), (
            "hops are not SciPy's"
        )
        others = {"SciPy one by one, on a core": loop}
        row(device, f"hops of {len(A):,} molecules, {name}", seconds(lambda g=graphs: apsp.hops(g), device), others)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], help="by default both, where there are both")
    args = begin(parser)
    on_gpu = torch is not None and torch.cuda.is_available()
    print("| device | of | ms | others |\n|---|---|---|---|")
    for device in [args.device] if args.device else ["cpu", *["cuda"] * on_gpu]:
        if torch is not None:
            products(device, args.quick)
            linear_chains(device, args.quick)
        hops(device, args.quick)


if __name__ == "__main__":
    main()
