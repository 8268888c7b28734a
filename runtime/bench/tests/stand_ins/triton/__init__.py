"""Stands for Triton: a launch is noted."""

import torch

__version__ = "3.99.0"


class Kernel:
    def __init__(self, name):
        self.name = name

    def __getitem__(self, _):
        return lambda *_, **__: torch.note(self.name)


def jit(function):
    return Kernel(function.__name__)
