"""Benchmarks of the program on the machine at hand: ``make bench``.

Absolute figures depend on the machine; what is judged are ratios between things measured in turn in one run.
"""
