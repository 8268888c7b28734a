"""Stands for `triton.language`."""

constexpr = int
