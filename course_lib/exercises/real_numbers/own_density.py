"""A density of two real variables of one's own: mixtures of Gaussians, in the units of the data."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.distributions import MixtureSameFamily, Normal
from torch.func import functional_call

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import MixtureOfGaussians
from course_lib.density.nade import NADE
from course_lib.exercises.building import keeps_the_contract, reaches, stepwise_log_prob
from course_lib.exercises.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnDensity", chapter="real-numbers", place=4, title="A density of your own, in the units of the data",
    contract="A class OwnDensity(AutoregressiveModel) of two real variables: p(x_1) is a mixture of k Gaussians, p(x_2 | x_1) "
             "another whose raw numbers come from a hidden layer that reads x_1. Parameters first (3, k), W (hidden,), "
             "c (hidden,), V (3, k, hidden) and b (3, k) describe the standardised values z = (x - shift) / scale. conditionals(x) "
             "and log_prob(x) are in the units of x; standardized_log_prob(z) gives the log-density of z. fit(x) trains the model "
             "on x, to within 0.15 nats of its source, in 20 seconds on one core. The library's check_all and its RNADE judge "
             "the class.",
    points=["rnade"], difficulty=4, minutes=60, kind="build", deadline=20.0)

GAP = 0.15                      # nats to the source
FLOOR = 1e-9                    # min_sigma of the family: none to speak of
K, H, N = 4, 16, 1200           # of the model that is trained
RAW = "Your hidden layer reads x_1 in its own units. Its input is z_1 = (x_1 - shift_1) / scale_1."


@exercise.class_reference()
class OwnDensity(AutoregressiveModel):
    """Mixtures of Gaussians for two variables, in the units of x."""

    def __init__(self, hidden, k, shift, scale):
        super().__init__(2, MixtureOfGaussians(k, min_sigma=FLOOR))
        self.register_buffer("shift", torch.tensor(shift))
        self.register_buffer("scale", torch.tensor(scale))
        generator = torch.Generator().manual_seed(0)
        raw, V = self.initial(hidden, k, generator)
        self.first, self.b, self.V = nn.Parameter(raw), nn.Parameter(raw.clone()), nn.Parameter(V)
        self.W = nn.Parameter(2 * torch.randn(hidden, generator=generator))
        self.c = nn.Parameter(torch.randn(hidden, generator=generator))

    @exercise.step
    def initial(self, hidden, k, generator):
        """The raw parameters without the hidden layer, (3, k), and V."""
        raw = torch.stack([torch.zeros(k), torch.linspace(-1, 1, k), torch.full((k,), -0.5)])
        return raw, 0.1 * torch.randn(3, k, hidden, generator=generator)

    def conditionals(self, x, context=None):
        return self.in_units(self.mixtures(self.network_input(x)))

    @exercise.step
    def network_input(self, x):
        """What the hidden layer depends on in conditionals."""
        return self.standardized(x)

    @exercise.step
    def standardized(self, x):
        return (x - self.shift) / self.scale

    def mixtures(self, z):
        """Of the standardized values, by the library's RNADE, which has V and b for x_1 too."""
        V = torch.stack([0 * self.V, self.V]).flatten(1, 2)                    # (2, 3 k, hidden)
        weights = {"W": torch.stack([self.W, 0 * self.W])[:, None], "c": self.c, "V": V,
                   "b": torch.cat([self.first.flatten(), self.b.flatten()])}
        return functional_call(NADE(2, len(self.c), self.conditional), weights, z)

    @exercise.step
    def in_units(self, mixtures):
        """Mixtures of x from those of z: means are moved and scaled, deviations scaled."""
        normal = mixtures.component_distribution
        return with_components(mixtures, self.shift[:, None] + self.scale[:, None] * normal.loc, self.scale[:, None] * normal.scale)

    @exercise.step
    def log_prob(self, x, context=None):
        return super().log_prob(x)

    def standardized_log_prob(self, z):
        x = self.shift + self.scale * z
        return self.in_units(self.mixtures(self.standardized(x))).log_prob(x).sum(1) + self.log_jacobian()

    @exercise.step
    def log_jacobian(self):
        """ln |dx / dz|."""
        return self.scale.log().sum()

    @exercise.step
    def fit(self, x):
        trained(self, x)


def with_components(mixtures: MixtureSameFamily, mu: Tensor, sigma: Tensor) -> MixtureSameFamily:
    return MixtureSameFamily(mixtures.mixture_distribution, Normal(mu, sigma, validate_args=False), validate_args=False)


def trained(model, x, steps=100, maximize=False):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, maximize=maximize)
    for _ in range(steps):
        loss = -model.conditionals(x).log_prob(x).sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@exercise.misconception(
    OwnDensity.log_prob,
    "Your log_prob gives the density of z, not that of x: the Jacobian is missing. The mass of one unit of z is spread over scale "
    "units of x, so the logarithm of each scale is subtracted.")
def density_of_z(self, x, context=None):
    return OwnDensity.log_prob.original(self, x) + self.scale.log().sum()


@exercise.misconception(
    OwnDensity.in_units,
    "Your mixtures are those of z, but they are evaluated at x. Convert means and deviations to the units of x: "
    "shift + scale * mu, and ln scale is added to log_sigma.")
def of_z(self, mixtures):
    return mixtures


@exercise.misconception(
    OwnDensity.in_units,
    "Your deviations are those of the standardized values: the Jacobian is missing. In the units of x a deviation is scale times as "
    "large, so ln scale is added to log_sigma.")
def jacobian_forgotten(self, mixtures):
    normal = mixtures.component_distribution
    return with_components(mixtures, self.shift[:, None] + self.scale[:, None] * normal.loc, normal.scale)


@exercise.misconception(OwnDensity.standardized, RAW)
def reads_raw(self, x):
    return x


@exercise.misconception(OwnDensity.network_input, RAW)
def raw_in_conditionals(self, x):
    return x


@exercise.misconception(
    OwnDensity.standardized,
    "Your mixture for x_2 depends on x_2, the variable that it predicts. It may depend on x_1 alone.")
def reads_itself(self, x):
    return OwnDensity.standardized.original(self, x).flip(1)


@exercise.misconception(
    OwnDensity.log_jacobian,
    "Your standardized_log_prob gives the density of x at the same place. That of z = (x - shift) / scale is larger by a factor of "
    "scale for each variable: their logarithms are missing.")
def units_forgotten(self):
    return 0


@exercise.misconception(
    OwnDensity.log_jacobian,
    "Your standardized_log_prob has the Jacobian with the wrong sign: scale > 1 makes the density of z larger than that of x, "
    "because the same mass lies on a shorter interval.")
def units_sign(self):
    return -self.scale.log().sum()


@exercise.misconception(OwnDensity.fit, "After fit, the model is as it was: the parameters of the model itself must change.")
def untrained(self, x):
    pass


@exercise.misconception(OwnDensity.fit, "Your fit increases the loss: minimize minus the log-likelihood.")
def uphill(self, x):
    trained(self, x, steps=10, maximize=True)


@exercise.misconception(
    OwnDensity.initial,
    "After fit, all components of a mixture are the same. They started equal, so they received equal gradients: start the means "
    "apart.")
def alike(self, hidden, k, generator):
    raw, V = OwnDensity.initial.original(self, hidden, k, generator)
    return raw * torch.tensor([1.0, 0.0, 1.0])[:, None], 0 * V


def units(generator, low: float, high: float) -> dict[str, list[float]]:
    """A shift of the size of a deviation, and two scales of which one is at least 1.5 times the other."""
    scale = [float(uniform(generator, low=low, high=high / 1.5))]
    scale.append(scale[0] * float(uniform(generator, low=1.5, high=2.0)))
    if integer(generator, 0, 1):
        scale.reverse()
    return {"shift": [s * float(uniform(generator, low=0.8, high=1.6)) * (-1) ** integer(generator, 0, 1) for s in scale],
            "scale": scale}


def model(generator, k: int, hidden: int, low: float, high: float) -> tuple[dict, dict[str, Tensor]]:
    parameters = {"first": normal(generator, 3, k), "W": normal(generator, hidden), "c": normal(generator, hidden),
                  "V": normal(generator, 3, k, hidden, scale=hidden ** -0.5), "b": normal(generator, 3, k)}
    for name in ("first", "b"):                            # deviations near 1: no term of a gradient swamps the others
        parameters[name][2] *= 0.3
    parameters["V"][2] *= 0.3
    return {"hidden": hidden, "k": k, **units(generator, low, high)}, parameters


def densities(generator):
    found = []
    for low, high in ((2.0, 6.0), (0.1, 0.4), (20.0, 90.0)):
        k, hidden, rows = uneven(generator, (2, 3), (4, 6), (2, 5))
        config, parameters = model(generator, k, hidden, low, high)
        x = torch.tensor(config["shift"]) + torch.tensor(config["scale"]) * normal(generator, rows, 2)
        found.append(("log_prob", config, parameters, x))
    return found


def standardised(generator):
    return [("standardized_log_prob", config, parameters, (x - torch.tensor(config["shift"])) / torch.tensor(config["scale"]))
            for _, config, parameters, x in densities(generator)]


def to_prove(generator):
    return {"hidden": integer(generator, 2, 4), "k": 2, **units(generator, 2.0, 5.0)}


def source(generator):
    """Two peaks of x_1; above each point of it two branches of x_2, one bent. In units of their own."""
    peaks = torch.tensor([-1.0, 1.0]) + uniform(generator, 2, low=-0.2, high=0.2)
    share, upper, bend = (float(uniform(generator, low=a, high=b)) for a, b in ((0.35, 0.65), (0.35, 0.65), (0.8, 1.2)))
    turn, unit = (-1) ** integer(generator, 0, 1), units(generator, 5.0, 60.0)
    unit["scale"][1] /= 100
    shift, scale = torch.tensor(unit["shift"]), torch.tensor(unit["scale"])

    def branches(t):
        return torch.stack([turn * (0.9 + 0.4 * bend * torch.sin(2 * t)), -turn * (0.5 + 0.5 * bend * t)], -1)         # (N, 2)

    def log_density(z):
        t, w = z[:, 0], torch.tensor([share, 1 - share])
        one = (w.log() + of_normals(t[:, None], peaks, 0.5)).logsumexp(1)
        two = (torch.tensor([upper, 1 - upper]).log() + of_normals(z[:, 1:], branches(t), 0.25)).logsumexp(1)
        return one + two

    def drawn(rows):
        t = peaks[(torch.rand(rows, generator=generator) > share).long()] + 0.5 * normal(generator, rows)
        which = (torch.rand(rows, generator=generator) > upper).long()
        return torch.stack([t, branches(t).gather(1, which[:, None])[:, 0] + 0.25 * normal(generator, rows)], 1)

    train, z = drawn(N), drawn(3 * N)
    own = float(log_density(z).mean()) - float(scale.log().sum())              # in the units of x

    def loss(learnt) -> float:
        return own - float(stepwise_log_prob(learnt, shift + scale * z).mean())

    x = shift + scale * train
    return {"hidden": H, "k": K, "shift": x.mean(0).tolist(), "scale": x.std(0).tolist()}, x, loss


def of_normals(x: Tensor, mean: Tensor, sigma: float) -> Tensor:
    return -0.5 * ((x - mean) / sigma) ** 2 - math.log(sigma) - 0.5 * math.log(2 * math.pi)


def equal_components(parameters: dict[str, Tensor]) -> str | None:
    first = parameters["first"]
    return "alike" if first.shape == (3, K) and (first - first[:, :1]).abs().max() < 1e-6 else None


exercise.compare("log_prob, in the units of x", densities, points=3)
exercise.slopes("gradient", densities, points=1)
exercise.compare("the density of z", standardised, points=2)
keeps_the_contract(exercise, to_prove, points=3)
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "uphill"), why=equal_components)
exercise.hint(
    "You do not know how to get from raw numbers to a distribution.",
    "Raw numbers of both variables, (B, 2, 3, k): torch.stack of first, expanded to all rows, and of b + V . h. Rows 0, 1 and 2 "
    "hold logits, means and log deviations. self.conditional(raw) makes the mixtures, in whatever units the raw numbers are.")
exercise.hint(
    "log_prob is off by an amount that depends on scale.",
    "Raw numbers describe z. Before self.conditional: mean = shift + scale * mu, and log_sigma + ln scale. The weights have no "
    "units. shift[:, None] and scale[:, None] go with (B, 2, k).")
exercise.hint(
    "check_all says that the integral is not 1, or that factor 1 does not depend on x_0.",
    "The density has to be that of x: it is asked at x, and its deviations are in the units of x. And the hidden layer has to "
    "reach the raw numbers of the second variable.")
exercise.hint(
    "fit ends well above what is asked, or in NaN.",
    "Start the means apart, in first[1] and in b[1]: between -1 and 1, since they belong to z. Start log_sigma at 0 or -0.5, W and c "
    "at random. Some hundred steps of Adam with a rate of 0.05 or less, on all rows.")
