"""The array arithmetic against the exact scalar one of ../floats.py, ../functions.py, ../chains.py, ../philox.py.

    test_arrays.py [COUNT]    COUNT operands of each kind; prints what differs
"""
import math
import os
import sys
from types import SimpleNamespace

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import chains
import elementary
import exact
import floats
import functions
import fused
import integer_arrays
import integers
import lanes
import linear_arrays
import optimizers
import philox
import schedules
import streams
import updates
from vectors import Input

RANDOM = np.random.default_rng(1)


def from_bits(words):
    return np.asarray(words, np.uint32).view(np.float32)


def same(a, b):
    a, b = np.asarray(a, np.float32), np.asarray(b, np.float32)
    return (a.view(np.uint32) == b.view(np.uint32)) | ((a != a) & (b != b))


def operands(count):
    """All exponents, short significands, neighbours of powers of two, subnormal numbers, zeros."""
    kinds = [RANDOM.integers(0, 2 ** 32, count, np.uint32) for _ in range(5)]
    kinds[1] &= np.uint32(0xFFFFF000)
    kinds[2] = kinds[2] & np.uint32(0xFF800000) | (RANDOM.integers(-2, 3, count) & 0x7FFFFF).astype(np.uint32)
    kinds[3] &= np.uint32(0x80FFFFFF)
    kinds[4] &= np.uint32(0x800000FF)
    x = from_bits(np.concatenate(kinds + [np.array([0, 1 << 31], np.uint32)]))
    x = x[np.isfinite(x)]
    RANDOM.shuffle(x)
    return x


def nasty_triples(count):
    """a, b, c with a*b + c at or beside the middle of two binary32 numbers, normal and subnormal."""
    a, b = operands(count), operands(count)
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    product = a.astype(np.float64) * b.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        beside = [np.roll(a, 7), (-product).astype(np.float32)]
        for power in (1, 22, 23, 24, 25, 26, 29, 30, 50, 52, 53, 54, 60):
            beside += [(product * 2.0 ** power).astype(np.float32), (-product * 2.0 ** power).astype(np.float32)]
    for c in beside:
        fine = np.isfinite(c)
        yield a[fine], b[fine], c[fine]


def beside_middles(count):
    """Products that are an odd number of half ulps of c, except for a remainder that binary64's sum loses."""
    i = RANDOM.integers(1, 200, count)
    odd = 2 * RANDOM.integers(0, 8, count) + 1
    exponent = RANDOM.choice([-150, -149, -130, -120, -60, 0, 60, 100], count)  # of half an ulp
    a = np.ldexp((odd * (1 + i * 2.0 ** -20)).astype(np.float32), exponent // 2)
    b = np.ldexp((1 - i * 2.0 ** -20).astype(np.float32), exponent - exponent // 2)
    c = np.ldexp(RANDOM.integers(1, 2 ** 24, count).astype(np.float32), exponent + 1)
    signs = RANDOM.choice(np.array([-1, 1], np.float32), (2, count))
    return a * signs[0], b, c * signs[1]


def check_fma(count):
    wrong = repaired = total = 0
    for a, b, c in [*nasty_triples(count), beside_middles(100 * count)]:
        ours = fused.fma(a, b, c)
        expected = [floats.fma(*map(float, t)) for t in zip(a, b, c)]
        wrong += int((~same(ours, expected)).sum())
        with np.errstate(over="ignore"):
            twice = (a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)).astype(np.float32)
        repaired += int((~same(ours, twice)).sum())
        total += len(a)
    print(f"fma: {total} cases, {repaired} where rounding twice is wrong, {wrong} differ")
    assert repaired > 0
    for a, b, c, expected in exact.FUSED:
        wrong += not same(fused.fma(*(from_bits([w]) for w in (a, b, c))), from_bits([expected])).all()
    return wrong


def check_chains(count):
    """Operands that give every block doubtful sums, too: few bits, wide exponents."""
    wrong = 0
    for length, scale in ((1, 0), (17, 3), (512, 10), (513, 30), (1100, 10), (1100, 70)):
        def numbers(*shape):
            x = RANDOM.integers(-2 ** 24, 2 ** 24, shape) & RANDOM.choice([-1, -(1 << 18)], shape)
            return np.ldexp(x.astype(np.float32), RANDOM.integers(-scale, scale + 1, shape) - 24).astype(np.float32)
        u, v = numbers(length, 2, 3), numbers(length, 2, 5)
        u[RANDOM.random(u.shape) < 0.1] = 0
        ours = fused.outer_chain(u, v)
        columns = fused.chain_products(u, v[:, :, :3])
        sums = fused.chain_values(u)
        for z in range(2):
            for i in range(3):
                left = u[:, z, i].tolist()
                wrong += sum(not same(ours[z, i, j], chains.dot(left, v[:, z, j].tolist())) for j in range(5))
                wrong += not same(columns[z, i], chains.dot(left, v[:, z, i].tolist()))
                wrong += not same(sums[z, i], chains.total(left))
    print(f"chains: {wrong} differ")
    return wrong


def check_groups(count):
    """Every exponent; ties; ends of the range; groups that are not finite."""
    wide = operands(count)
    wide = wide[:len(wide) // 8 * 8].reshape(-1, 8)
    exponent = RANDOM.integers(-126, 126, (count, 1))
    beside = RANDOM.integers(-4095, 4096, (count, 8)) * 0.5 + RANDOM.choice([0.0, 2.0 ** -12, -2.0 ** -12], (count, 8))
    halves = np.ldexp(beside.astype(np.float32), exponent - 10)
    ends = np.copysign(from_bits(RANDOM.choice([0x7F7FFFFF, 0x00000001, 0x0AFFFFFF, 0x057FFFFF, 0x05800000], (count, 8))), beside)
    some = halves.copy()
    some[RANDOM.random(some.shape) < 0.05] = np.inf
    some[RANDOM.random(some.shape) < 0.05] = -np.nan
    wrong = 0
    groups = np.concatenate([wide, halves, ends, some]).astype(np.float32)
    ours, ours_exponents = integer_arrays.rounded(groups)
    for q, e, group in zip(ours.tolist(), ours_exponents.tolist(), groups.tolist()):
        wrong += (q, e) != integers.rounded(group)
    print(f"groups: {len(groups)} of 8, {int((ours_exponents == integers.NOT_FINITE).sum())} not finite, {wrong} differ")
    return wrong


def check_integer_products():
    """Kernels, strides, sides that do not divide, sizes from subnormal to infinite, samples that are not finite."""
    wrong, kinds = 0, np.zeros(5, int)
    for (n, h, w, ci, co, kernel, stride, pad), scale in (
            ((4, 5, 6, 3, 2, (3, 3), 1, 1), 3), ((4, 7, 5, 2, 3, (4, 4), 2, 1), 40), ((6, 5, 4, 3, 2, (1, 1), 1, 0), 70),
            ((2, 5, 7, 2, 2, (2, 3), 3, 0), 60), ((2, 4, 4, 2, 3, (1, 1), 2, 0), 5), ((4, 6, 3, 1, 2, (3, 3), 2, 1), 64)):
        def numbers(*shape):
            sizes = RANDOM.choice([-scale, scale], (shape[0], 1, 1, 1)) - (shape[0] == 1)
            return np.ldexp(RANDOM.standard_normal(shape).astype(np.float32), sizes).astype(np.float32)
        size = integer_arrays.output_size((h, w), kernel, stride, pad)
        x, dy, bias = numbers(n, h, w, ci), numbers(n, *size, co), numbers(1, 1, 1, co)[0, 0, 0]
        weight = numbers(1, *kernel, ci * co).reshape(*kernel, ci, co)
        if kernel == (1, 1):
            x[0, 1, 1, 0], dy[-1, 0, 0, 0] = np.inf, np.nan
        both = lanes.Lanes(2, n // 2)
        scalar = {name: Input(value.reshape(-1).tolist(), list(value.shape))
                  for name, value in (("x", x), ("w", weight), ("dy", dy), ("bias", bias))}
        for ours, expected in (
                (integer_arrays.forward(x, weight, stride, pad) + bias,
                 integers.conv2d(scalar["x"], scalar["w"], scalar["bias"], stride, pad)),
                (integer_arrays.input_gradient(dy, weight, stride, pad, (h, w)),
                 integers.conv2d_input_grad(scalar["dy"], scalar["w"], None, stride, pad, [h, w])),
                (integer_arrays.weight_gradient(x, dy, kernel, stride, pad, both),
                 integers.conv2d_weight_grad(scalar["x"], scalar["dy"], stride, pad, kernel, n // 2, [2]))):
            wrong += int((~same(ours.reshape(-1), expected)).sum())
            assert ours.dtype == np.float32
            kinds += [len(expected), np.isnan(ours).sum(), np.isinf(ours).sum(), (ours == 0).sum(),
                      ((ours != 0) & (np.abs(ours) < 2.0 ** -126)).sum()]
        if kernel == (1, 1) and stride == 1:  # a linear layer
            column, weights = x.reshape(n, -1, 1, ci), weight[0, 0]
            wrong += int((~same(linear_arrays.Integers.forward(x, weights), integer_arrays.forward(column, weight, 1, 0)
                                .reshape(dy.shape))).sum())
            wrong += int((~same(linear_arrays.Integers.weight_gradient(x, dy, both),
                                integer_arrays.weight_gradient(x, dy, kernel, 1, 0, both)[0, 0])).sum())
            wrong += int((~same(linear_arrays.Integers.input_gradient(dy, weights),
                                integer_arrays.input_gradient(dy, weight, 1, 0, (h, w)))).sum())
    print("integer products: {} results, {} NaN, {} infinite, {} zero, {} subnormal,".format(*kinds), f"{wrong} differ")
    return wrong


def check_functions(count):
    wrong = 0
    wide = operands(count // 10)
    usual = (RANDOM.standard_normal(count) * np.exp2(RANDOM.integers(-12, 6, count))).astype(np.float32)
    x = np.concatenate([wide, usual])
    turns = np.concatenate([(RANDOM.random(count) * 2 * math.pi), np.arange(9) * math.pi / 4]).astype(np.float32)
    for name, arguments in (("exp", x), ("log", np.abs(x)), ("tanh", x), ("sin", turns), ("cos", turns),
                            ("sigmoid", usual), ("silu", usual), ("softplus", usual)):
        ours = getattr(elementary, name)(arguments)
        expected = [functions.VALUES[name](float(v)) for v in arguments]
        bad = ~same(ours, expected)
        print(f"{name}: {len(arguments)} arguments, {int(bad.sum())} differ {arguments[bad][:3]}")
        wrong += int(bad.sum())
    bad = ~same(elementary.silu_derivative(usual), [functions.silu_derivative(float(v)) for v in usual])
    return wrong + int(bad.sum())


def check_streams():
    stream = streams.Stream(7, "test")
    wrong = 0
    for position, micro, n in ((0, 0, 9), (5, 1, 4), (2 ** 33 + 1, 2, 7)):
        drawn = stream.normal([0, position], n, micro)[1]
        wrong += int((~same(drawn, philox.normal(stream.key, position, micro, n))).sum())
        wrong += list(stream.bits([position], n, micro)[0]) != philox.bits(stream.key, position, micro, n)
        wrong += int(stream.below([position], 1000, 2)[0]) != philox.below(stream.key, position, 0, 2, 1000)
    print(f"streams: {wrong} differ")
    return wrong


def check_updates(count):
    """Lion, several updates of numbers of all sizes, and where the sign is that of 0."""
    table = {"kind": "lion", "lr": 0.003, "weight_decay": 0.3, "beta1": 0.9, "beta2": 0.99, "decay": "all", "clip_value": 0.0,
             "clip_norm": 0.0, "lr_scaling": "none", "schedule": "linear", "warmup": 2, "horizon": 5}
    p = operands(count)
    p = np.concatenate([p, p, [np.float32(0.0), np.float32(-0.0)]])
    gradients = [np.concatenate([RANDOM.permutation(p[:-2]), [np.float32(0.0)] * 2]) for _ in range(6)]
    gradients[0][:9] = 0.0
    m = np.zeros_like(p)
    role = SimpleNamespace(parameters={"w": p}, slots={"m": {"w": m}})
    weights, slot = p.tolist(), m.tolist()
    wrong = 0
    for t, g in enumerate(gradients, 1):
        optimizers.update_role(role, table, 1, {"w": g}, t, t)
        lr = schedules.learning_rate({"schedule": "linear", "lr": 0.003, "warmup": 2, "horizon": 5}, t)
        assert lr == 0.003 * [0.5, 1.0, 1.0 - 1.0 / 3.0, 1.0 - 2.0 / 3.0, 0.0, 0.0][t - 1]
        inputs = {"g": g.tolist(), "p": weights, "m": slot}
        weights, slot = updates.lion({name: Input(values, g.shape) for name, values in inputs.items()},
                                     updates.scalars(table, t, lr))
        for ours, expected in ((role.parameters, weights), (role.slots["m"], slot)):
            wrong += int((~same(ours["w"], expected)).sum())
    nan = np.float32(np.nan)
    assert optimizers.sign(np.array([2, -0.5, 0.0, -0.0], np.float32)).tobytes() == from_bits(
        [0x3F800000, 0xBF800000, 0, 0]).tobytes() and np.isnan(optimizers.sign(nan))
    print(f"lion: {6 * len(p)} updates, {wrong} differ")
    return wrong


def main():
    np.seterr(all="ignore")  # overflow is among the cases
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    wrong = check_fma(count) + check_chains(count) + check_functions(count) + check_streams()
    wrong += check_updates(count) + check_groups(count) + check_integer_products()
    print(f"{wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
