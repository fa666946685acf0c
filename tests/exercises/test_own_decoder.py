"""The reference of `OwnDecoder` is the library's encoder-decoder, on the same weights."""
from __future__ import annotations

import torch

from course_lib.exercises.attention.own_decoder import OwnDecoder
from course_lib.recurrent import Recurrent, Seq2Seq


def test_it_is_the_encoder_decoder_of_the_library():
    torch.manual_seed(0)
    model = OwnDecoder(symbols=9, hidden=4, bos_id=1)
    theirs = Seq2Seq(source=9, target=9, hidden=4, score="additive", placement="after", bos_id=1)
    theirs.encoder, theirs.decoder = Recurrent.from_torch(model.encoder), Recurrent.from_torch(model.decoder)
    for name in ("source", "target", "bridge", "head"):
        setattr(theirs, name, getattr(model, name))
    theirs.score.load_state_dict({"W": model.W, "U": model.U, "v": model.v})
    x, source = torch.randint(3, 9, (5, 4)), torch.randint(3, 9, (5, 6))           # neither padding nor an end
    torch.testing.assert_close(model.log_prob(x, source), theirs.log_prob(x, source))
    torch.testing.assert_close(model.weights(x, source), theirs.attention_weights(source, x))
