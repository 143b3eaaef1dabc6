"""Where a network is told the class of each sample: the layer `classes` (docs/networks.md). The condition is in the pass."""
from fused import chain_products
from layers import Linear


def class_layer(classes, width, **how):
    return Linear("classes", classes, width, bias=False, **how)


def with_classes(classes, width, **how):
    """The stages that add classes(y) to rows of a width: one, or none if there are no classes."""
    return [WithClasses(class_layer(classes, width, **how))] if classes else []


def logit(classes, width, **how):
    """The last layer of a discriminator, on rows of a width."""
    output = ("output", width, 1)
    return Projection(class_layer(classes, width, **how), *output, **how) if classes else Linear(*output, **how)


class WithClasses:
    """x + classes(y)."""

    def __init__(self, layer):
        self.classes = layer

    def forward(self, pass_, x):
        told, back_classes = self.classes.forward(pass_, pass_.condition)

        def back(dy, gradients, needs_input=True):
            if gradients is not None:
                back_classes(dy, gradients, needs_input=False)
            return dy
        return x + told, back


def plus_scaled(x, rows, factors):
    """What the dot adds to its row's gradient: two kernels, not one fma."""
    return x + rows * factors


class Projection(Linear):
    """Its own logit + row_dots(row, classes(y)) (Miyato and Koyama, 2018)."""

    def __init__(self, classes, *args, **how):
        super().__init__(*args, **how)
        self.classes = classes

    def forward(self, pass_, x):
        y, back_output = super().forward(pass_, x)
        told, back_classes = self.classes.forward(pass_, pass_.condition)

        def back(dy, gradients, needs_input=True):
            dx = back_output(dy, gradients, needs_input)
            if gradients is not None:
                back_classes(x * dy, gradients, needs_input=False)
            return plus_scaled(dx, told, dy) if needs_input else None
        return y + chain_products(x.T, told.T)[:, None], back

    def down(self, pass_, x, dy):
        told, back_classes = self.classes.forward(pass_, pass_.condition)
        dx, up_output = super().down(pass_, x, dy)

        def up(g, gradients):
            back_classes(g * dy, gradients, needs_input=False)
            return up_output(g, gradients) + chain_products(g.T, told.T)[:, None]
        return plus_scaled(dx, told, dy), up
