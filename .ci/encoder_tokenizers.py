"""Texts, tokenizers and weights of `.ci/encoder-folders.py` and `.ci/cross_encoder_folders.py`."""

import base64
import json
import math
import os
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

for package, pinned in {"sentence-transformers": "6.2.0", "transformers": "5.24.0", "peft": "0.21.2"}.items():
    if version(package) != pinned:
        sys.exit(f"{package} {version(package)}, expected {pinned}")
os.environ |= {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "TQDM_DISABLE": "1"}

import tokenizers as tk
import torch
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

# Texts of the tokenizers.
CORPUS = [
    "The ship left the harbor at nine and crossed the bay before the storm reached the coast.",
    "A lighthouse keeper wrote down the height of every wave, the color of the sky and the wind.",
    "Green tea is grown on hills; black tea is the same leaf, dried longer and shipped by sea.",
    "Radar and sonar measure distance: one with radio waves, the other with sound in water.",
    "In 1998, 2,500 ships and 31 ferries used port no. 7; by 2024 there were 4,116 (+64.6 %).",
    "Search engines rank documents by the terms that a query and a document share, weighted by rarity.",
    "Le café près de l'église sert du thé à la menthe; l'été, les élèves naïfs y mangent une crêpe.",
    "Die Straße führt über die Brücke zum Hafen, wo größere Schiffe nachts in Ruhe ankern können.",
    "El niño preguntó por qué el barco español llevaba señales de radio desde el puerto.",
    "Корабль вышел из порта утром, и ветер с моря дул всё сильнее; чай был горячим.",
    "غادرت السفينة الميناء في الصباح وعادت في المساء مع الشاي الأخضر.",
    "船は朝に港を出て、夕方にお茶を積んで帰ってきた。東京の海は静かだった。",
    "这艘船早上离开港口，晚上带着绿茶回来。北京的天气很好。",
    "배는 아침에 항구를 떠나 저녁에 녹차를 싣고 돌아왔다.",
    "def rank(query, documents): return sorted(documents, key=lambda d: -score(query, d))",
]
# Texts of `expected.json`. The longest ones exceed every length limit and every attention window.
TEXTS = [
    "the ship left the harbor",
    "",
    "tea",
    "   \t \n ",
    "  Two  spaces,\ttabs,\nand a new line.\r\n\n Then  text again  ",
    "The SHIPS, seen by RADAR: 2,500 of 4,116 (60.7 %) in 1998!",
    "café naïve Straße ÜBER İstanbul ﬁne Ⅷ cafe\u0301",
    "東京の海は静かだった。北京的天气很好 배는 아침에",
    "غادرت السفينة الميناء في الصباح",
    "Корабль вышел из порта утром, и чай был горячим.",
    "😀 ships 🚢👨‍👩‍👧 and 🇪🇺 flags",
    "a [MASK] ship [SEP] and <mask> tea </s> <s> x",
    "[CLS]<|endoftext|> <bos> <eos> <unk> [UNK] <pad> [PAD] end",
    "x" * 150 + " tea",
    "a-b_c.d/e@f.org: don't, won't; (it's) \"quoted\" 'text' 3.14 1e-5 $9.99 #7",
    "a\u00adb\u200bc\ufeffd\u0000e\u0007f",
    "Search engines rank documents by the terms that a query and a document share.",
    "Green tea is grown on hills; black tea is the same leaf, dried longer. Radar and sonar measure distance.",
    "The ship crossed the bay before the storm. " * 12,
    "船は朝に港を出て、" * 15 + "the end",
]
BERT = dict(pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
ROBERTA = dict(
    bos_token="<s>", pad_token="<pad>", eos_token="</s>", unk_token="<unk>", cls_token="<s>", sep_token="</s>", mask_token="<mask>"
)
T5 = dict(pad_token="<pad>", eos_token="</s>", unk_token="<unk>")
LLAMA = dict(unk_token="<unk>", bos_token="<s>", eos_token="</s>", pad_token="</s>")
LLAMA3 = dict(bos_token="<|begin_of_text|>", eos_token="<|end_of_text|>", pad_token="<|end_of_text|>")
QWEN = dict(eos_token="<|endoftext|>", pad_token="<|endoftext|>")
GEMMA = dict(pad_token="<pad>", eos_token="<eos>", bos_token="<bos>", unk_token="<unk>", mask_token="<mask>")
# Pre-tokenizer of Qwen2 and, with longer numbers, of Llama 3.
WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
NUMBERS = WORDS.replace(r"|\p{N}|", r"|\p{N}{1,3}|")
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
TESTDATA = Path(__file__).parent.parent / "crates/ir-dense/testdata"


def learn(normalizer, pre_tokenizer, size, alphabet=()):
    """Tokens and merges of byte-pair encoding. Rare characters have no token. (Other trainers are not deterministic.)"""
    counts = Counter("".join(CORPUS))
    texts = ["".join(it for it in text if alphabet or counts[it] > 1) for text in CORPUS]
    tokenizer = tk.Tokenizer(models.BPE())
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(vocab_size=size, initial_alphabet=alphabet, show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    return sorted(model["vocab"], key=model["vocab"].get), [tuple(pair) for pair in model["merges"]]


def finish(model, special, template, normalizer, pre_tokenizer, decoder, processor=None):
    """Tokenizer of a model; `template` is the post-processor's, such as `[CLS] $A [SEP]`."""
    tokenizer = tk.Tokenizer(model)
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre_tokenizer, decoder
    names = list(dict.fromkeys(special.values()))
    tokenizer.add_special_tokens([tk.AddedToken(name, lstrip=name == "<mask>", normalized=False) for name in names])
    ids = [(name, tokenizer.token_to_id(name)) for name in names if name in template.split()]
    template = processors.TemplateProcessing(single=template, special_tokens=ids)
    tokenizer.post_processor = processors.Sequence([processor, template]) if processor else template
    return tokenizer, special


def vocabulary(special, *tokens):
    return {token: number for number, token in enumerate(dict.fromkeys(sum(tokens, list(special.values()))))}


def wordpiece(special, template, lowercase=True):
    normalizer, words = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
    pieces, _ = learn(normalizer, words, 170)
    model = models.WordPiece(vocabulary(special, pieces, [f"##{it}" for it in pieces]), unk_token=special["unk_token"])
    return finish(model, special, template, normalizer, words, decoders.WordPiece())


def byte_level(special, template, normalizer=None, pattern=None):
    """Byte-level BPE of GPT-2; with a pattern, as in Qwen2 and Llama 3."""
    words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    if pattern:
        words = pre_tokenizers.Sequence([pre_tokenizers.Split(tk.Regex(pattern), "isolated"), words])
    pieces, merges = learn(normalizer, words, 340, sorted(pre_tokenizers.ByteLevel.alphabet()))
    model = models.BPE(vocabulary(special, pieces), merges)
    return finish(model, special, template, normalizer, words, decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False))


def unigram(special, template, steps, fallback=False):
    """Unigram with sentencepiece's metaspace; with byte fallback, the vocabulary has a token for each byte."""
    normalizer = normalizers.Sequence([*steps, normalizers.Replace(tk.Regex(" {2,}"), " ")])
    words = pre_tokenizers.Metaspace()
    pieces, _ = learn(normalizer, words, 300)
    text = "".join(word for line in CORPUS for word, _ in words.pre_tokenize_str(normalizer.normalize_str(line)))
    scores = {token: 0.0 for token in vocabulary(special)}
    scores |= {piece: math.log(max(text.count(piece), 1) / len(text)) for piece in pieces}
    scores |= {byte: 0.0 for byte in BYTES if fallback}
    unknown = list(scores).index(special["unk_token"])
    model = models.Unigram(list(scores.items()), unknown, byte_fallback=fallback)
    return finish(model, special, template, normalizer, words, decoders.Metaspace())


def byte_fallback_bpe(special, template, steps, words=None):
    """BPE with a token for each byte, as in Llama 2 and Gemma."""
    normalizer = normalizers.Sequence([*steps, normalizers.Replace(" ", "▁")])
    pieces, merges = learn(normalizer, words, 220)
    vocab = vocabulary(special, BYTES, pieces)
    model = models.BPE(vocab, merges, unk_token=special["unk_token"], byte_fallback=True, fuse_unk=True)
    return finish(model, special, template, normalizer, words, decoders.ByteFallback())


def precompiled():
    """Normalizer of sentencepiece, with a small character map."""
    return normalizers.Precompiled(base64.b64decode((TESTDATA / "charsmap.base64").read_text()))


NFC, NFKC = normalizers.NFC, normalizers.NFKC
ALBERT = BERT | dict(unk_token="<unk>", pad_token="<pad>")
TOKENIZERS = {
    "bert": lambda: wordpiece(BERT, "[CLS] $A [SEP]"),
    "bert-cased": lambda: wordpiece(BERT, "[CLS] $A [SEP]", lowercase=False),
    "mpnet": lambda: wordpiece(ROBERTA | dict(unk_token="[UNK]"), "<s> $A </s>"),
    "albert": lambda: unigram(
        ALBERT, "[CLS] $A [SEP]", [normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase()]
    ),
    "deberta-v2": lambda: unigram(BERT, "[CLS] $A [SEP]", [NFKC()]),
    "xlm-roberta": lambda: unigram(ROBERTA, "<s> $A </s>", [NFKC()]),
    "xlm-roberta-bytes": lambda: unigram(ROBERTA, "<s> $A </s>", [precompiled()], fallback=True),
    "t5": lambda: unigram(T5, "$A </s>", [NFKC()]),
    "roberta": lambda: byte_level(ROBERTA, "<s> $A </s>"),
    "modernbert": lambda: byte_level(BERT, "[CLS] $A [SEP]", NFC()),
    "qwen": lambda: byte_level(QWEN, "$A <|endoftext|>", NFC(), WORDS),
    "llama3": lambda: byte_level(LLAMA3, "<|begin_of_text|> $A", pattern=NUMBERS),
    "eurobert": lambda: byte_level(LLAMA3, "<|begin_of_text|> $A <|end_of_text|>", pattern=NUMBERS),
    "llama": lambda: byte_fallback_bpe(LLAMA, "<s> $A", [normalizers.Prepend("▁")]),
    "mistral": lambda: byte_fallback_bpe(LLAMA, "<s> $A </s>", [normalizers.Prepend("▁")]),
    "gemma": lambda: byte_fallback_bpe(GEMMA, "<bos> $A <eos>", [], pre_tokenizers.Split(" ", "merged_with_previous")),
}


def fill(model, seed, gain=1.4):
    """Random weights: matrices keep the scale of their input, biases are small, scales of norms are near 1."""
    generator = torch.Generator().manual_seed(seed)
    tables = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    with torch.no_grad():
        for parameter in model.parameters():
            noise = torch.randn(parameter.shape, generator=generator)
            if parameter.dim() == 1:
                parameter.add_(0.2 * noise)
            else:
                fan_in = parameter[0].numel()
                parameter.copy_(noise * (0.5 if id(parameter) in tables else gain / fan_in**0.5))
    return model.eval()


def rounded(vectors):
    return [[float(f"{float(x):.9g}") for x in vector] for vector in vectors]


def edit_json(path, change):
    value = json.loads(path.read_text())
    path.write_text(json.dumps(change(value) or value, indent=2) + "\n")
