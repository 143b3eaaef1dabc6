"""Operations of docs/conformance.md that are not kernels: order, schedules, hashes, parts of a step, networks."""
import digests
import functions
import networks
import norms
import philox
import schedules
import spectral
import updates
from chains import dot, rows
from floats import div, fma, mul, round32, sub
from vectors import Input, Tensor


def sampler(i, p):
    schedule = schedules.noise_schedule(p["schedule"], p["timesteps"])
    return list(zip(*schedules.sampler(p["sampler"], *schedule, p["prediction"], p["visits"])))


def min_snr(i, p):
    _, products = schedules.noise_schedule(p["schedule"], p["timesteps"])
    return [[round32(schedules.min_snr(product, p["prediction"], p["min_snr_gamma"])) for product in products]]


def edm_levels(i, p):
    key = philox.stream_key(p["seed"], "edm/timestep")
    normals = (philox.normal(key, draw, 0, 1)[0] for draw in range(p["draws"]))
    s = [functions.VALUES["exp"](fma(round32(p["p_std"]), n, round32(p["p_mean"]))) for n in normals]
    levels = [schedules.Level(level, p["sigma_data"]) for level in s]
    return [s, *zip(*((level.told(), *level.mix(), *level.target()) for level in levels))]


def edm_steps(i, p):
    s = schedules.levels(p, p["steps"])
    levels = [schedules.Level(round32(level), p["sigma_data"]) for level in s[:-1]]
    lengths = [round32(following - level) for level, following in zip(s, s[1:])]
    return [s, lengths, *zip(*((level.told(), level.scale(), *level.slope()) for level in levels))]


def power_iteration(i, p):
    return spectral.power_iteration(i["w"].values, i["u"].values, i["w"].shape[-1])


def spectral_norm(i, p):
    u, v = i["u"].values, i["v"].values
    result, sigma = spectral.normalised(i["w"].values, u, v)
    return [result, spectral.gradient(i["dy"].values, result, u, v, sigma)]


def _as_rows(x):
    """[n][…][c] as [rows][c]."""
    return Input(x.values, [len(x.values) // x.shape[-1], x.shape[-1]])


def batch_norm_training(i, p):
    _, per_sample, _ = i["x"].shape
    i = {**i, "x": _as_rows(i["x"]), "dy": _as_rows(i["dy"])}
    return norms.batch_norm_training(i, p["momentum"], p["eps"], p["samples_per_lane"] * per_sample)


def batch_norm_evaluation(i, p):
    return norms.batch_norm_evaluation({**i, "x": _as_rows(i["x"])}, p["eps"])


def clipping(i, p):
    gradients = [g.values for g in i.values()]
    squares = updates.tile_squares(gradients)
    norm = updates.norm_of(squares)
    return [squares, [norm], *updates.clipped(gradients, p["length"], norm)]


def updated(i, p):
    weights = i["p"]
    names, update = {"adamw": ("mv", updates.adamw), "sgd": ("u", updates.sgd), "lion": ("m", updates.lion)}[p["kind"]]
    slots = [Input([0.0] * len(weights.values), weights.shape) for _ in names]
    for t in range(1, len(i)):
        inputs = dict(zip(("g", "p", *names), (i[f"g{t}"], weights, *slots)))
        scalars = updates.scalars(p, t, schedules.learning_rate(p, t))
        weights, *slots = (Input(x, weights.shape) for x in update(inputs, scalars))
    return [x.values for x in (weights, *slots)]


def mean_squared_error(i, p):
    n = i["x"].shape[0]
    size = len(i["x"].values) // n
    inverse = div(1.0, round32(float(size)))
    d = [sub(x, target) for x, target in zip(i["x"].values, i["target"].values)]
    loss = [mul(dot(row, row), inverse) for row in rows(d, size)]
    return [loss, [mul(v, mul(i["dloss"].values[k // size], mul(2.0, inverse))) for k, v in enumerate(d)]]


def state_digest(i, p):
    tensors = [(name, x.shape, x.values) for name, x in i.items()]
    hashed = [digests.tensor_digest(*tensor) for tensor in tensors]
    return [hashed, [digests.state_digest(p["step"], p["samples"], hashed)],
            [digests.commit(p["step"], p["samples"], tensors)]]


def first_values(i, p):
    tensors = []
    for t in networks.network(p["kind"], p, p["sample_shape"]):
        name = f"{p['role']}/{t.kind}/{t.path}"
        values = networks.first_values(t, p["seed"], p["role"])
        tensors.append(Tensor(name, values, t.shape, digests.tensor_digest(name, t.shape, values)))
    return tensors + [[digests.state_digest(0, 0, [t.digest for t in tensors])]]


OPERATIONS = {
    "stream_key": lambda i, p: [philox.stream_key(p["seed"], p["stream"])],
    "sample_order": lambda i, p: [[philox.sample(p["seed"], p["n"], p["first"] + k) for k in range(p["count"])]],
    "learning_rate": lambda i, p: [[schedules.learning_rate(p, t) for t in range(1, p["updates"] + 1)]],
    "noise_schedule": lambda i, p: schedules.noise_schedule(p["schedule"], p["timesteps"]),
    "sampler": sampler, "min_snr": min_snr, "edm_levels": edm_levels, "edm_steps": edm_steps,
    "time_embedding": lambda i, p: [[v for t in i["t"].values for v in schedules.time_embedding(t, p["width"])]],
    "leaves": lambda i, p: [digests.leaves(bytes(i["x"].values))],
    "hash_tree": lambda i, p: [[digests.hash_tree(bytes(i["x"].values))]],
    "power_iteration": power_iteration, "spectral_norm": spectral_norm,
    "batch_norm_training": batch_norm_training, "batch_norm_evaluation": batch_norm_evaluation,
    "clipping": clipping, "updates": updated, "mean_squared_error": mean_squared_error,
    "state_digest": state_digest, "first_values": first_values,
}
