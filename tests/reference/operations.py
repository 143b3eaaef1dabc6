"""Every operation of docs/conformance.md: compute(case's operation, inputs, parameters) gives its outputs in order."""
import composed
import convolution
import functions
import host
import integers
import norms
import philox
from chains import (column_sums, columns, dot, lane_blocks, maximal_subtrees, partials, products, rows,
                    total, tree_sum)
from floats import INFINITY, add, div, fma, mul, sqrt64, sub
from updates import adamw, ema, lion, sgd

TILE = 4096


def unary(name, inputs, p):
    slope = [p["slope"]] if "slope" in p else []
    return [[functions.VALUES[name](x, *slope) for x in inputs["x"].values]]


def unary_backward(name, inputs, p):
    slope = [p["slope"]] if "slope" in p else []
    derivative = functions.DERIVATIVES[name]
    return [[mul(dy, derivative(x, *slope)) for x, dy in zip(inputs["x"].values, inputs["dy"].values)]]


def binary(operation):
    return lambda i, p: [[operation(a, b) for a, b in zip(i["a"].values, i["b"].values)]]


def clamp(x, low, high):
    return low if x < low else high if x > high else x


def row_and_column(i):
    """(row, column, element) of each element of x, in order."""
    columns_of_x = i["x"].shape[1]
    return [(*divmod(k, columns_of_x), x) for k, x in enumerate(i["x"].values)]


def combine_rows(i, p):
    a, b = i["a"].values, i["b"].values
    return [[fma(a[row], x, mul(b[row], y)) for (row, _, x), y in zip(row_and_column(i), i["y"].values)]]


def add_outer(i, p):
    u, v = i["u"].values, i["v"].values
    return [[fma(u[row], v[column], x) for row, column, x in row_and_column(i)]]


def repeat(i, p):
    return [[v for row in rows(i["x"].values, i["x"].shape[1]) for _ in range(p["times"]) for v in row]]


def philox_normal(i, p):
    key = (p["key0"], p["key1"])
    return [[v for row in range(p.get("rows", 1)) for v in philox.normal(key, p["position"] + row, p["micro"], p["n"])]]


def philox_mask(i, p):
    key = (p["key0"], p["key1"])
    return [[v for row in range(p["rows"])
             for v in philox.mask(key, p["position"] + row, p["micro"], p["n"], p["rate"], p["kept"])]]


def philox_drawn(draw):
    return lambda i, p: [draw((p["key0"], p["key1"]), p["position"], p["micro"], p["n"])]


def philox_below(i, p):
    key = (p["key0"], p["key1"])
    return [[philox.below(key, p["position"], p["micro"], p["word"], bound) for bound in p["bounds"]]]


def every_block(i, p):
    n = p["total"]
    return [[value for first in range(n) for count in range(1, n - first + 1)
             for node in maximal_subtrees(n, first, count) for value in node]]


def host_arguments(operation, case, inputs):
    squared = "squares" in case or (operation == "host_pow" and case.startswith("to the "))
    return [x * x if squared else x for x in inputs["x"].values]


def row_pairs(i):
    width = i["a"].shape[1]
    return zip(rows(i["a"].values, width), rows(i["b"].values, width))


def row_squared_distances(i, p):
    out = []
    for a, b in row_pairs(i):
        d = [sub(u, v) for u, v in zip(a, b)]
        out.append(dot(d, d))
    return [out]


def spatial_sums(i, p):
    n, positions, c = i["x"].shape
    return [[total(column) for sample in rows(i["x"].values, positions * c) for column in columns(sample, c)]]


def over_lanes(names, combine):
    """Per lane: combine(values and width of each named input); then the tree over each partial's lanes."""
    def run(i, p):
        rows_per_lane = p["samples_per_lane"] * p["rows_per_sample"]
        widths = [i[name].shape[1] for name in names]
        lanes = zip(*(lane_blocks(i[name].values, width, rows_per_lane) for name, width in zip(names, widths)))
        return [partials([combine(*lane, *widths) for lane in lanes], p["lanes_of_partials"])]
    return run


def matrix_product(i, p):
    batch, m, k = i["a"].shape
    n = i["b"].shape[2]
    out = []
    for z in range(batch):
        right = [i["b"].values[z * k * n + j:(z + 1) * k * n:n] for j in range(n)]
        for r in range(z * m, (z + 1) * m):
            sums = [dot(i["a"].values[r * k:(r + 1) * k], column) for column in right]
            out += [add(v, b) for v, b in zip(sums, i["bias"].values)] if "bias" in i else sums
    return [out]


def softmax(i, p):
    out = []
    for row in rows(i["x"].values, i["x"].shape[1]):
        t = [mul(p["scale"], x) for x in row]
        largest = -INFINITY
        for v in t:
            largest = v if v > largest else largest
        e = [functions.exp(sub(v, largest)) for v in t]
        s = total(e)
        out += [div(v, s) for v in e]
    return [out]


def softmax_backward(i, p):
    out = []
    width = i["y"].shape[1]
    for y, dy in zip(rows(i["y"].values, width), rows(i["dy"].values, width)):
        d = dot(y, dy)
        out += [mul(p["scale"], mul(a, sub(b, d))) for a, b in zip(y, dy)]
    return [out]


def _sources(h, w, oh, ow):
    return [(oy * h // oh) * w + ox * w // ow for oy in range(oh) for ox in range(ow)]


def upsample_nearest(i, p):
    n, h, w, c = i["x"].shape
    pixels = rows(i["x"].values, c)
    return [[v for k in range(n) for source in _sources(h, w, *p["size"]) for v in pixels[k * h * w + source]]]


def upsample_nearest_backward(i, p):
    n, oh, ow, c = i["dy"].shape
    h, w = p["size"]
    dx = [0.0] * (n * h * w * c)
    for k in range(n):
        for position, source in enumerate(_sources(h, w, oh, ow)):
            for channel in range(c):
                at = (k * h * w + source) * c + channel
                dx[at] = add(dx[at], i["dy"].values[(k * oh * ow + position) * c + channel])
    return [dx]


def _rows_per_lane(p):
    return p["samples_per_lane"] * p["rows_per_sample"]


OPERATIONS = {
    "add": binary(add), "subtract": binary(sub), "multiply": binary(mul), "divide": binary(div),
    "scale": lambda i, p: [[mul(p["factor"], x) for x in i["x"].values]],
    "scale_add": lambda i, p: [[fma(p["factor"], x, y) for x, y in zip(i["x"].values, i["y"].values)]],
    "combine": lambda i, p: [[fma(p["a"], x, mul(p["b"], y)) for x, y in zip(i["x"].values, i["y"].values)]],
    "clamp": lambda i, p: [[clamp(x, p["low"], p["high"]) for x in i["x"].values]],
    "scale_rows": lambda i, p: [[mul(x, v) for row, v in zip(rows(i["x"].values, i["x"].shape[1]), i["v"].values)
                                 for x in row]],
    "combine_rows": combine_rows, "add_outer": add_outer, "repeat": repeat,
    "from_bytes": lambda i, p: [[functions.from_byte(x) for x in i["x"].values]],
    "to_bytes": lambda i, p: [[functions.to_byte(x) for x in i["x"].values]],
    "philox_bits": philox_drawn(philox.bits),
    "philox_uniform": philox_drawn(lambda *a: [philox.uniform(u) for u in philox.bits(*a)]),
    "philox_normal": philox_normal,
    "philox_mask": philox_mask,
    "philox_below": philox_below,
    "tree_sum": lambda i, p: [tree_sum(rows(i["x"].values, i["x"].shape[1]))],
    "maximal_subtrees": every_block,
    "row_sums": lambda i, p: [[total(row) for row in rows(i["x"].values, i["x"].shape[1])]],
    "row_dots": lambda i, p: [[dot(a, b) for a, b in row_pairs(i)]],
    "row_squared_distances": row_squared_distances,
    "spatial_sums": spatial_sums,
    "tile_squares": lambda i, p: [[dot(tile, tile) for tile in rows(i["x"].values, TILE)]],
    "lane_column_sums": over_lanes(["x"], column_sums),
    "linear_weight_grad": over_lanes(["x", "dy"], products),
    "matrix_product": matrix_product,
    "softmax": softmax, "softmax_backward": softmax_backward,
    "upsample_nearest": upsample_nearest, "upsample_nearest_backward": upsample_nearest_backward,
    "convolution": lambda i, p: [convolution.forward(i["x"], i["w"], i.get("bias"), p["stride"], p["pad"])],
    "convolution_input_grad": lambda i, p: [convolution.input_gradient(
        i["dy"], i["w"], i.get("bias"), p["stride"], p["pad"], p["size"])],
    "convolution_weight_grad": lambda i, p: [convolution.weight_gradient(
        i["x"], i["dy"], p["stride"], p["pad"], p["kernel"], p["samples_per_lane"], p["lanes_of_partials"])],
    "round_groups": lambda i, p: integers.round_groups(i["x"], p.get("exponents_only", 0)),
    "integer_convolution": lambda i, p: [integers.conv2d(i["x"], i["w"], i.get("bias"), p["stride"], p["pad"])],
    "integer_convolution_input_grad": lambda i, p: [integers.conv2d_input_grad(
        i["dy"], i["w"], i.get("bias"), p["stride"], p["pad"], p["size"])],
    "integer_convolution_weight_grad": lambda i, p: [integers.conv2d_weight_grad(
        i["x"], i["dy"], p["stride"], p["pad"], p["kernel"], p["samples_per_lane"], p["lanes_of_partials"])],
    "group_norm": lambda i, p: norms.group_norm(
        i["x"], i["gamma"], i["beta"], p["groups"], p["eps"], p["activation"] == "silu"),
    "group_norm_backward": lambda i, p: norms.group_norm_backward(
        *(i[name] for name in ("x", "gamma", "beta", "mean", "rstd", "dy")), p["groups"], p["activation"] == "silu",
        p["samples_per_lane"], p["lanes_of_partials"]),
    "layer_norm": lambda i, p: norms.layer_norm(i["x"], i.get("gamma"), i.get("beta"), p["eps"]),
    "layer_norm_backward": lambda i, p: norms.layer_norm_backward(
        i["x"], i.get("gamma"), i["mean"], i["rstd"], i["dy"], _rows_per_lane(p), p["lanes_of_partials"]),
    "batch_moments": lambda i, p: norms.batch_moments(i["x"], _rows_per_lane(p)),
    "merge_moments": lambda i, p: norms.merge_moments(i["rows"], p["count"]),
    "batch_norm": lambda i, p: norms.batch_norm(*(i[n] for n in ("x", "mean", "rstd", "gamma", "beta"))),
    "batch_norm_backward_sums": lambda i, p: norms.batch_norm_backward_sums(
        i["x"], i["mean"], i["rstd"], i["dy"], _rows_per_lane(p)),
    "batch_norm_backward": lambda i, p: norms.batch_norm_backward(
        *(i[n] for n in ("x", "mean", "rstd", "gamma", "dy", "s", "p")), p["count"]),
    "adamw": adamw, "sgd": sgd, "lion": lion, "ema": ema,
    **composed.OPERATIONS,
}

HOST = {"host_exp": host.exp, "host_log": host.log, "host_sqrt": sqrt64, "host_sin": host.sin, "host_cos": host.cos}


def compute(operation, case, inputs, p):
    if operation in OPERATIONS:
        return OPERATIONS[operation](inputs, p)
    if operation == "host_pow":
        return [[host.pow(x, p["y"]) for x in host_arguments(operation, case, inputs)]]
    if operation in HOST:
        return [[HOST[operation](x) for x in host_arguments(operation, case, inputs)]]
    if operation.endswith("_backward"):
        return unary_backward(operation.removesuffix("_backward"), inputs, p)
    return unary(operation, inputs, p)
