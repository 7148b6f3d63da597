"""How long does each street take? Learned from trips with only start, end and minutes written down.

    python examples/learned_costs.py     # a few seconds; needs PyTorch: pip install torch
    python examples/learned_costs.py --side 20 --trips 8000

A town of side × side crossings; every street has an unknown time in each direction. A
trip takes the quickest way, which nobody has written down either. The gradient of all errors goes back along the
quickest ways to the streets that they use, and other trips then show what has been learnt.
"""

from __future__ import annotations

import argparse

import torch

from apsp import closure


def streets(side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """From where to where: neighbours on a grid, both ways."""
    at = torch.arange(side * side).reshape(side, side)
    pairs = torch.cat(
        [torch.stack([a.flatten(), b.flatten()]) for a, b in ((at[1:], at[:-1]), (at[:, 1:], at[:, :-1]))], 1
    )
    start, end = torch.cat([pairs, pairs.flip(0)], 1)
    return start, end


def minutes(start: torch.Tensor, end: torch.Tensor, times: torch.Tensor, n: int) -> torch.Tensor:
    """Of the quickest way between all crossings."""
    return closure(torch.full((n, n), torch.inf).index_put((start, end), times))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--side", type=int, default=10, help="crossings along a side of the town")
    parser.add_argument("--trips", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(0)

    n, (start, end) = args.side**2, streets(args.side)
    hidden = 1 + 4 * torch.rand(len(start))
    trips = torch.randint(n, (2, 2 * args.trips))
    written = minutes(start, end, hidden, n)[tuple(trips)] * (1 + 0.02 * torch.randn(2 * args.trips))
    learn, test = slice(args.trips), slice(args.trips, None)

    guess = torch.full((len(start),), 3.0).log().requires_grad_()  # logarithms, so that times stay positive
    optimizer = torch.optim.Adam([guess], lr=0.05)
    for step in range(args.steps + 1):
        error = minutes(start, end, guess.exp(), n)[tuple(trips)] - written
        if step % 100 == 0:
            wrong = (guess.detach().exp() - hidden).abs().mean()
            print(f"step {step}: other trips {error[test].abs().mean():.2f} minutes off, streets {wrong:.2f}")
        optimizer.zero_grad()
        error[learn].square().mean().backward()
        optimizer.step()


if __name__ == "__main__":
    main()
