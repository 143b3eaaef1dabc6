#!/usr/bin/env python3
"""The shapes of kernels_bench with PyTorch's kernels, oneDNN's and MKL's, on one thread.

  build/release/bin/kernels_bench --benchmark_list_tests | tests/bench/pytorch/kernels.py --seconds 0.1

Reads names such as `conv n64 side28 in32 out32 k3 stride1 pad1 forward …`; what follows the shape is left out. Prints one
JSON line: FLOP per second of CPU time by shape and layout, `nchw` and `channels-last` (of matrix products: `mm`).
"""
import argparse
import json
import re
import sys
import time

import torch

WHICH = {"input_grad": [True, False, False], "weight_grad": [False, True, False]}


def rate(run, flops, seconds):
    run()
    start, runs = time.thread_time(), 0
    while True:
        run()
        runs += 1
        spent = time.thread_time() - start
        if spent >= seconds:
            return flops * runs / spent


def product(batch, m, n, k, transposed):
    """[(layout, what is measured)] and FLOP."""
    a = torch.randn(batch, m, k)
    b = torch.randn(batch, n, k).transpose(1, 2) if transposed else torch.randn(batch, k, n)
    out = torch.empty(batch, m, n)
    if batch == 1:
        a, b, out = a[0], b[0], out[0]
        return [("mm", lambda: torch.mm(a, b, out=out))], 2 * m * n * k
    return [("mm", lambda: torch.bmm(a, b, out=out))], 2 * batch * m * n * k


def convolution(n, side, cin, cout, k, stride, pad, what):
    out = (side + 2 * pad - k) // stride + 1
    found = []
    for layout, memory in (("nchw", torch.contiguous_format), ("channels-last", torch.channels_last)):
        x, w, dy = (torch.randn(*shape).contiguous(memory_format=memory)
                    for shape in ((n, cin, side, side), (cout, cin, k, k), (n, cout, out, out)))
        if what == "forward":
            found.append((layout, lambda x=x, w=w: torch.nn.functional.conv2d(x, w, stride=stride, padding=pad)))
        else:
            found.append((layout, lambda x=x, w=w, dy=dy: torch.ops.aten.convolution_backward(
                dy, x, w, None, [stride] * 2, [pad] * 2, [1, 1], False, [0, 0], 1, WHICH[what])))
    return found, 2 * n * out * out * cout * k * k * cin


def measure(name, seconds):
    numbers = {word: int(value) for word, value in re.findall(r"\b([a-z]+)(\d+)\b", name)}
    words = name.split()
    if words[0] == "gemm":
        runs, flops = product(numbers["batch"], numbers["m"], numbers["n"], numbers["k"], words[-1] == "transposed")
    else:
        runs, flops = convolution(numbers["n"], numbers["side"], numbers["in"], numbers["out"], numbers["k"],
                                  numbers["stride"], numbers["pad"], words[-1])
    return {layout: rate(run, flops, seconds) for layout, run in runs}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=0.1, help="at least, of each kernel")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    names = list(dict.fromkeys(" ".join(line.split()[:-2]) for line in sys.stdin if line.strip()))
    with torch.no_grad():
        print(json.dumps({"torch": torch.__version__, "isa": torch.backends.cpu.get_cpu_capability(),
                          "flops": {name: measure(name, args.seconds) for name in names}}))


if __name__ == "__main__":
    main()
