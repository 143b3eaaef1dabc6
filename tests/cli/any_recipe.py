"""Draws recipes that the program takes, small and short: {table: {key: value}}, and their text."""

import json

SIDES = (8, 12, 16, 20)
SMALL = (8, 12)  # for a GPU that is interpreted
FASHION = (28, 28)  # pixels of Fashion-MNIST, which has classes
CLASSES = 3  # of arrays that have some


def maybe(r, share, **keys):
    return keys if r.random() < share else {}


def optimizer(r):
    table = {"kind": r.choice(("adamw", "sgd", "lion")), "lr": r.choice((3e-4, 1e-3, 1e-2)),
             "schedule": r.choice(("constant", "cosine", "linear", "step", "exponential")),
             **maybe(r, 0.5, weight_decay=0.05), **maybe(r, 0.5, decay="matrices"), **maybe(r, 0.4, clip_value=r.choice((1e-3, 0.1))),
             **maybe(r, 0.4, clip_norm=r.choice((1e-3, 0.5, 10.0))), **maybe(r, 0.5, warmup=r.randint(0, 3))}
    if table["schedule"] in ("cosine", "linear"):
        table["horizon"] = 20
    elif table["schedule"] != "constant":
        table["interval"] = 2
    if table["kind"] == "sgd":
        table |= maybe(r, 0.5, nesterov=True)
    if r.random() < 0.5:
        table |= {"ema_decay": 0.9, **maybe(r, 0.5, more_ema_decays=[0.5, 0.99]), **maybe(r, 0.3, ema_warmup=True)}
    return table


def levels(r, sides):
    """How many a network may have whose levels halve the sides."""
    most = 1
    while most < 3 and all(side % 2**most == 0 for side in sides):
        most += 1
    return r.randint(1, most)


def channels(r, multiple, count):
    return [multiple * r.randint(1, 4) for _ in range(count)]


def denoiser(r, sides):
    if r.random() < 0.35:
        heads = r.randint(1, 3)
        return {"kind": "dit", "patch": r.choice([p for p in (2, 4, 7) if all(side % p == 0 for side in sides)]),
                "width": 4 * heads * r.randint(1, 4), "depth": r.randint(1, 2), "heads": heads, "mlp_ratio": r.randint(1, 3), "embedding": r.choice((4, 12, 20))}
    groups, count = r.randint(1, 4), levels(r, sides)
    widths = channels(r, 2 * groups, count)
    return {"kind": "unet", "channels": widths, "blocks": r.randint(1, 2), "groups": groups,
            "attention_levels": sorted(r.sample(range(count), r.randint(0, min(count, 2)))),
            "heads": r.choice([h for h in (1, 2, 4) if all(width % h == 0 for width in widths)]),
            "embedding": r.choice((4, 10, 20)), **maybe(r, 0.4, dropout=0.3)}


def diffusion(r, kind, labelled):
    table = {"kind": kind}
    if kind == "ddpm":
        table |= {"prediction": r.choice(("epsilon", "v", "x0")), "schedule": r.choice(("linear", "cosine")), "timesteps": r.randint(3, 6),
                  "sampler": r.choice(("ddim", "ancestral")), **maybe(r, 0.5, weighting="min-snr")}
    else:
        table |= {"sampler": r.choice(("euler", "heun"))}
    if kind == "flow":
        table |= maybe(r, 0.5, times="logit-normal")
    if table["sampler"] != "ancestral":
        table["sampler_steps"] = 2
    if labelled:
        table |= {"label_dropout": 0.3, **maybe(r, 0.5, guidance=2.0)}
    return table


def gan(r, kind, sides):
    """Tables of an adversarial pair; of points or signals where there are no sides."""
    if sides is None or r.random() < 0.2:
        generator = {"kind": "mlp-generator", "hidden": r.randint(1, 40), "layers": r.randint(1, 3), "latent": r.randint(1, 9),
                     "norm": r.choice(("batch", "none"))}
        discriminator = {"kind": "mlp-discriminator", "hidden": r.randint(1, 40), "layers": r.randint(1, 3), **maybe(r, 0.3, norm="none")}
    else:
        family, count = r.choice(("dcgan", "sngan")), levels(r, sides)
        generator = {"kind": f"{family}-generator", "channels": channels(r, 1, count), "latent": r.randint(1, 12)}
        discriminator = {"kind": f"{family}-discriminator", "channels": channels(r, 1, count), **maybe(r, 0.3, norm="none")}
    objective = {"kind": kind, **maybe(r, 0.3, discriminator_steps=2)}
    smooth = discriminator["kind"] != "dcgan-discriminator" or "norm" in discriminator  # batch norm forbids penalties
    if kind == "wasserstein-gan":
        objective["gp"] = r.choice((0.0, 10.0)) if smooth else 0.0
    elif smooth:
        objective |= maybe(r, 0.4, r1=0.5)
    return {"objective": objective, "generator": generator, "generator.optimizer": optimizer(r), "discriminator": discriminator,
            "discriminator.optimizer": optimizer(r)}


def samples(r, kind, fashion, sides):
    """What a recipe of this objective is trained on: [data], and what the test has to pack for it: the shape of an array, or None."""
    plain = kind != "classifier" and r.random() < 0.7
    if kind.endswith("gan") and r.random() < 0.3:
        return {"kind": "mixture"}, None
    if kind.endswith("gan") and r.random() < 0.2:
        return {"kind": "signals", "path": "own", **({} if plain else {"classes": CLASSES})}, (24, r.randint(1, 40))
    moved = {**maybe(r, 0.4, flip=True), **maybe(r, 0.4, crop=r.randint(1, 3))}
    if r.random() < 0.3 or (kind == "classifier" and not fashion):
        shape = (24, r.choice(sides), r.choice(sides), r.randint(1, 5))
        return {"kind": "fields", "path": "own", **({} if plain else {"classes": CLASSES}), **moved}, shape
    if fashion and not plain:
        return {"kind": "images", "classes": 10, **moved}, None
    return {"kind": "shapes", **moved}, None


def drawn(r, fashion, interpreted):
    """A recipe, and the shape of the array that it is trained on or None. `fashion`: whether Fashion-MNIST is here. An interpreted
    GPU gets few pixels, and no native numerics: there are no CUDA kernels of LibTorch."""
    kind = r.choice(("ddpm", "ddpm", "flow", "edm", "gan", "hinge-gan", "wasserstein-gan", "classifier"))
    possible = SMALL if interpreted else SIDES
    data, shape = samples(r, kind, fashion and not interpreted, possible)
    sides = FASHION if data["kind"] == "images" else shape[1:3] if data["kind"] == "fields" else None
    lanes = r.randint(1, 5)
    tables = {"run": {"seed": r.randint(0, 10**6), "steps": r.randint(3, 5)},
              "batch": {"lanes": lanes, "samples_per_lane": r.randint(1 + (lanes == 1), 4)}, "data": data,
              "samples": {"every": 0, "count": r.choice((0, 3))}, "checkpoint": {"every": 2, "keep_last": 0},
              "evidence": {"commit_every": 2, "witness_rate": r.choice((0.0, 0.5, 1.0))}}
    if data["kind"] == "shapes":
        sides = (r.choice(possible),) * 2
        tables["data.shapes"] = {"side": sides[0]}
    if kind.endswith("gan"):
        tables |= gan(r, kind, sides)
    else:
        tables["model.optimizer"] = optimizer(r)
        if kind == "classifier":
            groups = r.choice((1, 2, 4))
            tables |= {"objective": {"kind": kind}, "model": {"kind": "cnn", "channels": channels(r, groups, r.randint(1, 3)),
                                                              "features": r.randint(1, 20), "groups": groups}}
        else:
            tables |= {"objective": diffusion(r, kind, "classes" in data), "model": denoiser(r, sides)}
            if r.random() < 0.3:
                tables["data"]["holdout"], tables["run"]["validate_every"] = 7, 2
    tables |= maybe(r, 0.3, monitor={"every": 2, "warn_distance": 0.0, "layers_every": r.choice((0, 1))})
    if not interpreted and r.random() < 0.2:
        tables["run"] |= {"numerics": "native", **maybe(r, 0.5, precision="bfloat16")}
    else:
        tables["run"] |= maybe(r, 0.4, products="integer")
    return tables, shape


def pictures(r, tables):
    """Options of `sample`."""
    made = next(table for name, table in tables.items() if name.endswith("optimizer"))  # the generator's, of two
    options = ["--first", str(r.randint(0, 99)), "--count", str(r.randint(1, 5))]
    averages = ("ema_decay" in made) + len(made.get("more_ema_decays", ()))
    if r.random() < 0.3:
        options += ["--weights", "trained"]
    elif averages > 1:
        options += ["--average", str(r.randint(1, averages))]
    if "classes" in tables["data"] and r.random() < 0.5:
        options += ["--class", "1"]
    if "sampler_steps" in tables["objective"] and r.random() < 0.5:
        options += ["--sampler-steps", str(r.randint(1, 3))]
    return options


def text(tables):
    lines = []
    for name, table in tables.items():
        lines += [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"
