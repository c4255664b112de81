"""Run the benchmarks that take minutes: ``make bench``."""

from __future__ import annotations

from benchmarks import exact, peers, pricing, scores


def main() -> None:
    print("# Local scores (benchmarks/scores.py)")
    scores.main()
    print("\n# First pricing (benchmarks/pricing.py)")
    pricing.main()
    print("\n# Exact method (benchmarks/exact.py)")
    exact.main()
    print("\n# Other packages (benchmarks/peers.py), each run ended after a minute or so")
    for n in (25, 50):
        peers.compare(n, 0, list(peers.METHODS), 60.0, 1.0)


if __name__ == "__main__":
    main()
