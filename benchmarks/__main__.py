"""Run the benchmarks that take minutes: ``make bench``."""

from __future__ import annotations

from benchmarks import exact, pricing, scores


def main() -> None:
    print("# Local scores (benchmarks/scores.py)")
    scores.main()
    print("\n# First pricing (benchmarks/pricing.py)")
    pricing.main()
    print("\n# Exact method (benchmarks/exact.py)")
    exact.main()


if __name__ == "__main__":
    main()
