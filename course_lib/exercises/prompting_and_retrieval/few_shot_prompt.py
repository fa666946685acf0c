"""A prompt of examples that fits into the window and does not give the answer away."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "few_shot_prompt", chapter="prompting-and-retrieval", place=3, title="Examples that fit and do not tell",
    contract="examples is a list of pairs (asked, answer), question a list of words, and so are asked and answer; k, room and window are "
             "integers. An example is written asked, then the word 'answer:', then answer, then the word '|'; the question is written at "
             "the end, with 'answer:' behind it. An example that asks what the question asks, in whatever case, is left out. Of the others "
             "the first k stand in the prompt, in their order, or fewer: the largest number of first ones for which the prompt has at most "
             "window - room words. No example is cut, none is passed over for a shorter one. The question alone always fits. Return "
             "the prompt, a list of words.",
    points=["zero-few-shot"], difficulty=2, minutes=20)


@exercise.step
def asks_the_same(asked, question):
    return [word.lower() for word in asked] == [word.lower() for word in question]


@exercise.step
def first_others(examples, question, k):
    """The first k examples that ask something else."""
    return [(asked, answer) for asked, answer in examples if not asks_the_same(asked, question)][:k]


@exercise.step
def fitting(blocks, end, free):
    """The largest number of first blocks that have, with the end, at most `free` words."""
    number = len(blocks)
    while sum(map(len, blocks[:number])) + len(end) > free:
        number -= 1
    return blocks[:number]


@exercise.step
def prompt_of(blocks, end, room, window):
    return [word for block in fitting(blocks, end, window - room) for word in block] + end


@exercise.reference()
def few_shot_prompt_reference(examples, question, k, room, window):
    blocks = [[*asked, "answer:", *answer, "|"] for asked, answer in first_others(examples, question, k)]
    return prompt_of(blocks, [*question, "answer:"], room, window)


@exercise.misconception(
    asks_the_same,
    "An example that asks the question itself stands in your prompt, with the answer. The answer can then be copied, and its score says "
    "nothing about other questions.")
def leak(asked, question):
    return False


@exercise.misconception(
    asks_the_same,
    "An example that asks the question in other letters, The for the, stands in your prompt with the answer. Compare in lower case.")
def leak_by_case(asked, question):
    return list(asked) == list(question)


@exercise.misconception(
    first_others,
    "You leave out an example whose answer stands in another one too. Only an example that asks the question gives the answer away.")
def no_repeat(examples, question, k):
    others = first_others.original(examples, question, len(examples))
    answers = [answer for _, answer in others]
    return [example for i, example in enumerate(others) if answers[i] not in answers[:i]][:k]


@exercise.misconception(
    first_others,
    "You take the first k and then leave out the example that asks the question. Your prompt has one example fewer than it could have: "
    "leave out, then count.")
def counted_first(examples, question, k):
    return first_others.original(examples[:k], question, k)


@exercise.misconception(first_others, "More than k examples stand in your prompt.")
def no_limit(examples, question, k):
    return first_others.original(examples, question, len(examples))


@exercise.misconception(prompt_of, "Your prompt fills the window. The answer needs room there too: room words of it stay free.")
def no_room(blocks, end, room, window):
    return prompt_of.original(blocks, end, 0, window)


@exercise.misconception(
    fitting,
    "Your examples alone have at most window - room words. The question at the end and the answer: below it stand in the prompt too, and "
    "count.")
def question_uncounted(blocks, end, free):
    return fitting.original(blocks, [], free)


@exercise.misconception(fitting, "Your prompt stops one word early. Exactly window - room words are enough.")
def one_less(blocks, end, free):
    return fitting.original(blocks, end, max(free - 1, len(end)))


@exercise.misconception(
    fitting,
    "An example that does not fit is passed over by your prompt, and a later one taken. Stop at the first that does not fit.")
def passed_over(blocks, end, free):
    chosen = []
    for block in blocks:
        if sum(map(len, chosen)) + len(block) + len(end) <= free:
            chosen.append(block)
    return chosen


@exercise.misconception(fitting, "You keep the last examples that fit. The first ones are asked for.")
def last_ones(blocks, end, free):
    return fitting.original(blocks[::-1], end, free)[::-1]


WORDS = "Who wrote built cases painted The the old bridge river song Rome Paris map".split()
ANSWERS = (["Anna"], ["in", "1873"], ["a", "keeper", "of", "bees"], ["nobody"])


def prompts(generator):
    """Examples of unequal length, the question among them in its own letters or in others; windows that are just enough, that leave room
    for a shorter example, and wide ones; until every misconception gives another answer. Then no example, k of 0, and a question alone
    in its window."""
    def draw():
        def text(low, high):
            return [WORDS[integer(generator, 0, len(WORDS) - 1)] for _ in range(integer(generator, low, high))]

        question = text(3, 5)
        examples = [(text(1, 7), list(ANSWERS[integer(generator, 0, 3)])) for _ in range(integer(generator, 4, 6))]
        for words in (question, [word.swapcase() for word in question]):
            if integer(generator, 0, 2):
                examples.insert(integer(generator, 0, 3), (list(words), ["the", "truth"]))
        k, room = integer(generator, 2, 4), integer(generator, 1, 4)
        sizes = [len(asked) + len(answer) + 2 for asked, answer in examples if [w.lower() for w in asked] != [w.lower() for w in question]]
        whole = len(question) + 1 + sum(sizes[:integer(generator, 1, k)])
        return examples, question, k, room, whole + room + (0, 0, 2, 6, 40)[integer(generator, 0, 4)]

    cases = telling(draw, exercise.solve, exercise.misconceptions)
    examples, question, k, room, window = cases[0]
    alone = len(question) + 1 + room
    return [*cases, ([], question, k, room, window), (examples, question, 0, room, window), (examples, question, k, room, alone)]


exercise.compare("values", prompts, points=4)
exercise.unchanged(prompts)
exercise.hint(
    "Where to begin.",
    "Make the end first, question + ['answer:'], and count its words. Then go through the examples and add one block after the other, as "
    "long as there is place.")
exercise.hint(
    "The answer is in your prompt.",
    "Compare [word.lower() for word in asked] with the question in lower case, before you count to k.")
exercise.hint(
    "Your prompt is a word too long, or too short.",
    "What is allowed is len(prompt) <= window - room. The '|' and both 'answer:' count as words.")
