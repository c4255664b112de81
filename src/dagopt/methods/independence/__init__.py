"""Tests of conditional independence, stable PC, MMPC and MMHC."""
