"""A PixelCNN of one's own: masks in two kinds, and a picture drawn on from where it is given."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, normal, uneven, uniform
from course_lib.exercises.fitting import fit_distinct
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.models import load_parameters
from course_lib.pixels.masks import MaskedConv2d

exercise = Exercise(
    "OwnPixelCNN", chapter="pixelcnn", place=5, title="A PixelCNN of your own, and a picture drawn on",
    contract="A class OwnPixelCNN(AutoregressiveModel), made by (height, width, k, channels, depth), of black and white images: x (B, "
             "height * width) row by row. Layers: first, an nn.Conv2d from 1 to channels with a kernel of k x k, under mask A; "
             "layers.0 to layers.(depth - 1), each an nn.Conv2d of 3 x 3 under mask B, which reads the ReLU of h and is added to h; "
             "out, an nn.Conv2d of 1 x 1 to one channel, which reads the ReLU of h: the logits. Around the image are zeros. "
             "conditionals(x) gives every factor; the masks take part in every product. complete(x, start, u) gives x with the pixels "
             "from number start on drawn one after another, x_i = 1 where u_i < p(x_i = 1 | what comes before). fit(x) trains the "
             "model on x, to within 0.15 nats of its source, in 20 seconds on one core. The library's check_all and its masked "
             "convolutions judge the class.",
    points=["pixelcnn", "pixelcnn-speed"], difficulty=4, minutes=60, kind="build", deadline=20.0)

GAP = 0.15                      # nats to the source
SIDES = 3, 4                    # height and width of the images of that source
ROWS = 1000                     # images in the training data


@exercise.class_reference()
class OwnPixelCNN(AutoregressiveModel):
    """Residual blocks of masked convolutions on black and white images."""

    def __init__(self, height, width, k, channels, depth):
        super().__init__(height * width)
        self.height, self.width = height, width
        self.first = nn.Conv2d(1, channels, k, padding=k // 2)
        self.layers = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth))
        self.out = nn.Conv2d(channels, 1, 1)
        generator = torch.Generator().manual_seed(0)
        for layer in (self.first, *self.layers, self.out):
            layer.weight.data = torch.randn(layer.weight.shape, generator=generator) / layer.weight[0].numel() ** 0.5
            layer.bias.data.zero_()

    def conditionals(self, x, context=None):
        h = self.first_layer(x.view(-1, 1, self.height, self.width))           # (B, channels, height, width)
        for layer in self.layers:
            h = self.residual_block(layer, h)
        return self.conditional(self.out(h.relu()).flatten(1))

    @exercise.step
    def first_layer(self, image):
        return self.masked(self.first, "A", image)

    @exercise.step
    def residual_block(self, layer, h):
        return h + self.masked(layer, "B", h.relu())

    @exercise.step
    def masked(self, layer, kind, h):
        """The library's masked convolution, which does not store the rows below the center."""
        outputs, inputs, k, _ = layer.weight.shape
        weights = {"weight": layer.weight[:, :, :k // 2 + 1], "bias": layer.bias}
        return functional_call(MaskedConv2d(inputs, outputs, k, kind), weights, h)

    @exercise.step
    def complete(self, x, start, u):
        x = x.clone()
        for i in range(start, self.n):
            x[:, i] = (u[:, i] < self.conditionals(x).probs[:, i]).to(x.dtype)
        return x

    @exercise.step
    def fit(self, x):
        fit_distinct(self, x, lr=0.01, steps=150)


@exercise.misconception(
    OwnPixelCNN.first_layer,
    "Your first layer shows each pixel to itself. It reads the image, so it has mask A; mask B is for the layers after it.")
def shows_itself(self, image):
    return self.masked(self.first, "B", image)


@exercise.misconception(
    OwnPixelCNN.residual_block,
    "All your layers have mask A. After the first one the pixel's own place holds only what comes before it: with mask B it is read, "
    "and the nearest pixels are not lost.")
def hides_all(self, layer, h):
    return h + self.masked(layer, "A", h.relu())


@exercise.misconception(
    OwnPixelCNN.residual_block,
    "The output of a layer of 3 x 3 replaces h. The residual connection adds it to h.")
def no_residual(self, layer, h):
    return self.masked(layer, "B", h.relu())


@exercise.misconception(OwnPixelCNN.residual_block, "Your layers of 3 x 3 read h itself. A ReLU comes before each.")
def no_relu(self, layer, h):
    return h + self.masked(layer, "B", h)


@exercise.misconception(
    OwnPixelCNN.masked,
    "Your masks do not take part in the product. Kernels that are masked once, in the constructor, are whole again as soon as "
    "they are set or trained: multiply by the mask in each pass.")
def masks_once(self, layer, kind, h):
    return layer(h)


@exercise.misconception(
    OwnPixelCNN.complete,
    "complete draws all missing pixels in one pass. Each needs a pass of its own, once those before it are drawn.")
def at_once(self, x, start, u):
    drawn = (u < self.conditionals(x).probs).to(x.dtype)
    return torch.cat([x[:, :start], drawn[:, start:]], 1)


@exercise.misconception(OwnPixelCNN.complete, "complete draws the given pixels again. Those before number start stay as they are.")
def draws_all(self, x, start, u):
    return OwnPixelCNN.complete.original(self, x, 0, u)


@exercise.misconception(
    OwnPixelCNN.complete,
    "complete begins one pixel late: the pixels before number start are given, and pixel start is the first to be drawn.")
def one_later(self, x, start, u):
    return OwnPixelCNN.complete.original(self, x, start + 1, u)


@exercise.misconception(OwnPixelCNN.fit, "After fit, the model is as it was: the parameters of the model itself must change.")
def untrained(self, x):
    pass


@exercise.misconception(OwnPixelCNN.fit, "Your fit increases the loss: minimize minus the log-likelihood.")
def uphill(self, x):
    fit_distinct(self, x, lr=0.01, steps=20, maximize=True)


def model(generator, depth: int) -> tuple[dict, dict[str, Tensor]]:
    height, width, channels = uneven(generator, (3, 6), (3, 6), (4, 7))
    made = {"height": height, "width": width, "k": 3 + 2 * integer(generator, 0, 1), "channels": channels, "depth": depth}
    layers = [("first", 1, made["k"]), *((f"layers.{j}", channels, 3) for j in range(depth))]
    parameters = {}
    for name, inputs, k in layers:
        parameters[f"{name}.weight"] = normal(generator, channels, inputs, k, k, scale=2 * (inputs * k * k / 2) ** -0.5)
        parameters[f"{name}.bias"] = normal(generator, channels, scale=0.5)
    return made, parameters | {"out.weight": normal(generator, 1, channels, 1, 1, scale=0.7 * channels ** -0.5),
                               "out.bias": normal(generator, 1)}


def likelihoods(generator):
    found = []
    for depth in (1, 2, 3):
        made, parameters = model(generator, depth)
        found.append(("log_prob", made, parameters, bits(generator, integer(generator, 2, 5), made["height"] * made["width"])))
    return found


def completions(generator):
    """Images with something in the pixels to be drawn too, and uniform numbers of which none is so near its probability that
    rounding decides."""
    found = []
    for depth in (1, 2):
        made, parameters = model(generator, depth)
        n = made["height"] * made["width"]
        right, start = load_parameters(OwnPixelCNN(**made), parameters), integer(generator, n // 3, n // 2)
        while True:
            x, u = bits(generator, 30, n), uniform(generator, 30, n)
            if (u - right.conditionals(right.complete(x, start, u)).probs).abs().min() > 1e-4:
                break
        found.append(("complete", made, parameters, x, start, u))
    return found


def source(generator):
    """Images of a texture: each pixel is the exclusive or of two of its three neighbours to the left, above and to the right
    above, or the opposite of it, but for one in eight; what lies outside counts as 0."""
    (H, W), left_out, flipped = SIDES, integer(generator, 0, 2), integer(generator, 0, 1)
    states = ((torch.arange(2 ** (H * W))[:, None] >> torch.arange(H * W)) & 1).view(-1, H, W)
    around = F.pad(states, (1, 1, 1, 0))
    near = [around[:, 1:, :W], around[:, :H, 1:W + 1], around[:, :H, 2:]]                                       # (states, H, W) each
    one, two = (neighbour for k, neighbour in enumerate(near) if k != left_out)
    p = torch.where(states == (one ^ two ^ flipped), 7 / 8, 1 / 8).double().flatten(1).prod(1)
    train, loss = drawn_from(generator, states.flatten(1), p, ROWS)
    return {"height": H, "width": W, "k": 3, "channels": 16, "depth": 1}, train, loss


exercise.compare("log_prob is the library's", likelihoods, points=3)
exercise.slopes("gradient", likelihoods, points=1)
exercise.compare("a picture drawn on", completions, points=2)
keeps_the_contract(exercise, lambda generator: {"height": 3, "width": 3, "k": 5, "channels": 8, "depth": 2}, points=3)
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "uphill"))
exercise.hint(
    "You do not know how to mask an nn.Conv2d.",
    "Keep the mask as a buffer, self.register_buffer(\"a\", pixelcnn_mask(k, \"A\")), and call F.conv2d(h, layer.weight * self.a, "
    "layer.bias, padding=k // 2) yourself, in place of layer(h).")
exercise.hint(
    "log_prob is not the one expected.",
    "In this order: h = first(image); for each layer h = h + layer(relu(h)); logits = out(relu(h)), flattened to (B, height * width). "
    "Look at one kernel times its mask: mask A has (k * k - 1) / 2 ones, mask B one more.")
exercise.hint(
    "complete is wrong in some pixels.",
    "x = x.clone(), then for i in range(start, height * width): conditionals of the x so far, column i of its probs, "
    "(u[:, i] < p) into column i.")
exercise.hint(
    "fit ends well above what is asked.",
    "Some hundred steps of Adam on all images at once with a rate near 0.01. torch's own start of the layers will do.")
