"""A timeline of language models and vector semantics from 1913 to 2023, with links to the chapters.

Slides: "Timeline: Language Modeling and Vector Semantics". The year of a system is the year of the cited publication;
its "note" states where the slide differs. Its "kind" is "lm" (language model), "vectors" (vector semantics) or "both".
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import traitlets

from course_lib.explorables.base import Explorable, script, style

KINDS = {"lm": "language models", "vectors": "vector semantics", "both": "both"}
TICKS = [1913, 1948, 1980, 2003, 2010, 2018, 2023]                   # years with a label on the axis
NOW = 2026                                                           # the axis is logarithmic in years before NOW


def axis_position(year: int) -> float:
    """Return the position of a year on the axis, 0 for 1913 and 1 for 2023, logarithmic in the years before NOW."""
    first, last = math.log(NOW - TICKS[0]), math.log(NOW - TICKS[-1])
    return (first - math.log(NOW - year)) / (first - last)


def _system(id: str, year: int, label: str, kind: str, chapter: str, who: str, title: str, source: str, idea: str,
            note: str = "") -> dict:
    return {"id": id, "year": year, "label": label, "kind": kind, "chapter": chapter, "who": who, "title": title,
            "source": source, "idea": idea, "note": note, "position": round(axis_position(year), 4)}


SYSTEMS = [
    _system("markov", 1913, "Markov", "lm", "counting-text", "Andrei A. Markov",
        "An example of statistical investigation of the text Eugene Onegin concerning the connection of samples in "
        "chains",
        "Bulletin of the Imperial Academy of Sciences of St. Petersburg 7 (1913), 153-162; English in Science in "
        "Context 19 (2006), 591-600",
        "In 20,000 letters of a poem, the probability of a vowel depends on the preceding letter. This was the first "
        "Markov chain estimated from a text."),
    _system("shannon", 1948, "Shannon", "lm", "counting-text", "Claude E. Shannon", "A mathematical theory of communication",
        "Bell System Technical Journal 27 (1948), 379-423 and 623-656",
        "Samples from n-gram models of letters and words resemble English more closely as n increases. The entropy measures "
        "how predictable a text is."),
    _system("osgood", 1957, "Osgood", "vectors", "word-vectors", "Charles E. Osgood, George J. Suci and Percy H. Tannenbaum",
        "The measurement of meaning", "University of Illinois Press (1957)",
        "People rate a word on scales such as good to bad or strong to weak. The ratings of a word are its coordinates in a "
        "space of meanings."),
    _system("switzer", 1965, "Switzer", "vectors", "documents", "Paul Switzer", "Vector images in document retrieval",
        "Statistical Association Methods for Mechanized Documentation, National Bureau of Standards Misc. Publ. 269 "
        "(1965)",
        "Documents, terms and queries become vectors in one space, and the documents near a query are retrieved.",
        "The symposium was held in 1964; its proceedings are of 1965."),
    _system("jelinek", 1976, "Jelinek (IBM)", "lm", "counting-text", "Frederick Jelinek, IBM",
        "Continuous speech recognition by statistical methods", "Proceedings of the IEEE 64 (1976), 532-556",
        "A recognizer uses a statistical model of word sequences to choose between sentences that sound alike.",
        "The slide puts it at 1980, the year of Jelinek and Mercer's paper on smoothing by interpolation."),
    _system("lsa", 1990, "LSA", "vectors", "documents",
        "Scott Deerwester, Susan T. Dumais, George W. Furnas, Thomas K. Landauer and Richard Harshman",
        "Indexing by latent semantic analysis",
        "Journal of the American Society for Information Science 41 (1990), 391-407",
        "A truncated singular value decomposition of the term by document table brings words together that occur in "
        "similar documents.",
        'The slide has "Deerwater"; the name is Deerwester.'),
    _system("brown", 1992, "Word classes", "lm", "counting-text",
        "Peter F. Brown, Vincent J. Della Pietra, Peter V. deSouza, Jenifer C. Lai and Robert L. Mercer",
        "Class-based n-gram models of natural language", "Computational Linguistics 18 (1992), 467-480",
        "The class of a word predicts the next class, and this class predicts the next word. The model needs far fewer "
        "parameters than a word bigram."),
    _system("bengio", 2003, "Neural LM", "both", "fill-the-gap",
        "Yoshua Bengio, Réjean Ducharme, Pascal Vincent and Christian Jauvin", "A neural probabilistic language model",
        "Journal of Machine Learning Research 3 (2003), 1137-1155",
        "A network predicts the next word from learned vectors of the preceding words. Similar words have similar vectors "
        "and therefore similar predictions."),
    _system("lda", 2003, "LDA", "vectors", "documents", "David M. Blei, Andrew Y. Ng and Michael I. Jordan",
        "Latent Dirichlet allocation", "Journal of Machine Learning Research 3 (2003), 993-1022",
        "Each document mixes a few topics and each topic is a distribution over words, both inferred from the text."),
    _system("collobert", 2008, "Collobert & Weston", "both", "fill-the-gap", "Ronan Collobert and Jason Weston",
        "A unified architecture for natural language processing: deep neural networks with multitask learning",
        "International Conference on Machine Learning (2008), 160-167",
        "One network with one table of word vectors learns tagging, chunking, named entities, semantic roles and a "
        "language model together.",
        "The slide puts it near 2010."),
    _system("rnnlm", 2010, "RNN LM", "both", "recurrent",
        "Tomáš Mikolov, Martin Karafiát, Lukáš Burget, Jan Černocký and Sanjeev Khudanpur",
        "Recurrent neural network based language model", "Interspeech (2010), 1045-1048",
        "A hidden state carried from word to word takes the place of the fixed window of an n-gram.",
        "Not on the slide; added because chapter Recurrent networks builds on it."),
    _system("word2vec", 2013, "word2vec", "vectors", "word-vectors", "Tomas Mikolov, Kai Chen, Greg Corrado and Jeffrey Dean",
        "Efficient estimation of word representations in vector space", "arXiv:1301.3781 (2013)",
        "A model with no hidden layer predicts a word from its neighbors, or the neighbors from the word, and is kept only for "
        "its vectors."),
    _system("transformer", 2017, "Transformer", "both", "transformer",
        "Ashish Vaswani, Noam Shazeer, Niki Parmar, Jakob Uszkoreit, Llion Jones, Aidan N. Gomez, Łukasz Kaiser and "
        "Illia Polosukhin",
        "Attention is all you need", "Advances in Neural Information Processing Systems 30 (2017)",
        "Attention alone, without recurrence, relates all positions at once. The model was designed for translation. "
        "All later models here except ELMo use it.",
        "The slide mentions it only in expanding the names GPT and BERT, without a place on the axis."),
    _system("elmo", 2018, "ELMo", "both", "fill-the-gap",
        "Matthew E. Peters, Mark Neumann, Mohit Iyyer, Matt Gardner, Christopher Clark, Kenton Lee and Luke "
        "Zettlemoyer",
        "Deep contextualized word representations", "NAACL (2018), 2227-2237",
        "Two language models, one for each direction, give each word a vector that depends on its sentence."),
    _system("gpt", 2018, "GPT", "both", "gpt", "Alec Radford, Karthik Narasimhan, Tim Salimans and Ilya Sutskever",
        "Improving language understanding by generative pre-training", "OpenAI technical report (2018)",
        "A transformer trained to predict the next token is fine-tuned, nearly unchanged, for other tasks."),
    _system("bert", 2018, "BERT", "both", "bert", "Jacob Devlin, Ming-Wei Chang, Kenton Lee and Kristina Toutanova",
        "BERT: pre-training of deep bidirectional transformers for language understanding",
        "arXiv:1810.04805 (2018); NAACL (2019), 4171-4186",
        "A transformer that sees both sides fills in hidden tokens, and its vectors serve tasks of understanding."),
    _system("roberta", 2019, "RoBERTa", "both", "denoising", "Yinhan Liu, Myle Ott, Naman Goyal and others",
        "RoBERTa: a robustly optimized BERT pretraining approach", "arXiv:1907.11692 (2019)",
        "BERT gets better with more text, longer training, fresh masks at each pass and no sentence-pair task."),
    _system("xlnet", 2019, "XLNet", "both", "denoising",
        "Zhilin Yang, Zihang Dai, Yiming Yang, Jaime Carbonell, Ruslan Salakhutdinov and Quoc V. Le",
        "XLNet: generalized autoregressive pretraining for language understanding",
        "Advances in Neural Information Processing Systems 32 (2019)",
        "The chain rule holds in every order, so a model trained over random orders sees both sides and keeps exact "
        "factors."),
    _system("gpt3", 2020, "GPT-3", "both", "prompting-and-retrieval", "Tom B. Brown, Benjamin Mann, Nick Ryder and others",
        "Language models are few-shot learners", "Advances in Neural Information Processing Systems 33 (2020)",
        "A much larger next-token model does new tasks from a few examples in its prompt, with no further training."),
    _system("gpt35", 2022, "GPT-3.5", "both", "prompting-and-retrieval", "OpenAI; Long Ouyang and others for the method",
        "Training language models to follow instructions with human feedback",
        "Advances in Neural Information Processing Systems 35 (2022)",
        "A large next-token model is tuned on instructions and on people's preferences between its answers.",
        "There is no paper on GPT-3.5 itself; the one cited describes the sister model InstructGPT."),
    _system("gpt4", 2023, "GPT-4", "both", "gpt", "OpenAI", "GPT-4 technical report", "arXiv:2303.08774 (2023)",
        "A transformer trained to predict the next token takes text and images; the report gives results, not the "
        "model's size or data."),
]


class Timeline(Explorable):
    """A timeline of systems with authors, year, idea, source and chapter.

    existing  links: {slug of a chapter or id of a system: relative address}, such as {"gpt": "21-gpt.ipynb", "shannon":
              "09-counting-text.ipynb#shannon"}; the id of a system has priority. The book replaces .ipynb by .html
    selected  id of the selected system
    shown     kinds of systems that are shown: some of "lm", "vectors" and "both"

    Raises ValueError for an unknown key, id or kind.

    >>> len(Timeline().systems)
    21
    """

    _esm = script("timeline")
    _css = style("timeline")
    systems = traitlets.List(traitlets.Dict()).tag(sync=True)
    ticks = traitlets.List(traitlets.List()).tag(sync=True)
    kinds = traitlets.List(traitlets.List()).tag(sync=True)
    existing = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode("markov").tag(sync=True)
    shown = traitlets.List(traitlets.Unicode(), list(KINDS)).tag(sync=True)

    def __init__(self, existing: Mapping[str, str] | None = None, **traits):
        super().__init__(**{
            "systems": SYSTEMS,
            "ticks": [[year, round(axis_position(year), 4)] for year in TICKS],
            "kinds": [list(kind) for kind in KINDS.items()],
            "existing": dict(existing or {}),
            "alt": "Timeline of language models and vector semantics, 1913 to 2023",
            **traits,
        })

    def text(self) -> str:
        lines = ["Timeline of language models and vector semantics:"]
        for s in SYSTEMS:
            lines.append(f"{s['year']} {s['label']} ({KINDS[s['kind']]}): {s['who']}, {s['title']}. {s['idea']}"
                         + (f" [{s['note']}]" if s["note"] else ""))
        return "\n".join(lines)

    @traitlets.validate("existing")
    def _valid_existing(self, proposal):
        known = {s[field] for s in SYSTEMS for field in ("id", "chapter")}
        for key, address in proposal["value"].items():
            if key not in known:
                raise ValueError(f"existing has the key {key!r}; expected the id of a system on the timeline, such as "
                                 f"{SYSTEMS[0]['id']!r}, or the slug of a chapter, such as {SYSTEMS[0]['chapter']!r}")
            if not isinstance(address, str) or ":" in address.split("/")[0]:
                raise ValueError(f"existing[{key!r}] is {address!r}; expected a relative address, such as 'a.ipynb'")
        return proposal["value"]

    @traitlets.validate("selected")
    def _valid_selected(self, proposal):
        if proposal["value"] not in {s["id"] for s in SYSTEMS}:
            raise ValueError(f"selected is {proposal['value']!r}; expected the id of a system, one of "
                             f"{', '.join(s['id'] for s in SYSTEMS)}")
        return proposal["value"]

    @traitlets.validate("shown")
    def _valid_shown(self, proposal):
        if not set(proposal["value"]) <= set(KINDS):
            raise ValueError(f"shown is {proposal['value']}; expected a list of some of {', '.join(map(repr, KINDS))}")
        return proposal["value"]
