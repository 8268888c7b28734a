"""Stands for `torch.nn`."""
