"""Learning from tests of conditional independence: stable PC, MMPC and MMHC."""
