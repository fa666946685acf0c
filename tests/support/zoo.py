"""A small one of every model and family that the library has, and rows that it takes."""
from __future__ import annotations

import torch
from torch import Tensor, nn

from course_lib.conditional import Bernoulli, Categorical, Conditional, DiscretizedLogisticMixture, MixtureOfGaussians
from course_lib.counting import ClassNGram, MarkovChain, NGram
from course_lib.density import (
    CPT,
    FVSBN,
    MADE,
    NADE,
    Autoencoder,
    Factorized,
    Logistic,
    Mixture,
    Neural,
    Tabular,
)
from course_lib.pixels import DiagonalBiLSTM, GatedPixelCNN, ImageClassifier, PixelCNN, RowLSTM
from course_lib.recurrent import AttentiveLM, RecurrentLM, Seq2Seq
from course_lib.transformer import (
    BERT,
    GPT,
    BERTConfig,
    GPTClassifier,
    GPTConfig,
    MultipleChoice,
    QuestionAnswering,
    SequenceClassifier,
    TokenClassifier,
    Transformer,
    TransformerConfig,
)
from course_lib.transformer.denoising import BART, ELECTRA, T5, XLNet
from course_lib.transformer.rotary_gpt import RotaryGPT, RotaryGPTConfig
from course_lib.words import BiLM, WordVectors

ORDER = [2, 0, 3, 1]
TEXT = [0, 1, 2, 3, 4, 1, 2, 2, 4, 3, 1, 0, 2, 4, 4, 1]
SIZE = {"layers": 1, "heads": 2, "d_model": 4, "d_ff": 6}


def bert() -> BERT:
    return BERT(BERTConfig(5, window=8, **SIZE))


MAKE = {                                                             # class -> a small one, by a seed where it draws
    "Bernoulli": Bernoulli,
    "Categorical": lambda: Categorical(3),
    "MixtureOfGaussians": lambda: MixtureOfGaussians(2, min_sigma=0.25, equal_weights=True),
    "DiscretizedLogisticMixture": lambda: DiscretizedLogisticMixture(2, 6),
    "CPT": lambda: CPT(2),
    "Logistic": lambda: Logistic(2),
    "Neural": lambda: Neural(2, 3),
    "Factorized": lambda: Factorized([Logistic(1), CPT(0), Neural(3, 2), Logistic(2)], order=[1, 0, 3, 2]),
    "Tabular": lambda: Tabular(4, parents=[[], [0], [], [1, 2]]),
    "FVSBN": lambda: FVSBN(4, ORDER),
    "NADE": lambda: NADE(4, 3, Categorical(3), ORDER),
    "MADE": lambda: MADE(4, (5, 3), DiscretizedLogisticMixture(2, 6), ORDER, seed=7),
    "Autoencoder": lambda: Autoencoder(4, (3,), MixtureOfGaussians(2)),
    "Mixture": lambda: Mixture([FVSBN(4), FVSBN(4, ORDER)]),
    "PixelCNN": lambda: PixelCNN((2, 2), 4, 1, 3, conditional=Categorical(3)),
    "GatedPixelCNN": lambda: GatedPixelCNN((2, 2), 4, 2, 3, conditional=DiscretizedLogisticMixture(2, 6)),
    "RowLSTM": lambda: RowLSTM((1, 4), 4, 1, 3),
    "DiagonalBiLSTM": lambda: DiagonalBiLSTM((2, 2), 4, 1, 3),
    "ImageClassifier": lambda: ImageClassifier((2, 2), 3, classes=2, widths=(2, 3, 4), dropout=0.25),
    "WordVectors": lambda: WordVectors(["a", "b", "c"], torch.tensor([[1.0, 0.5], [-1.0, 2.0], [0.0, 1.0]])),
    "MarkovChain": lambda: MarkovChain(5),
    "NGram": lambda: NGram(n=3, vocab_size=6, bos_id=5, smoothing="interpolated", buckets=2).fit_counts(TEXT),
    "ClassNGram": lambda: ClassNGram([0, 1, 0, 1, 0, 2], n=3, bos_id=5, smoothing="kneser-ney").fit_counts(TEXT),
    "RecurrentLM": lambda: RecurrentLM(5, 6, "lstm", layers=2, embedding=3, dropout=0.25, forget_bias=1.0, bos_id=0),
    "AttentiveLM": lambda: AttentiveLM(5, 6, "gru", "bilinear", embedding=3, bos_id=0),
    "Seq2Seq": lambda: Seq2Seq(5, 5, 4, "additive", tied=True, embedding=3),
    "BiLM": lambda: BiLM(5, 4, layers=1, dropout=0.25),
    "GPT": lambda: GPT(GPTConfig(5, window=8, bos_id=0, tied=False, **SIZE)),
    "RotaryGPT": lambda: RotaryGPT(RotaryGPTConfig(5, window=8, bos_id=0, base=100.0, rolling=True, **SIZE)),
    "BERT": bert,
    "SequenceClassifier": lambda: SequenceClassifier(bert(), 3),
    "TokenClassifier": lambda: TokenClassifier(bert(), 3),
    "QuestionAnswering": lambda: QuestionAnswering(bert()),
    "MultipleChoice": lambda: MultipleChoice(bert()),
    "GPTClassifier": lambda: GPTClassifier(GPT(GPTConfig(5, window=8, bos_id=0, tied=False, **SIZE)), 3, pad_id=1),
    "Transformer": lambda: Transformer(TransformerConfig(5, 5, 0, 1, 2, d_model=4, heads=2, d_ff=6, encoder_layers=1,
                                                         decoder_layers=1, tied="all")),
    "BART": lambda: BART(dict(source=5, target=5, pad_id=0, bos_id=2, eos_id=2, d_model=4, heads=2, d_ff=6, encoder_layers=1,
                              decoder_layers=1, window=8, scale=True)),
    "T5": lambda: T5(dict(source=5, target=5, pad_id=0, bos_id=0, eos_id=2, d_model=4, heads=2, d_ff=6, encoder_layers=1,
                          decoder_layers=1, d_kv=3, buckets=4, distance=6, tied="none")),
    "XLNet": lambda: XLNet(5, 4, ORDER, d_model=4, heads=2, layers=1),
    "ELECTRA": lambda: ELECTRA(bert(), bert(), 3.0),
}


def make(name: str, seed: int = 0) -> nn.Module | Conditional:
    """One of that class, its parameters drawn anew where it has a `randomize`; in eval mode."""
    torch.manual_seed(seed)
    thing = MAKE[name]()
    if hasattr(thing, "randomize"):
        thing.randomize(torch.Generator().manual_seed(seed))
    return thing.eval() if isinstance(thing, nn.Module) else thing


def inputs(name: str) -> tuple[Tensor, ...]:
    """What a model of that class is called with: three rows of four."""
    generator = torch.Generator().manual_seed(1)
    if name == "Autoencoder":
        return (torch.randn(3, 4, generator=generator),)
    if name == "WordVectors":
        return (["a", "c", "a"],)
    if name in ("CPT", "Logistic", "Neural"):
        return (torch.randint(2, (3, 2), generator=generator).float(),)
    rows = torch.randint(2, (3, 4), generator=generator)
    if name == "MultipleChoice":
        return (torch.stack([rows, 1 - rows], dim=1),)
    return (rows + 3, rows + 3) if name in ("Seq2Seq", "Transformer", "BART", "T5") else (rows,)
