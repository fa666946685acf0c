"""Faults planted in the models of gaps, of the next word and of several tasks; see `tests.mutation`."""
from __future__ import annotations

from course_lib.words import cloze, elmo, masked, multitask, neural_lm
from tests.mutation import faults
from tests.words.gaps import checks as check
from tests.words.gaps.test_cloze import deletes_by_the_rule, is_fleschs_formula


def after_bos(module):
    return module.NeuralLM(3, 4, 2, 3, bos_id=0)


def padded_rnn(module):
    return module.BiRNNCloze(5, 3, 4)


def padded_window(module):
    return module.WindowCloze(5, 3, 2, 4)


BACK = "reverse(after, lengths)"

MUTANTS = [
    # the model of 2003
    *faults(neural_lm, after_bos, check.keeps_the_contract,
            ("the window ends with the word that it is to predict", "self.scores(padded[:, :-1].unfold", "self.scores(padded[:, 1:].unfold"),
            ("a history that is not moved on", "[state.history, x_i[:, None].long()], dim=1)[:, 1:])",
             "[state.history, x_i[:, None].long()], dim=1)[:, :-1])")),
    *faults(neural_lm, "NeuralLM", check.is_the_paper,
            ("the direct connections are made and not used", "return y if self.W is None else y + self.W(x)", "return y"),
            ("a sigmoid where the paper has tanh", "self.U(torch.tanh(self.H(x)))", "self.U(torch.sigmoid(self.H(x)))"),
            ("the vectors of the window added up where they stand side by side: order lost",
             "x = self.C(history).flatten(-2)", "x = self.C(history).mean(-2).repeat(1, 1, self.memory)")),

    # several tasks
    *faults(multitask, "MultiTask", check.is_the_shared_network,
            ("the words of a window in another order than their weights", "parts.append(table(values))",
             "parts.append(table(values).flip(1))"),
            ("features side by side over the window, not within the word", "torch.cat(parts, dim=2).flatten(1)",
             "torch.cat([part.flatten(1) for part in parts], dim=1)"),
            ("the non-linearity is missing", "F.dropout(F.relu(self.hidden(x))", "F.dropout((self.hidden(x))")),
    *faults(multitask, "ranking_loss", check.is_torchs_margin_loss,
            ("the real window is to score lower", "F.relu(1 - real + other)", "F.relu(1 + real - other)"),
            ("no margin", "F.relu(1 - real + other)", "F.relu(other - real)"),
            ("no hinge: what is right already goes on growing", "F.relu(1 - real + other).mean()", "(1 - real + other).mean()")),
    *faults(multitask, "with_another_middle", check.changes_the_middle_alone,
            ("the caller's windows are changed", "changed = windows.clone()", "changed = windows"),
            ("the last word is replaced, as if the model predicted the next one", "windows.shape[1] // 2] = middles",
             "-1] = middles")),
    *faults(multitask, "windows_of", check.cuts_every_window,
            ("windows that run out of the sentence on one side", "torch.cat([edge, features, edge])",
             "torch.cat([edge, edge, features])"),
            ("features and words of a window exchanged", ".unfold(0, 2 * radius + 1, 1).transpose(1, 2)",
             ".unfold(0, 2 * radius + 1, 1).reshape(len(features), 2 * radius + 1, -1)")),

    # a masked word
    *faults(masked, "WindowCloze", check.windows_read(2),
            ("the window holds the word itself", "torch.cat([window[..., :radius], window[..., radius + 1:]], dim=-1)",
             "window[..., 1:]"),
            ("the window is one word short on the right", "window[..., radius + 1:]], dim=-1)",
             "window[..., radius + 1:].roll(1, 0) * 0 + beyond], dim=-1)")),
    *faults(masked, "WindowCloze", check.is_the_window_network,
            ("the words after the gap before those before it", "torch.cat([window[..., :radius], window[..., radius + 1:]]",
             "torch.cat([window[..., radius + 1:], window[..., :radius]]")),
    *faults(masked, "WindowCloze", check.order_counts,
            ("the vectors are pooled though it was not asked for", "x.mean(dim=2) if self.pooled else x.flatten(2)",
             "x.mean(dim=2).repeat(1, 1, 1 if self.pooled else 2 * self.radius)")),
    *faults(masked, "TextConv", check.is_torchs_convolution,
            ("the kernel turned round, as a convolution in mathematics is", "self.W.permute(1, 2, 0)", "self.W.flip(0).permute(1, 2, 0)"),
            ("the matrices transposed: they are square, so it fits", "self.W.permute(1, 2, 0)", "self.W.permute(2, 1, 0)"),
            ("a causal convolution: all of the padding on the left", "padding=self.k).mT", "padding=2 * self.k).mT[:, :x.shape[1]]")),
    *faults(masked, "ConvCloze", check.convolutions_read,
            ("the word is not masked: the second layer reads it through its neighbour",
             "tokens.clone().index_put_((row, place), torch.full_like(place, self.mask))", "tokens"),
            ("one layer does all the work: the field is that of one kernel", "for layer in self.layers:\n            h = (h",
             "for layer in self.layers[:1]:\n            h = (h")),
    *faults(masked, "BiRNNCloze", check.both_sides_are_read,
            ("the states at the word itself: both have read it", "shifted = F.pad(tokens, (1, -1), value=self.beyond)",
             "shifted = tokens"),
            ("no backward network: what follows is not read", BACK, "0 * self.before(self.back, tokens, None)")),
    *faults(masked, "BiRNNCloze", check.is_two_torch_rnns,
            ("the backward states are not turned round again", BACK, "after"),
            ("both directions by one network", "self.before(self.back, reverse", "self.before(self.ahead, reverse")),
    *faults(masked, padded_rnn, check.reads_no_padding,
            ("the backward network begins with the padding", "lengths = None if real.all() else real.sum(dim=1)", "lengths = None")),
    *faults(masked, padded_window, check.reads_no_padding,
            ("what fills a row up is read as words", "return tokens.masked_fill(~real, self.beyond), real", "return tokens, real")),

    # ELMo
    *faults(elmo, None, check.neither_direction_looks_ahead,
            ("the second layer reads both directions of the first: it knows the word that it predicts",
             "ahead = self.one_way(x, self.ahead, lengths)",
             "ahead = self.one_way(x + self.one_way(x.flip(1), self.back, lengths)[0].flip(1), self.ahead, lengths)")),
    *faults(elmo, None, check.backward_is_causal,
            ("the backward network reads forward", "self.one_way(reverse(x, lengths), self.back, lengths)]",
             "self.one_way(x, self.back, lengths)]")),
    *faults(elmo, "BiLM", check.is_two_torch_lstms,
            ("no residual connection", "x = h if number == 0 else h + x", "x = h"),
            ("a residual connection around the first layer too", "x = h if number == 0 else h + x", "x = h + x"),
            ("a softmax without its bias", "                        self.bias)", "                        None)"),
            ("backward states left in the order of their reading", "back = [reverse(h, lengths)\n", "back = [h\n")),
    *faults(elmo, None, check.loss_is_both_log_probs,
            ("the backward targets shifted like the forward ones", "tokens[:, 1:], tokens[:, :-1]\n", "tokens[:, 1:], tokens[:, 1:]\n"),
            ("the forward direction alone", "ahead[-1][:, :-1], back[-1][:, 1:]", "ahead[-1][:, :-1], ahead[-1][:, :-1]"),
            ("the sum of the parts where the mean belongs", "return nats / len(target), len(target)", "return nats, len(target)")),
    *faults(elmo, "BiLM", check.padded_loss_is_that_of_the_rows,
            ("padding is predicted by two language models", "if mask is not None:  # a pair", "if False:  #"),
            ("the backward language model begins with the padding", "lengths = None if mask is None or mask.all() else mask.sum(dim=1)",
             "lengths = None")),
    *faults(elmo, "LayerMix", check.is_the_scalar_mixture,
            ("the weights of the mixture are not normalised", "s = self.w.softmax(dim=0)", "s = self.w"),
            ("no gamma", "return self.gamma * sum(", "return sum("),
            ("the last layer alone", "for weight, h in zip(s, states))", "for weight, h in zip(s[-1:], states[-1:]))")),
    *faults(elmo, "words_of_pieces", check.is_the_mean_of_the_pieces,
            ("the sum of the pieces where the mean belongs", "belongs = belongs / belongs.sum(dim=1, keepdim=True).clamp(min=1)", "pass"),
            ("edges counted as pieces of the first word", "F.one_hot(word + 1, words + 1)[:, :, 1:]",
             "F.one_hot(word.clamp(min=0), words)")),

    # the procedure
    *faults(cloze, "delete_every", deletes_by_the_rule,
            ("the first gap at the first word", "first = every - 1 if first is None else first", "first = first or 0"),
            ("the answers are the gaps", "[words[i] for i in places])", '["____" for i in places])')),
    *faults(cloze, "flesch", is_fleschs_formula,
            ("sentences a word where words a sentence belong", "1.015 * len(words) / sentences", "1.015 * sentences / len(words)"),
            ("a silent e counts", "return max(1, count - silent)", "return count")),
]
