"""A recipe: defaults, canonical text and id (docs/recipes.md; docs/training.md, *The recipe id*)."""
import hashlib
import tomllib
from decimal import Decimal

REQUIRED = object()
UNET, DIT, CNN, MLPS = ("unet",), ("dit",), ("cnn",), ("mlp-generator", "mlp-discriminator")
CONVOLUTIONAL = ("dcgan-generator", "dcgan-discriminator", "sngan-generator", "sngan-discriminator")
WITH_LATENT = ("mlp-generator", "dcgan-generator", "sngan-generator")
GANS, DIFFUSION = ("gan", "hinge-gan"), ("ddpm", "flow", "edm")

# Bit-changing keys of a table in the page's order: key, default, conditions on earlier keys of the same table.
RUN = [("seed", 1, {}), ("validate_every", 0, {}), ("numerics", "portable", {}), ("precision", "float32", {}),
       ("products", "float", {}), ("start", "fresh", {})]
BATCH = [("lanes", 8, {}), ("samples_per_lane", 8, {})]
DATA = [("kind", "images", {}), ("classes", 0, {}), ("flip", False, {}), ("crop", 0, {}), ("holdout", 0, {})]
# A dotted key of the page, such as mixture.modes of [data], has a table of its own.
DATA_KINDS = {"mixture": [("modes", 8, {}), ("radius", 1.0, {}), ("stddev", 0.05, {}), ("count", 1048576, {}),
                          ("seed", 0, {})],
              "shapes": [("side", 32, {}), ("count", 65536, {}), ("seed", 0, {})]}
OBJECTIVE = [("kind", "ddpm", {}), ("prediction", "epsilon", {"kind": ("ddpm",)}),
             ("schedule", "linear", {"kind": ("ddpm",)}), ("timesteps", 1000, {"kind": ("ddpm",)}),
             ("weighting", "none", {"kind": ("ddpm",)}), ("min_snr_gamma", 5.0, {"weighting": ("min-snr",)}),
             ("sampler", "ddim", {"kind": ("ddpm",)}),
             ("sampler_steps", 50, {"kind": ("ddpm",), "sampler": ("ddim",)}),
             ("times", "uniform", {"kind": ("flow",)}), ("logit_mean", 0.0, {"times": ("logit-normal",)}),
             ("logit_std", 1.0, {"times": ("logit-normal",)}), ("sampler", "euler", {"kind": ("flow",)}),
             ("sampler_steps", 50, {"kind": ("flow",), "sampler": ("euler",)}),
             ("sampler_steps", 18, {"kind": ("flow",), "sampler": ("heun",)}),
             *((key, value, {"kind": ("edm",)}) for key, value in (
                 ("p_mean", -1.2), ("p_std", 1.2), ("sigma_data", 0.5), ("sigma_min", 0.002), ("sigma_max", 80.0),
                 ("rho", 7.0))),
             ("sampler", "heun", {"kind": ("edm",)}),
             ("sampler_steps", 18, {"kind": ("edm",), "sampler": ("heun",)}),
             ("sampler_steps", 50, {"kind": ("edm",), "sampler": ("euler",)}),
             ("label_dropout", 0.0, {"kind": DIFFUSION}), ("guidance", 1.0, {"kind": DIFFUSION}),
             ("r1", 0.0, {"kind": GANS}), ("gp", 10.0, {"kind": ("wasserstein-gan",)}),
             ("discriminator_steps", 1, {"kind": GANS + ("wasserstein-gan",)})]
NETWORK = [("kind", "unet", {}), ("channels", [32, 64, 64], {"kind": UNET + CONVOLUTIONAL + CNN}),
           ("blocks", 2, {"kind": UNET}), ("attention_levels", [2], {"kind": UNET}), ("patch", 2, {"kind": DIT}),
           ("width", 128, {"kind": DIT}), ("depth", 6, {"kind": DIT}), ("heads", 4, {"kind": UNET + DIT}),
           ("groups", 8, {"kind": UNET + CNN}), ("features", 64, {"kind": CNN}), ("mlp_ratio", 4, {"kind": DIT}), ("embedding", 128, {"kind": UNET + DIT}), ("dropout", 0.0, {"kind": UNET}), ("hidden", 64, {"kind": MLPS}),
           ("layers", 2, {"kind": MLPS}), ("latent", 2, {"kind": WITH_LATENT}),
           ("norm", "batch", {"kind": ("mlp-generator", "dcgan-discriminator")}),
           ("norm", "spectral", {"kind": ("mlp-discriminator", "sngan-discriminator")})]
OPTIMIZER = [("kind", "adamw", {}), ("lr", 0.001, {}), ("lr_scaling", "none", {}),
             ("base_batch", REQUIRED, {"lr_scaling": ("linear", "sqrt")}),
             ("weight_decay", 0.0, {}), ("decay", "all", {}),
             ("beta1", 0.9, {"kind": ("adamw", "lion")}), ("beta2", 0.999, {"kind": ("adamw",)}),
             ("beta2", 0.99, {"kind": ("lion",)}),
             ("eps", 1e-08, {"kind": ("adamw",)}), ("momentum", 0.9, {"kind": ("sgd",)}),
             ("nesterov", False, {"kind": ("sgd",)}), ("clip_value", 0.0, {}), ("clip_norm", 0.0, {}), ("schedule", "constant", {}), ("warmup", 0, {}),
             ("horizon", REQUIRED, {"schedule": ("cosine", "linear")}),
             ("interval", REQUIRED, {"schedule": ("step", "exponential")}),
             ("factor", 0.1, {"schedule": ("step", "exponential")}), ("ema_decay", 0.0, {}), ("more_ema_decays", [], {}),
             ("ema_warmup", False, {})]
EVIDENCE = [("commit_every", 100, {})]
EVALUATION = [("every", 0, {}), ("samples", 2048, {}), ("seed", 0, {}), ("features_hash", "", {})]  # none of them where every is 0
LEFT_OUT = {("run", "numerics"): "portable", ("run", "precision"): "float32", ("run", "products"): "float", ("run", "start"): "fresh",
            ("data", "classes"): 0, ("data", "flip"): False, ("data", "crop"): 0, ("model", "dropout"): 0.0,
            ("data", "holdout"): 0, ("run", "validate_every"): 0,
            ("objective", "label_dropout"): 0.0, ("objective", "guidance"): 1.0,
            ("objective", "times"): "uniform", ("objective", "weighting"): "none", ("objective", "discriminator_steps"): 1}
NORMS_LEFT_OUT = {"mlp-generator": "batch", "dcgan-discriminator": "batch", "mlp-discriminator": "spectral",
                  "sngan-discriminator": "spectral"}
LEFT_OUT_OF_OPTIMIZERS = {"lr_scaling": "none", "decay": "all", "nesterov": False, "clip_value": 0.0,
                          "more_ema_decays": [], "ema_warmup": False}
ROLES = {"ddpm": ["model"], "flow": ["model"], "edm": ["model"], "classifier": ["model"], "gan": ["generator", "discriminator"], "hinge-gan": ["generator", "discriminator"],
         "wasserstein-gan": ["generator", "discriminator"]}


def shortest(x, digits):
    """C++ to_chars of a number whose shortest digits Python's repr gave: fixed, unless scientific is shorter."""
    sign, figures, exponent = Decimal(digits).normalize().as_tuple()
    if x == 0:
        return "-0" if sign else "0"
    text = "".join(map(str, figures))
    point = len(text) + exponent  # digits before the decimal point
    power = point - 1
    scientific = text[0] + ("." + text[1:] if len(text) > 1 else "") + f"e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        fixed = "0." + "0" * -point + text
    elif exponent >= 0:
        fixed = str(int(abs(x)))  # a large number: all its digits, not zeros after the shortest ones
    else:
        fixed = text[:point] + "." + text[point:]
    return ("-" if sign else "") + (fixed if len(fixed) <= len(scientific) else scientific)


def value_text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = shortest(value, repr(value))
        return text if any(c in text for c in ".e") else text + ".0"
    if isinstance(value, str):
        escaped = (f"\\u00{ord(c):02X}" if ord(c) < 0x20 or ord(c) == 0x7F else "\\" + c if c in '"\\' else c
                   for c in value)
        return '"' + "".join(escaped) + '"'
    return "[" + ", ".join(map(value_text, value)) + "]"


def _filled(name, given, keys):
    table = {}
    for key, default, conditions in keys:
        if any(table.get(other) not in words for other, words in conditions.items()):
            continue
        value = given.get(key, default)
        if value is REQUIRED:
            raise ValueError(f"{name}.{key} must be given")
        table[key] = float(value) if isinstance(default, float) else value
    return table


def _left_out(name, table):
    """Keys that the canonical text leaves out, each at this value."""
    if name.endswith(".optimizer"):
        return LEFT_OUT_OF_OPTIMIZERS
    values = {key: value for (of, key), value in LEFT_OUT.items() if of == name}
    return {**values, "norm": NORMS_LEFT_OUT[table["kind"]]} if "norm" in table else values


class Recipe:
    """Tables by name, each a dict of its bit-changing keys in canonical order."""

    @staticmethod
    def read(path):
        with open(path, "rb") as file:
            return Recipe(tomllib.load(file))

    def __init__(self, given):
        if "extends" in given:
            raise ValueError("extends is not supported here")
        self.tables = {name: _filled(name, given.get(name, {}), keys)
                       for name, keys in (("run", RUN), ("batch", BATCH), ("data", DATA))}
        kind = self.tables["data"]["kind"]
        if kind in DATA_KINDS:
            self.tables["data." + kind] = _filled("data." + kind, given.get("data", {}).get(kind, {}),
                                                  DATA_KINDS[kind])
        self.tables["objective"] = _filled("objective", given.get("objective", {}), OBJECTIVE)
        self.roles = ROLES[self.tables["objective"]["kind"]]
        for role in self.roles:
            network = given.get(role, {})
            self.tables[role] = _filled(role, network, NETWORK)
            self.tables[role + ".optimizer"] = _filled(role, network.get("optimizer", {}), OPTIMIZER)
        self.tables["evidence"] = _filled("evidence", given.get("evidence", {}), EVIDENCE)
        if given.get("evaluation", {}).get("every", 0):
            self.tables["evaluation"] = _filled("evaluation", given["evaluation"], EVALUATION)
        self.data_path = given.get("data", {}).get("path", "/usr/share/datasets/fashion-mnist")
        self.labels_path = given.get("data", {}).get("labels", "")
        self.classes = self.tables["data"]["classes"]
        self.seed = self.tables["run"]["seed"]
        self.integer_products = self.tables["run"]["products"] == "integer"

    def __getitem__(self, name):
        return self.tables[name]

    def canonical_text(self):
        parts = []
        for name, table in self.tables.items():
            lines = [f"{key} = {value_text(value)}\n" for key, value in table.items()
                     if _left_out(name, table).get(key, REQUIRED) != value]
            if lines:
                parts.append(f"[{name}]\n" + "".join(lines))
        return "\n".join(parts)

    def id(self, semantics):
        text = f"lockstep recipe 0\nsemantics {semantics}\n" + self.canonical_text()
        return hashlib.sha256(text.encode()).hexdigest()
