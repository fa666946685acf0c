"""Interactive figures for JupyterLab, Colab and the static book without a kernel.

Each is an anywidget of three files, NAME.py, NAME.js and NAME.css, beside common.js and explorables.css. NAME.js
computes what the figure shows; NAME.py computes the same values with the library, for tests and for the text output.
"""

from course_lib.explorables.alignment import Alignment
from course_lib.explorables.attacked_digit import AttackedDigit
from course_lib.explorables.attention_heads import AttentionHeads
from course_lib.explorables.bert_attention import BertAttention
from course_lib.explorables.bert_masking import MaskingForBert
from course_lib.explorables.cache_steps import CacheSteps
from course_lib.explorables.chain_rule import ChainRule
from course_lib.explorables.computation_graph import ComputationGraph
from course_lib.explorables.corruptions import Corruptions
from course_lib.explorables.decoding_tree import DecodingTree
from course_lib.explorables.drawn_digit import DrawnDigit
from course_lib.explorables.loss_surface import LossSurface
from course_lib.explorables.lstm_letters import LstmLetters
from course_lib.explorables.made_masks import MadeMasks
from course_lib.explorables.mask_editor import MaskEditor
from course_lib.explorables.nade_pixels import NadePixels
from course_lib.explorables.next_word import NextWord
from course_lib.explorables.receptive_field import ReceptiveField
from course_lib.explorables.sinusoids import Sinusoids
from course_lib.explorables.timeline import Timeline
from course_lib.explorables.translator import Translator
from course_lib.explorables.typed_document import TypedDocument
from course_lib.explorables.word_map import WordMap

__all__ = ["Alignment", "AttackedDigit", "AttentionHeads", "BertAttention", "CacheSteps", "ChainRule",
           "ComputationGraph", "Corruptions", "DecodingTree", "DrawnDigit", "LossSurface", "LstmLetters", "MadeMasks",
           "MaskEditor", "MaskingForBert", "NadePixels", "NextWord", "ReceptiveField", "Sinusoids", "Timeline",
           "Translator", "TypedDocument", "WordMap"]
