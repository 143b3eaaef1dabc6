"""The networks of GANs (docs/networks.md): layers in the order of registration, `stages` in the order of computation."""
from class_layers import logit, with_classes
from layers import BatchNorm, Conv, Linear, TransposedConv
from networks import LeakyRelu, Network, Reshape, Tanh, area, halved, run


class Staged(Network):
    def __init__(self, stages):
        self.stages = stages
        self.layers = [stage for stage in stages if hasattr(stage, "parameters")]
        self.layers += [stage.classes for stage in stages if hasattr(stage, "classes")]

    def forward(self, pass_, x, needs_input=True):
        return run(self.stages, pass_, x, needs_input)


def mlp_generator(table, shape, classes):
    stages, width = [], table["latent"]
    for i in range(table["layers"]):
        norm = [BatchNorm(f"norm{i}", table["hidden"])] if table["norm"] == "batch" else []
        told = with_classes(classes, table["hidden"]) if i == 0 else []
        stages += [Linear(f"hidden{i}", width, table["hidden"]), *told, *norm, LeakyRelu(0.0)]
        width = table["hidden"]
    return Staged(stages + [Linear("output", width, area(shape)), Reshape(shape)])


def mlp_discriminator(table, shape, classes):
    stages, width, spectral = [Reshape((area(shape),))], area(shape), table["norm"] == "spectral"
    for i in range(table["layers"]):
        stages += [Linear(f"hidden{i}", width, table["hidden"], spectral=spectral), LeakyRelu(0.2)]
        width = table["hidden"]
    return Staged(stages + [logit(classes, width, spectral=spectral)])


def projected(latent, size, channels, classes):
    """A convolutional generator's first stages: latents to pictures of a size."""
    width = area(size) * channels
    return [Linear("project", latent, width, "dcgan", bias=False), *with_classes(classes, width, first="dcgan"),
            Reshape((*size, channels)), BatchNorm("project_norm", channels), LeakyRelu(0.0)]


def dcgan_generator(table, shape, classes):
    c, levels = table["channels"], len(table["channels"])
    size = halved(shape, levels)
    stages = projected(table["latent"], size, c[-1], classes)
    for i in range(levels - 1, 0, -1):
        stages += [TransposedConv(f"up{i}", c[i], c[i - 1], 4, 2, halved(shape, i), "dcgan", bias=False),
                   BatchNorm(f"norm{i}", c[i - 1]), LeakyRelu(0.0)]
    return Staged(stages + [TransposedConv("up0", c[0], shape[2], 4, 2, halved(shape, 0), "dcgan"), Tanh()])


def dcgan_discriminator(table, shape, classes):
    stages, width = [], shape[2]
    for i, c in enumerate(table["channels"]):
        normed = i > 0 and table["norm"] == "batch"
        stages.append(Conv(f"down{i}", width, c, 4, 2, "dcgan", bias=not normed))
        if normed:
            stages.append(BatchNorm(f"norm{i}", c))
        stages.append(LeakyRelu(0.2))
        width = c
    row = area(halved(shape, len(table["channels"]))) * width
    return Staged(stages + [Reshape((row,)), logit(classes, row, first="dcgan")])


def sngan_generator(table, shape, classes):
    c, levels = table["channels"], len(table["channels"])
    size = halved(shape, levels - 1)
    stages = projected(table["latent"], size, c[-1], classes)
    for i in range(levels - 2, -1, -1):
        stages += [TransposedConv(f"up{i}", c[i + 1], c[i], 4, 2, halved(shape, i), "dcgan", bias=False),
                   BatchNorm(f"norm{i}", c[i]), LeakyRelu(0.0)]
    return Staged(stages + [Conv("output", c[0], shape[2], 3, 1, "dcgan"), Tanh()])


def sngan_discriminator(table, shape, classes):
    stages, width, levels, spectral = [], shape[2], len(table["channels"]), table["norm"] == "spectral"
    for i, c in enumerate(table["channels"]):
        stages += [Conv(f"conv{i}", width, c, 3, 1, spectral=spectral), LeakyRelu(0.1)]
        if i < levels - 1:
            stages += [Conv(f"down{i}", c, c, 4, 2, spectral=spectral), LeakyRelu(0.1)]
        width = c
    row = area(halved(shape, levels - 1)) * width
    return Staged(stages + [Reshape((row,)), logit(classes, row, spectral=spectral)])
