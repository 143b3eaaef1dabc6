"""Group norm, layer norm and batch norm, with gradients. Values are flat lists, rows of c channels."""
from collections import namedtuple

import functions
from chains import column_dots, column_sums, columns, dot, lane_blocks, partials, rows, total, tree, tree_sum
from floats import add, div, fma, mul, round32, sqrt, sub

Values = namedtuple("Values", "values")


def _rstd(squares, count, eps):
    return div(1.0, sqrt(add(div(squares, count), eps)))


def _normalised(x, mean, rstd):
    return mul(sub(x, mean), rstd)


def _transposed(per_channel):
    """[c][positions] to one list, channel fastest."""
    return [value for position in zip(*per_channel) for value in position]


def group_norm(x, gamma, beta, groups, eps, silu):
    n, positions, c = x.shape
    size = c // groups
    count = round32(float(positions * size))
    out, means, rstds = [], [], []
    for sample in rows(x.values, positions * c):
        channels = columns(sample, c)
        per_channel = []
        for first in range(0, c, size):
            group = channels[first:first + size]
            mean = div(total([total(channel) for channel in group]), count)
            deviations = [[sub(v, mean) for v in channel] for channel in group]
            rstd = _rstd(total([dot(d, d) for d in deviations]), count, eps)
            means.append(mean)
            rstds.append(rstd)
            for i, d in enumerate(deviations, first):
                per_channel.append([fma(mul(v, rstd), gamma.values[i], beta.values[i]) for v in d])
        out += _transposed(per_channel)
    return [[functions.silu(v) for v in out] if silu else out, means, rstds]


def group_norm_backward(x, gamma, beta, mean, rstd, dy, groups, silu, samples_per_lane, lanes_of_partials):
    n, positions, c = x.shape
    size = c // groups
    count = round32(float(positions * size))
    dx, dgammas, dbetas = [], [], []
    for s in range(n):
        channels = columns(rows(x.values, positions * c)[s], c)
        gradients = columns(rows(dy.values, positions * c)[s], c)
        xhats = []
        for i in range(c):
            at = s * groups + i // size
            xhats.append([_normalised(v, mean.values[at], rstd.values[at]) for v in channels[i]])
            if silu:
                zs = [fma(v, gamma.values[i], beta.values[i]) for v in xhats[i]]
                gradients[i] = [mul(g, functions.silu_derivative(z)) for g, z in zip(gradients[i], zs)]
        sums = [total(g) for g in gradients]
        dots = [dot(g, xhat) for g, xhat in zip(gradients, xhats)]
        per_channel = []
        for i in range(c):
            first = i // size * size
            weights = gamma.values[first:first + size]
            m = div(dot(weights, sums[first:first + size]), count)
            q = div(dot(weights, dots[first:first + size]), count)
            r = rstd.values[s * groups + i // size]
            per_channel.append([mul(sub(mul(g, gamma.values[i]), fma(xhat, q, m)), r)
                                for g, xhat in zip(gradients[i], xhats[i])])
        dx += _transposed(per_channel)
        if s % samples_per_lane == 0:
            dbetas.append(sums)
            dgammas.append(dots)
        else:
            dbetas[-1] = [add(a, b) for a, b in zip(dbetas[-1], sums)]
            dgammas[-1] = [add(a, b) for a, b in zip(dgammas[-1], dots)]
    return [dx, partials(dgammas, lanes_of_partials), partials(dbetas, lanes_of_partials)]


def layer_norm(x, gamma, beta, eps):
    c = x.shape[1]
    count = round32(float(c))
    out, means, rstds = [], [], []
    for row in rows(x.values, c):
        mean = div(total(row), count)
        deviations = [sub(v, mean) for v in row]
        rstd = _rstd(dot(deviations, deviations), count, eps)
        xhat = [mul(d, rstd) for d in deviations]
        out += xhat if gamma is None else [fma(v, g, b) for v, g, b in zip(xhat, gamma.values, beta.values)]
        means.append(mean)
        rstds.append(rstd)
    return [out, means, rstds]


def layer_norm_backward(x, gamma, mean, rstd, dy, rows_per_lane, lanes_of_partials):
    c = x.shape[1]
    count = round32(float(c))
    dx, xhats = [], []
    for row, gradient, m, r in zip(rows(x.values, c), rows(dy.values, c), mean.values, rstd.values):
        xhat = [_normalised(v, m, r) for v in row]
        h = gradient if gamma is None else [mul(g, w) for g, w in zip(gradient, gamma.values)]
        mean_h = div(total(h), count)
        mean_hx = div(dot(h, xhat), count)
        dx += [mul(sub(a, fma(v, mean_hx, mean_h)), r) for a, v in zip(h, xhat)]
        xhats += xhat
    if gamma is None:
        return [dx]
    lanes = list(zip(lane_blocks(dy.values, c, rows_per_lane), lane_blocks(xhats, c, rows_per_lane)))
    dgammas = [column_dots(g, xhat, c) for g, xhat in lanes]
    dbetas = [column_sums(g, c) for g, _ in lanes]
    return [dx, partials(dgammas, lanes_of_partials), partials(dbetas, lanes_of_partials)]


def _merged(a, b):
    """The moments (count, mean, m2) of two parts."""
    d = sub(b[1], a[1])
    count = add(a[0], b[0])
    r = div(b[0], count)
    return count, fma(d, r, a[1]), fma(mul(d, d), mul(a[0], r), add(a[2], b[2]))


def _merged_lanes(lanes):
    return tree(lanes, lambda a, b: [_merged(p, q) for p, q in zip(a, b)])


def merge_moments(moments, count):
    """Mean and variance over all lanes, from [lanes][mean, m2][c]; each lane has `count` values."""
    lanes, _, c = moments.shape
    of_rows = rows(moments.values, c)
    merged = _merged_lanes([[(count, *pair) for pair in zip(*of_rows[2 * k:2 * k + 2])] for k in range(lanes)])
    return [[mean for _, mean, _ in merged], [div(m2, n) for n, _, m2 in merged]]


def batch_moments(x, rows_per_lane):
    c = x.shape[1]
    count = round32(float(rows_per_lane))
    lanes = []
    for lane in lane_blocks(x.values, c, rows_per_lane):
        moments = []
        for column in columns(lane, c):
            mean = div(total(column), count)
            deviations = [sub(v, mean) for v in column]
            moments.append((count, mean, dot(deviations, deviations)))
        lanes.append(moments)
    merged = _merged_lanes(lanes)
    per_lane = [[m[i] for lane in lanes for m in lane] for i in (1, 2)]
    return per_lane + [[m[i] for m in merged] for i in range(3)]


def _batch_xhat(x, mean, rstd):
    c = x.shape[1]
    return [_normalised(v, mean.values[i % c], rstd.values[i % c]) for i, v in enumerate(x.values)]


def batch_norm(x, mean, rstd, gamma, beta):
    c = x.shape[1]
    return [[fma(v, gamma.values[i % c], beta.values[i % c]) for i, v in enumerate(_batch_xhat(x, mean, rstd))]]


def batch_norm_backward_sums(x, mean, rstd, dy, rows_per_lane):
    c = x.shape[1]
    gradients = lane_blocks(dy.values, c, rows_per_lane)
    xhats = lane_blocks(_batch_xhat(x, mean, rstd), c, rows_per_lane)
    return [[v for lane in gradients for v in column_sums(lane, c)],
            [v for lane, xhat in zip(gradients, xhats) for v in column_dots(lane, xhat, c)]]


def batch_norm_backward(x, mean, rstd, gamma, dy, s, p, count):
    c = x.shape[1]
    k = [mul(g, r) for g, r in zip(gamma.values, rstd.values)]
    mean_p = [div(v, count) for v in p.values]
    mean_s = [div(v, count) for v in s.values]
    return [[mul(k[i % c], sub(g, fma(xhat, mean_p[i % c], mean_s[i % c])))
             for i, (g, xhat) in enumerate(zip(dy.values, _batch_xhat(x, mean, rstd)))]]


def unbiased(variance, count):
    return mul(div(count, sub(count, 1.0)), variance)


def running(r, momentum, v):
    """Running statistics, moved towards the batch's statistics."""
    return [fma(momentum, sub(b, a), a) for a, b in zip(r, v)]


def _rstds(variance, eps):
    return [div(1.0, sqrt(add(v, eps))) for v in variance]


def batch_norm_training(i, momentum, eps, rows_per_lane):
    """y, dx, dgamma, dbeta and the running mean and variance, of inputs by name; x as [rows][c]."""
    _, _, count, mean, m2 = batch_moments(i["x"], rows_per_lane)
    variance = [div(m, n) for m, n in zip(m2, count)]
    statistics = [Values(mean), Values(_rstds(variance, eps))]
    c = len(mean)
    sums = [tree_sum(rows(lanes, c))
            for lanes in batch_norm_backward_sums(i["x"], *statistics, i["dy"], rows_per_lane)]
    dx = batch_norm_backward(i["x"], *statistics, i["gamma"], i["dy"], *map(Values, sums), count[0])
    return batch_norm(i["x"], *statistics, i["gamma"], i["beta"]) + dx + [
        sums[1], sums[0], running(i["running_mean"].values, momentum, mean),
        running(i["running_var"].values, momentum, [unbiased(v, n) for v, n in zip(variance, count)])]


def batch_norm_evaluation(i, eps):
    rstd = Values(_rstds(i["running_var"].values, eps))
    return batch_norm(i["x"], i["running_mean"], rstd, i["gamma"], i["beta"])
