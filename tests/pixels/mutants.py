"""Faults planted in the models of images; see `tests.mutation`."""
from __future__ import annotations

import torch

from course_lib.conditional import Categorical, DiscretizedLogisticMixture
from course_lib.contract import check_causal, check_views_agree
from course_lib.density import NADE
from course_lib.pixels import _incremental, attacks, detection, gated, images, masks, pixelcnn, pixelrnn
from tests.mutation import Mutant, faults
from tests.pixels import checks as check
from tests.support.random import drawn, rng


def grey(m):
    return m.PixelCNN((4, 4), 4, 1, 3)


def colours(m):
    return m.PixelCNN((3, 2, 2), 6, 1, 3)


def chained(m):
    return m.PixelCNN((3, 1, 2), 4, 1, 3, conditional=DiscretizedLogisticMixture(2, 4), colors="chain")


def stacks(m):
    return m.GatedPixelCNN((5, 5), 4, 3, 3)


def coloured_stacks(m):
    return m.GatedPixelCNN((3, 2, 2), 6, 2, 3)


def by_rows(m):
    return m.RowLSTM((4, 4), 4, 1, 3)


def by_diagonals(m):
    return m.DiagonalBiLSTM((4, 4), 4, 1, 3)


def masked(m):
    return m.MaskedConv2d(6, 6, 3, "B", 3)


def masked_levels():
    """A model of levels that are not drawn in the order of the columns."""
    return NADE(9, 4, Categorical(5), order=torch.randperm(9, generator=rng(4)))


CENTRE = "(of[0][:, None] > of[1] if kind"
GROUPS = "return torch.arange(channels) // (channels // groups)"
NARROW = "y = run(self.masked, torch.relu(run(self.down, torch.relu(h))))"
TOLD = "return self.row_of(image, self.rows_above(shifted, label, whole), label, whole)"
TOLD_BACK = """v, h = shifted, image
        for number, layer in enumerate(self.layers):
            v, down = layer.above(v, label, whole)
            y = layer.beside(h, down, label, whole)
            h = h + y if number else y
            v = v + h
        for layer in self.head:
            h = layer(torch.relu(h))
        return h"""
DOWN = "shifted = F.pad(image, (0, 0, 1, -1))                        # row r holds row r - 1"



def normalized(how):
    """A block of PixelCNN that normalises the maps z, (B, channels, H, W), before its masked convolution."""
    return f"z = run(self.down, torch.relu(h)); y = run(self.masked, torch.relu({how}))"


MUTANTS: list[Mutant] = [
    # masks
    *faults(masks, "kernel_mask", check.is_the_mask,
            ("mask A shows a pixel to itself", CENTRE, CENTRE.replace(">", ">=")),
            ("colours interleaved where they come in blocks", GROUPS, "return torch.arange(channels) % groups"),
            ("the row above is lost", "mask[:, :, :k // 2] = 1", "mask[:, :, :k // 2 - 1] = 1"),
            ("a column too many: the pixel to the right", "mask[:, :, k // 2, :k // 2] = 1", "mask[:, :, k // 2] = 1")),
    *faults(masks, masked, check.is_torchs_convolution,
            ("the mask is not in the product", "return self.weight * self.mask", "return self.weight"),
            ("padded below where above is meant: every row is read one too far", "return y[:, :, :x.shape[2]]",
             "return y[:, :, -x.shape[2]:]")),

    # PixelCNN
    *faults(pixelcnn, grey, check_causal,
            ("mask B in the first layer: a pixel sees itself", 'width, first, "A"', 'width, first, "B"')),
    *faults(pixelcnn, grey, check_causal,
            ("normalised over height and width: the mean of a map holds the pixels to come", NARROW,
             normalized("nn.functional.layer_norm(z, z.shape[2:])")),
            ("normalised by groups of channels, over height and width too", NARROW,
             normalized("nn.functional.group_norm(z, 2)"))),
    *faults(pixelcnn, colours, check_causal,
            ("normalised over all channels of a pixel: red reads blue in their mean", NARROW,
             normalized("nn.functional.layer_norm(z.movedim(1, -1), z.shape[1:2]).movedim(-1, 1)"))),
    *faults(images, colours, check_causal,
            ("mask A once more at the end: the colours of the pixel are lost, and only the loss is worse",
             'MaskedConv2d(width, outputs, 1, "B", groups)', 'MaskedConv2d(width, outputs, 1, "A", groups)'),
            seen_from=pixelcnn),
    *faults(pixelcnn, colours, check_causal,
            ("a 1 x 1 layer without groups: red sees blue", 'self.up = MaskedConv2d(inner, width, 1, "B", groups)',
             'self.up = MaskedConv2d(inner, width, 1, "B", 1)')),
    *faults(pixelcnn, colours, check_views_agree,
            ("the first layer never sees the colours of the pixel that is drawn",
             "self.network(self.scaled(state.pixel), state.label, run)  # (B",
             "self.network(self.scaled(0 * state.pixel), state.label, run)  # (B")),
    *faults(pixelcnn, grey, check_views_agree,
            ("the maps are not moved on", "*(seen[:, 1:] for seen in rest)]", "*(seen[:, :-1] for seen in rest)]"),
            ("the new pixel enters one place too early", "torch.cat([image[:, 1:-1], self.scaled(pixel)[:, None]], dim=1)",
             "torch.cat([image[:, :-2], self.scaled(pixel)[:, None]], dim=1)")),
    *faults(_incremental, grey, check_views_agree,
            ("at the edge of a row the kernel reads on around the corner", "left, right = min(column, k // 2),",
             "left, right = k // 2,"), seen_from=pixelcnn),

    # colours
    *faults(images, chained, check_causal,
            ("the chain of colours begins with the colour itself", "for b in range(c):", "for b in range(1, c + 1):"),
            seen_from=pixelcnn),
    *faults(images, chained, check.is_pixelcnn_plus_plus,
            ("every colour mixes with the same weights: what was seen of the component is forgotten",
             "weights = weights + component.log_prob(x[..., c, None])", "pass"), seen_from=pixelcnn),
    *faults(images, colours, check_views_agree,
            ("the layout is taken for the order: all red first",
             'rearrange(torch.arange(C * H * W), "(C p) -> (p C)", C=C)', "torch.arange(C * H * W)"), seen_from=pixelcnn),

    # two stacks
    *faults(gated, stacks, check_causal,
            ("the vertical stack is not shifted: it shows a row to itself", DOWN, "shifted = image"),
            ("shifted by two rows: the row above is lost", DOWN, "shifted = F.pad(image, (0, 0, 2, -2))"),
            ("a residual around mask A", "h = h + y if number else y  #",
             "h = h + y  #"),
            ("the horizontal stack feeds the vertical one, whose kernels read to the right of a pixel", TOLD, TOLD_BACK)),
    *faults(gated, coloured_stacks, check_causal,
            ("the halves of the gate have half of the groups each", "groups, above=False, copies=2)",
             "groups, above=False, copies=1)")),
    *faults(gated, stacks, check_views_agree,
            ("the vertical stack forgets the rows above", "self.rows.append(rows[:, :, 1:])",
             "self.rows.append(0 * rows[:, :, 1:])")),

    # attacks
    *faults(attacks, "fgsm", check.is_fgsm,
            ("down the loss of the true class", "sign = (-1 if targeted else 1) * g.sign().long()",
             "sign = (1 if targeted else -1) * g.sign().long()"),
            ("the sign as bytes: a level down becomes 255 up", "return clipped(x + eps * direction(g, targeted, where), x,",
             "return clipped(x + eps * direction(g, targeted, where).to(torch.uint8), x,"),
            ("the range is not kept", ".clamp(0, levels - 1)", "")),
    *faults(attacks, "pgd", check.is_pgd,
            ("clipped around the last step, not around the image", "direction(sums, targeted, where), x, eps, levels)",
             "direction(sums, targeted, where), now, eps, levels)"),
            ("the last step is kept, and not the best one", "better = reached > best", "better = reached > -torch.inf"),
            ("the margin of the target is that of the true class", "return (-1 if targeted else 1) * (others",
             "return (others")),
    *faults(attacks, "pgd", check.goes_through_the_defence,
            ("the defence is left out: it looks strong, for nothing attacks it",
             "seen = now if through is None else through(now)", "seen = now"),
            ("what the defence made is attacked, and not the image", "strongest, best, sums = now,",
             "now = through(now); strongest, best, sums = now,")),

    # detection
    *faults(detection, "rank_p_values", check.is_the_rank,
            ("the score itself is not counted: p = 0 for the lowest", "(1 + counted.double())", "(counted.double())"),
            ("the wrong direction: likely images are suspicious", "torch.searchsorted(calibration, scores, right=True)",
             "len(calibration) - torch.searchsorted(calibration, scores)"),
            ("a tie does not count", "counted = torch.searchsorted(calibration, scores, right=True)",
             "counted = torch.searchsorted(calibration, scores)"),
            ("divided by N", "/ (len(calibration) + 1)", "/ len(calibration)")),
    *faults(detection, "auc", check.is_the_area,
            ("a tie counts as a hit", "for right in (False, True))", "for right in (True, True))"),
            ("the wrong way round", "((below + up_to).mean() / 2 / len(clean))",
             "(1 - (below + up_to).mean() / 2 / len(clean))")),
    *faults(detection, "purify", lambda purify: check.is_greedy(purify, drawn(masked_levels()), 2, num=30),
            ("predicted from the pixels that came, not from the repaired ones",
             "state = model.update(state, repaired[:, i].to(dtype))", "state = model.update(state, x[:, i].to(dtype))"),
            ("the most likely of all levels, clipped to the box afterwards",
             "values.gather(0, log_p.argmax(dim=0, keepdim=True))[0]",
             "model.predict(state).logits.argmax(-1).clamp(x[:, i] - eps, x[:, i] + eps)"),
            ("the least likely", "log_p.argmax(", "log_p.argmin("),
            ("variable k in the place of the k-th variable", "i = model.variable_at(k)", "i = k")),

    # LSTMs
    *faults(pixelrnn, by_rows, check_causal,
            ("the state's part reads the row itself", "h, c = lstm(gates + of_state(h), c)",
             "h, c = lstm(gates + of_state(gates[:, :len(out.weight)]), c)")),
    *faults(pixelrnn, by_diagonals, check_causal,
            ("the mirror image is not shifted: it shows what is to the right", "x = x + out(left) + F.pad(right, (0, 0, 1, -1))",
             "x = x + out(left) + right"),
            ("the mirror image under mask A: the last pixel of the row above is lost",
             'self.first_mirrored = MaskedConv2d(self.shape[0], width, first, mirrored',
             'self.first_mirrored = MaskedConv2d(self.shape[0], width, first, "A"')),
]
