"""A density of two real variables of one's own: mixtures of Gaussians, in the units of the data."""
from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.func import functional_call

from course_lib.autoregressive import AutoregressiveModel
from course_lib.conditional import MixtureOfGaussians
from course_lib.density.nade import NADE
from course_lib.exercises.building import keeps_the_contract, reaches
from course_lib.exercises.draws import integer, normal, uneven, uniform
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "OwnDensity", chapter="05", place=6, title="A density of your own, in the units of the data",
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
IN_CONDITIONALS = {"means_stay", "no_shift", "jacobian_forgotten", "jacobian_sign", "swapped", "reads_raw", "reads_itself",
                   "independent", "variances", "of_z", "equal_weights", "no_sigmoid", "no_c"}


@exercise.class_reference(
    density_of_z="Your log_prob gives the density of z, not that of x: the Jacobian is missing. The mass that lies on one unit of z "
                 "lies on scale units of x, so the logarithm of each scale is taken off.",
    of_z="Your mixtures are those of z, and they are asked at x. Bring means and deviations into the units of x: "
         "shift + scale * mu, and ln scale joins log_sigma.",
    means_stay="Your means are those of the standardised values. In the units of x a mean is shift + scale * mu.",
    no_shift="Your means are scaled, not shifted: in the units of x a mean is shift + scale * mu.",
    jacobian_forgotten="Your deviations are those of the standardised values: the Jacobian is missing. In the units of x a deviation "
                       "is scale times as large, so ln scale joins log_sigma.",
    jacobian_sign="Your deviations are divided by scale: the sign of the Jacobian is turned around. In the units of x a deviation "
                  "is scale times as large.",
    swapped="You scale each variable by the other's scale: shift and scale hold x_1's number first.",
    reads_raw="Your hidden layer reads x_1 in its units. It is to read z_1 = (x_1 - shift_1) / scale_1.",
    reads_itself="Your mixture for x_2 depends on x_2, the variable that it predicts. It may read x_1 alone.",
    independent="Your mixture for x_2 is the same whatever x_1 is: the hidden layer plays no part.",
    variances="You take the last row for logarithms of variances. They are logarithms of deviations.",
    equal_weights="Your components have equal weights: row 0 of the raw numbers plays no part.",
    no_sigmoid="Your hidden layer has no sigmoid: it is sigmoid(c + W z_1).",
    no_c="Your hidden layer does not use c.",
    units_forgotten="Your standardized_log_prob gives the density of x at the same place. That of z = (x - shift) / scale is larger "
                    "by a factor of scale for each variable: their logarithms are missing.",
    units_sign="Your standardized_log_prob has the Jacobian with the wrong sign: scale > 1 makes the density of z larger than that "
               "of x, since the same mass lies on less length.",
    units_once="Your standardized_log_prob counts the scale of one variable. Two were scaled: both logarithms are added.",
    units_mean="Your standardized_log_prob adds the mean of the two ln scale. Their sum belongs there.",
    reads_z="Your standardized_log_prob takes z for x: it is to be moved back to the units of x first, shift + scale * z.",
    untrained="After fit, the model is as it was: the parameters of the model itself must change.",
    alike="After fit, all components of a mixture are the same. They started equal, so they received equal gradients: start the "
          "means apart.",
    uphill="Your fit climbs the loss: minimise minus the log-likelihood.",
)
def own_density(bugs):
    class OwnDensity(AutoregressiveModel):
        def __init__(self, hidden, k, shift, scale):
            super().__init__(2, MixtureOfGaussians(k, min_sigma=FLOOR))
            self.register_buffer("shift", torch.tensor(shift))
            self.register_buffer("scale", torch.tensor(scale))
            draw, apart = torch.Generator().manual_seed(0), 0.0 if "alike" in bugs else 1.0
            start = torch.stack([torch.zeros(k), apart * torch.linspace(-1, 1, k), torch.full((k,), -0.5)])
            self.first, self.b = nn.Parameter(start), nn.Parameter(start.clone())
            self.W = nn.Parameter(2 * torch.randn(hidden, generator=draw))
            self.c = nn.Parameter(torch.randn(hidden, generator=draw))
            self.V = nn.Parameter(apart * 0.1 * torch.randn(3, k, hidden, generator=draw))

        def conditionals(self, x, context=None):
            z = (x - self.shift) / self.scale
            if bugs & IN_CONDITIONALS:
                return self.by_hand(x, z)
            zeros = torch.zeros_like(self.V).flatten(0, 1)                     # the library has both for each variable
            shared = {"W": torch.stack([self.W, 0 * self.W])[:, None], "c": self.c,
                      "V": torch.stack([zeros, self.V.flatten(0, 1)]), "b": torch.cat([self.first.flatten(), self.b.flatten()])}
            found = functional_call(NADE(2, len(self.c), self.conditional), shared, z)
            normal = found.component_distribution
            moved = Normal(self.shift[:, None] + self.scale[:, None] * normal.loc, self.scale[:, None] * normal.scale,
                           validate_args=False)
            return MixtureSameFamily(found.mixture_distribution, moved, validate_args=False)

        def log_prob(self, x, context=None):
            found = super().log_prob(x)
            return found + self.scale.log().sum() if "density_of_z" in bugs else found

        def by_hand(self, x, z):
            read = (z[:, 1] if "reads_itself" in bugs else x[:, 0] if "reads_raw" in bugs else z[:, 0])[:, None]
            a = read * self.W + (0 if "no_c" in bugs else self.c)              # (B, H)
            h = a if "no_sigmoid" in bugs else a.sigmoid()
            second = self.b + (0 if "independent" in bugs else torch.einsum("bh,rkh->brk", h, self.V))
            raw = torch.stack([self.first.expand(len(x), -1, -1), second.expand(len(x), -1, -1)], 1)         # (B, 2, 3, k)
            logits, mu, log_sigma = raw.unbind(2)                              # (B, 2, k)
            shift, scale = (self.shift.flip(0), self.scale.flip(0)) if "swapped" in bugs else (self.shift, self.scale)
            if "equal_weights" in bugs:
                logits = torch.zeros_like(logits)
            if "variances" in bugs:
                log_sigma = log_sigma / 2
            if not bugs & {"means_stay", "of_z"}:
                mu = scale[:, None] * mu + (0 if "no_shift" in bugs else shift[:, None])
            if not bugs & {"jacobian_forgotten", "of_z"}:
                log_sigma = log_sigma + scale[:, None].log() * (-1 if "jacobian_sign" in bugs else 1)
            return MixtureSameFamily(Categorical(logits=logits, validate_args=False),
                                     Normal(mu, log_sigma.exp(), validate_args=False), validate_args=False)

        def standardized_log_prob(self, z):
            x, larger = z if "reads_z" in bugs else self.shift + self.scale * z, self.scale.log()
            found = self.conditionals(x).log_prob(x).sum(1)
            if "units_forgotten" in bugs:
                return found
            if "units_sign" in bugs:
                return found - larger.sum()
            return found + (larger[0] if "units_once" in bugs else larger.mean() if "units_mean" in bugs else larger.sum())

        def fit(self, x):
            optimizer = torch.optim.Adam(self.parameters(), lr=0.05, maximize="uphill" in bugs)
            for _ in range(0 if "untrained" in bugs else 10 if "uphill" in bugs else 100):
                loss = -self.by_hand(x, (x - self.shift) / self.scale).log_prob(x).sum(1).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    return OwnDensity


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
        return own - float(learnt.log_prob(shift + scale * z).double().mean().detach())

    x = shift + scale * train
    return {"hidden": H, "k": K, "shift": x.mean(0).tolist(), "scale": x.std(0).tolist()}, x, loss


def of_normals(x: Tensor, mean: Tensor, sigma: float) -> Tensor:
    return -0.5 * ((x - mean) / sigma) ** 2 - math.log(sigma) - 0.5 * math.log(2 * math.pi)


def alike(parameters: dict[str, Tensor]) -> str | None:
    first = parameters["first"]
    return "alike" if first.shape == (3, K) and (first - first[:, :1]).abs().max() < 1e-6 else None


exercise.compare("log_prob, in the units of x", densities, points=3)
exercise.slopes("gradient", densities, points=1)
exercise.compare("the density of z", standardised, points=2)
keeps_the_contract(exercise, to_prove, points=3)
reaches(exercise, f"within {GAP} nats of the source", 3, source, GAP, among=("untrained", "uphill"), why=alike)
exercise.hint(
    "You do not know how to get from raw numbers to a distribution.",
    "Raw numbers of both variables, (B, 2, 3, k): torch.stack of first, expanded to all rows, and of b + V . h. Rows 0, 1 and 2 "
    "hold logits, means and log deviations. self.conditional(raw) makes the mixtures, in whatever units the raw numbers are.")
exercise.hint(
    "log_prob is off by an amount that depends on scale.",
    "Raw numbers describe z. Before self.conditional: mean = shift + scale * mu, and log_sigma + ln scale. The weights have no "
    "units. shift[:, None] and scale[:, None] go with (B, 2, k).")
exercise.hint(
    "check_all says that the integral is not 1, or that factor 1 never reads x_0.",
    "The density has to be that of x: it is asked at x, and its deviations are in the units of x. And the hidden layer has to "
    "reach the raw numbers of the second variable.")
exercise.hint(
    "fit ends well above what is asked, or in NaN.",
    "Start the means apart, in first[1] and in b[1]: between -1 and 1, since they belong to z. Start log_sigma at 0 or -0.5, W and c "
    "at random. Some hundred steps of Adam with a rate of 0.05 or less, on all rows.")
