"""Topic models: latent Dirichlet allocation by scikit-learn."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


class TopicModel:
    r"""Latent Dirichlet allocation, fitted to bags of words by variational Bayes.

    Each document has a mixture of topics $\theta \sim \mathrm{Dir}(\alpha)$. For each of its words a topic $z \sim
    \theta$ is sampled, and then the word $w \sim \phi_z$ from the distribution of topic z over words.

    counts      (N, V), count of each word in each document
    num         number of topics
    alpha       concentration of the topic mixtures; None: 1/num. Small values give few topics per document
    iterations  number of passes over the documents
    seed        seed of the random initialization

    Slides: "Timeline: Language Modeling and Vector Semantics". Paper: Blei, Ng and Jordan 2003.

    >>> model = TopicModel(torch.tensor([[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 9.0, 9.0]]), 2, alpha=0.1)
    >>> sorted(sorted(topic) for topic in model.top_words(["oven", "bread", "rail", "train"], 2))
    [['bread', 'oven'], ['rail', 'train']]
    """

    def __init__(self, counts: Tensor, num: int, alpha: float | None = None, iterations: int = 50, seed: int = 0):
        from sklearn.decomposition import LatentDirichletAllocation  # slow to import

        if num < 1:
            raise ValueError(f"num is {num}; expected at least 1 topic")
        if counts.dim() != 2 or not counts.any():
            raise ValueError(f"counts has shape {tuple(counts.shape)} and sum {counts.sum():g}; expected (documents, words) "
                             "with at least one count above 0")
        self._lda = LatentDirichletAllocation(num, doc_topic_prior=alpha, max_iter=iterations, random_state=seed)
        self._lda.fit(counts.numpy())

    @property
    def topics(self) -> Float[Tensor, "num V"]:
        """Matrix of p(word | topic): each row is the distribution of a topic over the V words."""
        weights = torch.from_numpy(self._lda.components_)
        return weights / weights.sum(dim=1, keepdim=True)

    def mixtures(self, counts: Float[Tensor, "N V"]) -> Float[Tensor, "N num"]:
        """Posterior mean of the topic mixture p(topic | document) of each document, given its word counts."""
        return torch.from_numpy(self._lda.transform(self._fitting(counts)))

    def top_words(self, words: list[str], num: int = 8) -> list[list[str]]:
        """The `num` most probable words of each topic, in descending order.

        words  V words: words[i] is the word of column i of the counts
        """
        if len(words) != self.topics.shape[1]:
            raise ValueError(f"words has {len(words)} words; expected {self.topics.shape[1]}, one per column of counts")
        return [[words[i] for i in row.topk(min(num, len(words))).indices.tolist()] for row in self.topics]

    def perplexity(self, seen: Float[Tensor, "N V"], held_out: Float[Tensor, "N V"]) -> float:
        r"""Perplexity of held-out words w, $\exp\bigl(-\frac{1}{n} \sum_w \ln \sum_z \theta_z \phi_{z w}\bigr)$.

        seen      (N, V), counts of the words from which the mixture theta of each document is inferred
        held_out  (N, V), counts of the other words of the same documents, n words in total

        Unlike the bound that scikit-learn computes, it is comparable with the perplexity of a unigram model.
        """
        held_out = torch.as_tensor(self._fitting(held_out)).double()
        p = self.mixtures(seen) @ self.topics                        # (N, V): of the next word of each document
        return float((-(held_out * p.log()).sum() / held_out.sum()).exp())

    def _fitting(self, counts: Tensor):
        if counts.dim() != 2 or counts.shape[1] != self._lda.components_.shape[1]:
            raise ValueError(f"counts has shape {tuple(counts.shape)}; expected (documents, words) with "
                             f"{self._lda.components_.shape[1]} words, as in the counts of the fit")
        return counts.numpy()
