"""Chapter 01: a likelihood factor by factor, a conditional from a table, the price of a parent, bigrams in bits."""
from __future__ import annotations

import math

import torch

from course_lib.grading.bank.draws import bits, integer, joint, uneven, uniform
from course_lib.grading.exercise import Exercise

# The log-likelihood of bits from their conditionals

bernoulli_chain_loglik = Exercise(
    "bernoulli_chain_loglik", chapter="01", title="A log-likelihood, factor by factor",
    contract="x (B, D) holds 0 and 1, p (B, D) the probabilities p[b, i] = P(x_i = 1 given x_<i). "
             "Return log p(x) in nats, shape (B,).",
    points=["chain-rule"], difficulty=1, minutes=10)


@bernoulli_chain_loglik.reference(
    ones_only="Your sum takes only the variables that are 1. A 0 has a probability too: 1 - p.",
    swapped="You give every 1 the probability 1 - p and every 0 the probability p. It is the other way round: p is the "
            "probability of a 1.",
    not_logged="You return the probability itself. The logarithm is asked for.",
    averaged="You average over the variables. The chain rule multiplies the factors, so their logarithms are added: "
             "an image of 784 pixels has 784 terms, and no division.",
    negated="Your sign is the loss's, not the log-likelihood's. The logarithm of a probability is never positive.",
    in_bits="Your values are in bits (base 2). Nats are asked for: the natural logarithm.",
    summed_over_batch="You added over the batch. Each row of x is its own draw and keeps its own log-likelihood: add "
                      "over the variables, dimension 1.",
    one_number="You return one number for the whole batch. Each row keeps its own log-likelihood, shape (B,).",
    first_left_out="The first variable is missing from your sum. It has no parents, but it has a probability.",
    squeezed="A batch of one row comes back without its batch dimension. squeeze() removes every dimension of size 1; "
             "name the one that you mean.",
    underflow="You multiply the probabilities and take the logarithm at the end. Over hundreds of factors the product "
              "becomes 0 in floating point. Add logarithms instead.",
)
def bernoulli_chain_loglik_reference(x, p, bugs=frozenset()):
    if "swapped" in bugs:
        p = 1 - p
    factors = torch.where(x == 1, p, 1 - p)                                   # (B, D)
    if "underflow" in bugs or "not_logged" in bugs:
        product = factors.prod(dim=1)
        return product if "not_logged" in bugs else product.log()
    terms = factors.log()
    if "ones_only" in bugs:
        terms = terms * x
    if "first_left_out" in bugs:
        terms = terms[:, 1:]
    if "in_bits" in bugs:
        terms = terms / math.log(2)
    if "negated" in bugs:
        terms = -terms
    if "one_number" in bugs:
        return terms.sum()
    result = terms.sum(dim=0 if "summed_over_batch" in bugs else 1)
    if "averaged" in bugs:
        result = result / x.shape[1]
    return result.squeeze() if "squeezed" in bugs else result


def likelihood_cases(generator, low=2, high=9):
    sizes = [uneven(generator, (3, 7), (low, high)), uneven(generator, (2, 6), (low, high)), [1, high]]
    return [(bits(generator, *size), uniform(generator, *size, low=0.03, high=0.97)) for size in sizes]


bernoulli_chain_loglik.compare("values", likelihood_cases, points=3)
bernoulli_chain_loglik.compare("many variables", lambda g: likelihood_cases(g, 900, 1000), points=1)
bernoulli_chain_loglik.gradient("gradient", likelihood_cases, wrt=(1,), points=1)
bernoulli_chain_loglik.unchanged(likelihood_cases)
bernoulli_chain_loglik.hint(
    "You do not know where to begin.",
    "Write one factor first: the probability that variable i has the value it has. It is p where x is 1, and 1 - p "
    "where x is 0. torch.where picks between the two for all entries at once.")
bernoulli_chain_loglik.hint(
    "The shape is not (B,).",
    "Each row is one draw of all D variables. Add over the variables, which is dimension 1, and leave the batch alone.")
bernoulli_chain_loglik.hint(
    "With many variables the result is minus infinity.",
    "A product of 900 probabilities is smaller than the smallest float. Take the logarithm of each factor first, then "
    "add.")

# One conditional from a joint table

conditional_table = Exercise(
    "conditional_table", chapter="01", title="One conditional from the joint table",
    contract="joint, shape (2,) * n, holds p(x_1, ..., x_n), axis k for the variable k (from 0). Return the table of "
             "P(x_i = 1 given x_<i), shape (2,) * i: one entry for each state of the variables before i.",
    points=["cpt-table", "chain-rule"], difficulty=2, minutes=15)


@conditional_table.reference(
    not_divided="Your entries are P(x_i = 1 and x_<i). To condition on x_<i, divide by P(x_<i).",
    of_zero="Your table holds the probability of a 0. The probability of a 1 is asked for.",
    wrong_way_round="You divide by P(x_i = 1): that is the probability of the parents given the child. Divide by the "
                    "probability of the parents.",
    later_fixed="You hold the later variables at 0. They are unknown: sum over them.",
    parents_ignored="Every entry of your table is P(x_i = 1). The entry for a state of x_<i is to use that state.",
    axes_reversed="The axes of your table are in reversed order: axis k belongs to the variable k.",
    odds="Your entries are P(x_i = 1) over P(x_i = 0), the odds. Divide by the sum of the two.",
)
def conditional_table_reference(joint, i, bugs=frozenset()):
    later = tuple(range(i + 1, joint.ndim))
    table = joint.sum(dim=later) if later else joint                           # (2,) * (i + 1)
    if "later_fixed" in bugs:
        table = joint[(...,) + (0,) * len(later)]
    zero, one = table[..., 0], table[..., 1]
    if "of_zero" in bugs:
        zero, one = one, zero
    if "parents_ignored" in bugs:
        zero, one = zero.sum().expand_as(zero), one.sum().expand_as(one)
    below = zero + one
    if "wrong_way_round" in bugs:
        below = one.sum()
    if "odds" in bugs:
        below = zero
    result = one if "not_divided" in bugs else one / below
    return result.permute(tuple(reversed(range(result.ndim)))) if "axes_reversed" in bugs else result


def table_cases(generator):
    sizes = [(4, 2), (3, 1), (integer(generator, 3, 5), 0), (5, 4), (3, 2)]
    return [(joint(generator, n), i) for n, i in sizes]


conditional_table.compare("values", table_cases, points=4)
conditional_table.unchanged(table_cases)
conditional_table.hint(
    "You do not know what to do with the variables after i.",
    "Nobody has seen them: sum them out. What is left is a table over x_1, ..., x_i.")
conditional_table.hint(
    "For one state of the parents, your entry and its complement do not add up to 1.",
    "The last axis of that table holds the two values of x_i. Divide the entry for 1 by the sum of both.")
conditional_table.hint(
    "The last variable, or the first, raises an error.",
    "The last has nothing after it to sum over, and sum(dim=()) adds everything: treat it apart. The first has no "
    "parents, and its table is one number, shape ().")

# What a dropped parent costs

dropped_parent_cost = Exercise(
    "dropped_parent_cost", chapter="01", title="Predict, then measure: the price of a parent",
    contract="joint, shape (2,) * n, as before; child and parent are variables, parent < child. Return the number of "
             "nats that the expected log-likelihood loses when the table of child may no longer read parent, but "
             "still reads the other variables before child.",
    points=["cond-independence"], difficulty=3, minutes=25, kind="measure")


@dropped_parent_cost.reference(
    alone="You compare the child with this parent alone. The other parents are still there, and may already say what "
          "this one says.",
    all_dropped="You dropped every parent. Only one is to go.",
    in_bits="Your value is in bits. Nats are asked for.",
    negated="Your cost is negative. A table that may read less never fits better: the cost is what is lost.",
    unweighted="You average over the states as if all were equally likely. Weight each by its probability in joint.",
    later_too="Your tables also read the variables after the child. The chain rule lets a child read what comes before "
              "it only.",
    one_state="You look at the states where the child is 1 only. The log-likelihood of a 0 changes as well.",
)
def dropped_parent_cost_reference(joint, child, parent, bugs=frozenset()):
    if "later_too" not in bugs and child + 1 < joint.ndim:
        joint = joint.sum(dim=tuple(range(child + 1, joint.ndim)))
    kept = tuple(range(joint.ndim))
    if "alone" in bugs:
        joint = joint.sum(dim=tuple(j for j in kept if j not in (child, parent)), keepdim=True)
    gone = tuple(j for j in kept if j != child) if "all_dropped" in bugs else (parent,)
    with_parent = joint / joint.sum(dim=child, keepdim=True)
    less = joint.sum(dim=gone, keepdim=True)
    without = less / less.sum(dim=child, keepdim=True)
    weight = torch.full_like(joint, 1 / joint.numel()) if "unweighted" in bugs else joint
    terms = weight * (with_parent / without).log()
    if "one_state" in bugs:
        terms = terms.select(child, 1)
    cost = terms.sum()
    return cost / math.log(2) if "in_bits" in bugs else -cost if "negated" in bugs else cost


def dropped_cases(generator):
    return [(joint(generator, n), child, parent) for n, child, parent in
            [(4, 2, 0), (4, 2, 1), (4, 3, 1), (3, 1, 0), (5, 3, 2)]]


dropped_parent_cost.compare("values", dropped_cases, points=4, atol=1e-7)
dropped_parent_cost.unchanged(dropped_cases)
dropped_parent_cost.hint(
    "You do not know which two models to compare.",
    "One has the full table of the child. The other has the best table that does not read the parent: the conditional "
    "of the same joint, with the parent summed out. All other factors are equal and cancel.")
dropped_parent_cost.hint(
    "Your cost comes out negative, or larger than log 2.",
    "The expectation is under the joint itself: sum p(x) times the difference of the two log-conditionals. It is never "
    "negative, and one bit of a child cannot cost more than log 2 nats.")
dropped_parent_cost.hint(
    "Your cost does not depend on the other parents.",
    "Sum out the later variables and the one parent, nothing else. keepdim=True keeps the axes aligned, so that the "
    "two tables divide entry by entry.")

# Bits per symbol of a bigram

bigram_bits = Exercise(
    "bigram_bits", chapter="01", title="Bits per symbol of a bigram",
    contract="train and test are tensors of symbols 0..V-1. Estimate p(next | previous) from the pairs of train, with "
             "alpha added to every count. Return the mean over the pairs of test of -log2 p(next | previous), one "
             "number.",
    points=["shannon-ngram", "markov-1913"], difficulty=2, minutes=20)


@bigram_bits.reference(
    in_nats="Your value is in nats. Bits are asked for: divide by ln 2.",
    backwards="Your table predicts the previous symbol from the next. Rows are what came before, columns what follows.",
    joint_pairs="Your table holds the probabilities of pairs: all its entries sum to 1. Each row is to sum to 1.",
    not_smoothed="You do not add alpha. A pair that train never shows has probability 0 then, and costs infinitely "
                 "many bits.",
    denominator="Your rows do not sum to 1: alpha is added to each of the V counts, so V times alpha to their sum.",
    on_train="You measured on train. A model has seen those pairs; what it is worth shows on test.",
    one_too_many="You divide by the number of symbols. There is one pair less than there are symbols.",
    summed="You return the bits of the whole of test. Divide by its number of pairs.",
    perplexity="You return the perplexity, 2 to the power of the bits. The bits are asked for.",
    unigram="Your probabilities do not depend on the previous symbol.",
)
def bigram_bits_reference(train, test, V, alpha, bugs=frozenset()):
    counts = torch.zeros(V, V, dtype=torch.float64)
    counts.index_put_((train[:-1], train[1:]), torch.ones(len(train) - 1, dtype=torch.float64), accumulate=True)
    if "backwards" in bugs:
        counts = counts.T
    if "unigram" in bugs:
        counts = torch.bincount(train, minlength=V).double().expand(V, V)
    smooth = counts if "not_smoothed" in bugs else counts + alpha
    total = smooth.sum() if "joint_pairs" in bugs else smooth.sum(dim=1, keepdim=True)
    if "denominator" in bugs:
        total = counts.sum(dim=1, keepdim=True)
    if "on_train" in bugs:
        test = train
    bits = -(smooth / total).log2()[test[:-1], test[1:]]
    if "summed" in bugs:
        return bits.sum()
    mean = bits.sum() / len(test) if "one_too_many" in bugs else bits.mean()
    return mean * math.log(2) if "in_nats" in bugs else 2**mean if "perplexity" in bugs else mean


def text_cases(generator):
    found = []
    for _ in range(3):
        V, T, S = integer(generator, 4, 6), integer(generator, 60, 90), integer(generator, 20, 40)
        rows = torch.rand(V, V, generator=generator) ** 4 + 0.01            # some pairs are rare
        text = [integer(generator, 0, V - 1)]
        for _ in range(T + S):
            text.append(int(torch.multinomial(rows[text[-1]], 1, generator=generator)))
        train, test = torch.tensor(text[:T]), torch.tensor(text[T:])
        train[train == V - 1] = 0                                            # a symbol that train never shows
        test[5] = V - 1
        found.append((train, test, V, 0.1 + 0.8 * float(torch.rand((), generator=generator))))
    return found


bigram_bits.compare("values", text_cases, points=4)
bigram_bits.unchanged(text_cases)
bigram_bits.hint(
    "You do not know how to count pairs.",
    "The pairs are train[:-1] (previous) and train[1:] (next). A loop over them is fine; index_put_ with "
    "accumulate=True does it in one call.")
bigram_bits.hint(
    "The result is infinite or NaN.",
    "A pair, or a whole row, that train never shows has count 0. Add alpha to every entry before you divide each row by "
    "its own sum.")
bigram_bits.hint(
    "The result is too good.",
    "Count on train, measure on test. Then divide by the number of pairs of test, and take base 2.")

EXERCISES = [bernoulli_chain_loglik, conditional_table, dropped_parent_cost, bigram_bits]
