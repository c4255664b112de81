"""Speed and quality, as ratios within one run: ``make bench``."""
