"""A prompt of examples that fits into the window and does not give the answer away."""
from __future__ import annotations

from course_lib.exercises.draws import integer
from course_lib.exercises.telling import telling
from course_lib.grading.exercise import Exercise

exercise = Exercise(
    "few_shot_prompt", chapter="20", place=6, title="Examples that fit and do not tell",
    contract="examples is a list of pairs (asked, answer), question a list of words, and so are asked and answer; k, room and window are "
             "integers. An example is written asked, then the word 'answer:', then answer, then the word '|'; the question is written at "
             "the end, with 'answer:' behind it. An example that asks what the question asks, in whatever case, is left out. Of the others "
             "the first k stand in the prompt, in their order, or fewer: the largest number of first ones for which the prompt has at most "
             "window - room words. No example is cut, none is passed over for a shorter one. The question alone always fits. Return "
             "the prompt, a list of words.",
    points=["zero-few-shot"], difficulty=2, minutes=20)


@exercise.reference(
    leak="An example that asks the question itself stands in your prompt, with the answer. Whoever measures so measures copying.",
    leak_by_case="An example that asks the question in other letters, The for the, stands in your prompt with the answer. Compare in lower "
                 "case.",
    no_repeat="You leave out an example whose answer stands in another one too. Only what asks the question gives it away.",
    counted_first="You take the first k and then leave out the one that asks the question. One example fewer is in your prompt than could "
                  "be: leave out, then count.",
    no_room="Your prompt fills the window. The answer is to stand there too: room words of it stay free.",
    question_uncounted="Your examples alone have at most window - room words. The question at the end and the answer: "
                       "below it stand in the prompt too, and count.",
    one_less="Your prompt stops one word early. Exactly window - room words are enough.",
    cut="Your prompt is cut off at the front: half an example stands at its beginning. Leave out whole ones.",
    passed_over="An example that does not fit is passed over by your prompt, and a later one taken. Stop at the first that does not fit.",
    last_ones="You keep the last examples that fit. The first ones are asked for.",
    no_limit="More than k examples stand in your prompt.",
    turned="Your examples stand in the opposite order.",
    question_first="The question stands before the examples. It comes last, so that the model goes on with its answer.",
    no_slot="The word answer: is missing behind the question. The model would go on asking.",
    no_bar="The word | is missing behind the examples. Where one ends, the next must not run on.",
    lower="Your prompt is in lower case. Compare so, and write what was given.",
)
def few_shot_prompt_reference(examples, question, k, room, window, bugs=frozenset()):
    def key(words):
        return list(words) if "leak_by_case" in bugs else [word.lower() for word in words]

    kept = examples[:k] if "counted_first" in bugs else examples
    if "leak" not in bugs:
        kept = [(asked, answer) for asked, answer in kept if key(asked) != key(question)]
    if "no_repeat" in bugs:
        seen, first = [], []
        for asked, answer in kept:
            if answer not in seen:
                first.append((asked, answer))
            seen.append(answer)
        kept = first
    blocks = [[*asked, "answer:", *answer, *([] if "no_bar" in bugs else ["|"])] for asked, answer in kept]
    if "no_limit" not in bugs:
        blocks = blocks[:k]
    end = [*question, *([] if "no_slot" in bugs else ["answer:"])]
    most = window - (0 if "no_room" in bugs else room) - ("one_less" in bugs)
    if "cut" in bugs:
        whole = [word for block in blocks for word in block] + end
        return whole[max(0, len(whole) - most):]
    if "last_ones" in bugs:
        blocks = blocks[::-1]
    chosen, used = [], 0 if "question_uncounted" in bugs else len(end)
    for block in blocks:
        if used + len(block) <= most:
            chosen.append(block)
            used += len(block)
        elif "passed_over" not in bugs:
            break
    if ("turned" in bugs) != ("last_ones" in bugs):
        chosen = chosen[::-1]
    words = [word for block in chosen for word in block]
    prompt = [*end, *words] if "question_first" in bugs else [*words, *end]
    return [word.lower() for word in prompt] if "lower" in bugs else prompt


FAULTS = ["leak", "leak_by_case", "no_repeat", "counted_first", "no_room", "question_uncounted", "one_less", "cut", "passed_over",
          "last_ones", "no_limit", "turned", "question_first", "no_slot", "no_bar", "lower"]
WORDS = "Who wrote built found painted The the old bridge river song Rome Paris map".split()
ANSWERS = (["Anna"], ["in", "1873"], ["a", "keeper", "of", "bees"], ["nobody"])


def prompts(generator):
    """Examples of unequal length, the question among them in its own letters or in others; windows that are just enough,
    that leave room for a shorter example, and wide ones; until every fault tells. Then no example, k of 0, and a question alone in its window."""
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

    def answer(*case, bugs=frozenset()):
        return few_shot_prompt_reference(*case, bugs=bugs)

    found = telling(draw, answer, FAULTS)
    examples, question, k, room, window = found[0]
    alone = len(question) + 1 + room
    return [*found, ([], question, k, room, window), (examples, question, 0, room, window), (examples, question, k, room, alone)]


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
