"""What does a gradient cost beside the closure or product that it is of, in PyTorch, on a CPU and on a GPU?

    python benchmarks/gradients.py                # n = 2048, float32, on the CPU, and on the GPU if there is one
    python benchmarks/gradients.py --quick        # n = 512
    python benchmarks/gradients.py --device cuda  # there alone

Gradients are first compared with differences of the loss along a random direction (n = 200, float64), and at full size
Σ gradient · weight with Σ demand · distance. Times are of calls, by the clock, the best of several. "Forward" is of a
tensor that requires gradients, whose predecessors are found at once where ⊕ selects; "closure" of one that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from common import arguments, begin, best, missing

# isort: split
from apsp import closure
from semiring import matmul

torch: Any
try:
    import torch
except ImportError:  # `--help` is shown without it
    torch = None

#: Of one H200, n = 2048: backward over the closure.
BARS = {"min_plus": 0.3, "log_plus": 2.2}


def weights(semiring: str, n: int, device: str, dtype: Any, seed: int = 0) -> Any:
    """A complete graph, whose closure exists."""
    W = torch.rand(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) + 0.01
    if semiring in ("log_plus", "plus_times"):
        W = W / (2 * n)
    W = {"log_plus": W.log(), "max_plus": -W, "max_times": W / 1.02}.get(semiring, W)
    return W.to(device, dtype)


def check(call: Callable[..., Any], semiring: str, device: str) -> None:
    """The gradient along a random direction is the difference of the loss."""
    A, V = (weights(semiring, 200, device, torch.float64, seed) for seed in (0, 1))
    A, V, step = A.requires_grad_(), V / V.abs().max(), 1e-7
    C = call(A)
    (gradient,) = torch.autograd.grad((C * torch.cos(C)).sum(), A)
    ahead, behind = (call(A.detach() + sign * step * V) for sign in (1, -1))
    difference = ((ahead * torch.cos(ahead)).sum() - (behind * torch.cos(behind)).sum()) / (2 * step)
    torch.testing.assert_close((gradient * V).sum(), difference, rtol=1e-4, atol=1e-4)


def measure(call: Callable[..., Any], semiring: str, device: str, n: int, name: str) -> None:
    """A row of the table."""
    check(call, semiring, device)
    A = weights(semiring, n, device, torch.float32)
    G = torch.rand(n, n, generator=torch.Generator().manual_seed(2)).to(device)
    W = A.clone().requires_grad_()

    def timed(work: Callable[[], object]) -> float:
        def run() -> None:
            work()
            if device == "cuda":
                torch.cuda.synchronize()

        run()
        return best(run, 2, seconds=0.5)

    D = call(W)

    def backward() -> Any:
        return torch.autograd.grad(D, W, G, retain_graph=True)[0]

    found = backward()
    assert torch.equal(found, backward()), "two runs differ"
    if name == "closure" and semiring in ("min_plus", "max_plus"):
        off = ~torch.eye(n, dtype=torch.bool, device=device)
        sent, wanted = (found.double() * A).sum(), (G.double() * D)[off].sum()
        assert abs(sent / wanted - 1) < 1e-5, "Σ gradient · weight is not Σ demand · distance"
    alone, forward, back = timed(lambda: call(A)), timed(lambda: call(W)), timed(backward)
    bar = f", bar {BARS[semiring]}" if name == "closure" and semiring in BARS and device == "cuda" else ""
    ratios = f"{back / alone:.2f}{bar} | {(forward - alone + back) / alone:.2f}"
    print(f"| {device} | {name}, {semiring} | {alone * 1e3:.2f} | {forward * 1e3:.2f} | {back * 1e3:.2f} | {ratios} |")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--device", choices=["cpu", "cuda"], help="by default both, where there are both")
    args = begin(parser)
    if torch is None:
        missing("PyTorch")
    n = 512 if args.quick else 2048
    print(f"closures of n = {n}, products of {n // 2}; float32, PyTorch {torch.__version__}; milliseconds\n")
    print("| device | of | closure or product | forward | backward | backward / it | all that gradients add / it |")
    print("|---|---|---|---|---|---|---|")
    devices = [args.device] if args.device else ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    for device in devices:
        for semiring in ("min_plus", "max_times", "log_plus", "plus_times"):

            def product(A: Any, semiring: str = semiring) -> Any:
                return matmul(A, A.mT, semiring)

            def closed(A: Any, semiring: str = semiring) -> Any:
                return closure(A, semiring)

            measure(closed, semiring, device, n, "closure")
            measure(product, semiring, device, n // 2, "matmul")


if __name__ == "__main__":
    main()
