#!/usr/bin/env python3
"""Seconds of PyTorch's CUDA kernels: reads the rows that gpu_bench printed as a JSON list, prints a list of {"fp32", "tf32"},
empty where PyTorch has no such kernel. Deterministic algorithms; TF32 only where it is named. Without a GPU: exit code 4.
"""
import json
import re
import sys

import torch
import torch.nn.functional as F

from stretch import seconds_of_run


def body_of(row):
    """What computes the same, or None."""
    if row["kernel"] == "gemm":
        n = int(row["shape"])
        a, b = torch.randn(n, n, device="cuda"), torch.randn(n, n, device="cuda")
        return lambda: a @ b
    shape = re.fullmatch(r"(\d+)x(\d+)x(\d+)x(\d+) to (\d+) by (\d+)", row["shape"])
    if not shape or "conv2d" not in row["kernel"]:
        return None
    n, h, w, inner, outer, k = map(int, shape.groups())
    if k == 1:  # a linear layer, whose products are of matrices
        x, weight, dy = (torch.randn(*sizes, device="cuda") for sizes in ((n * h * w, inner), (inner, outer), (n * h * w, outer)))
        if row["kernel"].endswith("input_grad"):
            return lambda: dy @ weight.t()
        if row["kernel"].endswith("weight_grad"):
            return lambda: x.t() @ dy
        return lambda: x @ weight
    x, weight, dy = (torch.randn(*sizes, device="cuda").contiguous(memory_format=torch.channels_last)
                     for sizes in ((n, inner, h, w), (outer, inner, k, k), (n, outer, h, w)))
    if row["kernel"].endswith("input_grad"):
        return lambda: torch.nn.grad.conv2d_input(x.shape, weight, dy, padding=k // 2)
    if row["kernel"].endswith("weight_grad"):
        return lambda: torch.nn.grad.conv2d_weight(x, weight.shape, dy, padding=k // 2)
    return lambda: F.conv2d(x, weight, padding=k // 2)


def main():
    if not torch.cuda.is_available():
        print("this PyTorch has no GPU", file=sys.stderr)
        sys.exit(4)
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = False  # nobody reads it, and it takes time
    torch.backends.cudnn.benchmark = False
    found = []
    for row in json.load(sys.stdin):
        body, one = body_of(row), {}
        if body:
            for name, allowed in (("fp32", False), ("tf32", True)):
                torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
                one[name] = seconds_of_run(body, torch.cuda.synchronize)
        found.append(one)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
