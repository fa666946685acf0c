"""A PixelCNN of one's own: masks in two kinds, and a picture drawn on from where it is given."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.func import functional_call

from course_lib.autoregressive import AutoregressiveModel
from course_lib.exercises.building import drawn_from, keeps_the_contract, reaches
from course_lib.exercises.draws import bits, integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise
from course_lib.grading.protocol.models import load_parameters
from course_lib.pixels.masks import MaskedConv2d, kernel_mask

exercise = Exercise(
    "OwnPixelCNN", chapter="08", place=5, title="A PixelCNN of your own, and a picture drawn on",
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
IN_CONDITIONALS = {"shows_itself", "hides_all", "whole_row", "masks_once", "no_residual", "no_relu", "image_relu",
                   "columns_first", "of_zero"}


@exercise.class_reference(
    shows_itself="Your first layer shows each pixel to itself. It reads the image, so it has mask A; mask B is for the layers after it.",
    hides_all="All your layers have mask A. After the first one the pixel's own place holds only what comes before it: with mask B "
              "it is read, and the nearest pixels are not lost.",
    whole_row="Your kernels read the pixel's own row to the right of the centre. What stands there is not drawn yet.",
    masks_once="Your masks do not take part in the product. Kernels that are masked once, in the constructor, are whole again as soon "
               "as somebody sets or trains them: multiply by the mask in each pass.",
    no_residual="What a layer of 3 x 3 gives takes the place of h. It is added to h.",
    no_relu="Your layers of 3 x 3 read h itself. A ReLU comes before each.",
    image_relu="The logits are read from h itself. A ReLU comes before the last layer too.",
    columns_first="Your image has its width and height exchanged: x holds the image row by row, view(-1, 1, height, width).",
    of_zero="Your factors give 1 the probability of 0: the sign of the logits is turned around.",
    at_once="complete draws all missing pixels in one pass. Each needs a pass of its own, once those before it are drawn.",
    one_later="complete begins one pixel late: the pixels before number start are given, and pixel start is the first to be drawn.",
    draws_all="complete draws the given pixels anew. Those before number start stay as they are.",
    above="complete sets x_i to 1 where u_i is above the probability: then it is 1 with probability 1 - p.",
    by_step="complete compares the k-th missing pixel with column k of u. Column i of u belongs to pixel i.",
    untrained="After fit, the model is as it was: the parameters of the model itself must change.",
    uphill="Your fit climbs the loss: minimise minus the log-likelihood.",
)
def own_pixelcnn(bugs):
    class OwnPixelCNN(AutoregressiveModel):
        def __init__(self, height, width, k, channels, depth):
            super().__init__(height * width)
            self.sides = (width, height) if "columns_first" in bugs else (height, width)
            start = torch.Generator().manual_seed(0)
            self.first = nn.Conv2d(1, channels, k, padding=k // 2)
            self.layers = nn.ModuleList(nn.Conv2d(channels, channels, 3, padding=1) for _ in range(depth))
            self.out = nn.Conv2d(channels, 1, 1)
            for layer in (self.first, *self.layers, self.out):
                layer.weight.data = torch.randn(layer.weight.shape, generator=start) / layer.weight[0].numel() ** 0.5
                layer.bias.data.zero_()

        def conditionals(self, x, context=None):
            return self.conditional(self.logits(x))

        def logits(self, x):
            h = self.masked(self.first, "B" if "shows_itself" in bugs else "A", x.view(-1, 1, *self.sides))    # (B, C, H, W)
            for layer in self.layers:
                y = self.masked(layer, "A" if "hides_all" in bugs else "B", h if "no_relu" in bugs else h.relu())
                h = y if "no_residual" in bugs else h + y
            h = self.out(h if "image_relu" in bugs else h.relu()).flatten(1)                                   # (B, H W)
            return -h if "of_zero" in bugs else h

        def masked(self, layer, kind, h):
            outputs, inputs, k, _ = layer.weight.shape
            if not bugs & IN_CONDITIONALS:                                    # the library's own layer: no rows below are stored
                library = MaskedConv2d(inputs, outputs, k, kind)
                return functional_call(library, {"weight": layer.weight[:, :, :k // 2 + 1], "bias": layer.bias}, h)
            mask = kernel_mask(k, kind).to(h.dtype)
            if "masks_once" in bugs:
                mask = torch.ones_like(mask)
            if "whole_row" in bugs:
                mask[:, :, k // 2, k // 2 + 1:] = 1
            return F.conv2d(h, layer.weight * mask, layer.bias, padding=k // 2)

        def complete(self, x, start, u):
            x, first = x.clone(), start + ("one_later" in bugs)
            if "at_once" in bugs:
                x[:, start:] = (u < self.conditionals(x).probs)[:, start:].to(x.dtype)
            for i in range(0 if "draws_all" in bugs else self.n if "at_once" in bugs else first, self.n):
                p, mine = self.conditionals(x).probs[:, i], u[:, i - start if "by_step" in bugs else i]
                x[:, i] = (mine > p if "above" in bugs else mine < p).to(x.dtype)
            return x

        def fit(self, x):
            states, times = x.unique(dim=0, return_counts=True)
            optimizer = torch.optim.Adam(self.parameters(), lr=0.01, maximize="uphill" in bugs)
            for _ in range(0 if "untrained" in bugs else 20 if "uphill" in bugs else 150):
                loss = -(times * self.log_prob(states)).sum() / len(x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return OwnPixelCNN


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
        right, start = load_parameters(own_pixelcnn(frozenset())(**made), parameters), integer(generator, n // 3, n // 2)
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
