"""Writes tiny/ (small models with random weights) and golden.json (what Python makes of them, and of
all-MiniLM-L6-v2).

    pip install torch==2.9.0 transformers==4.57.1 sentence-transformers==5.1.2
    python golden.py ../../../target/model/all-MiniLM-L6-v2

`tests/integration/golden.rs` reads both. The tiny models have every kind of part that a real one of their
family has; layer normalisation is random too, so that no two tensors can be mistaken for each other.
"""

import json
import shutil
import sys
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer, models
from tokenizers import ByteLevelBPETokenizer
from transformers import (
    BertConfig, BertModel, BertTokenizer, BertTokenizerFast, DistilBertConfig, DistilBertModel,
    MPNetConfig, MPNetModel, MPNetTokenizerFast, RobertaConfig, RobertaModel, RobertaTokenizerFast,
)

HERE = Path(__file__).parent
TINY = HERE / "tiny"
TEXTS = [
    "a ship at sea",
    "The ships, seen by RADAR!",
    "",
    "   \t\n ",
    "x",
    "caf\u00e9 na\u00efve \u00dcber \u0130stanbul",
    "\u65e5\u672c\u8a9e and \ud55c\uad6d\uc5b4 \u0645\u0631\u062d\u0628\u0627",
    "\U0001f600 ships \U0001f6a2\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "green tea [SEP] black tea",
    "a\u00adb\u200bc\ufeffd\u0000e\u0007f",
    "ship " * 40,
    "s" * 150 + " tea",
    "black tea, green sea. " * 60,
]
PIECES = (
    "a s t e i n r o h p d c l b m g u w k y f v j q x z ##s ##t ##e ##i ##n ##r ##o ##h ##p ##d "
    "##c ##l ##b ##a ##f ##u ##m ship ##ing sea tea green black the radar at by and seen \u65e5 \u672c "
    "\u8a9e , . ! ["
).split()


def fill(model, seed):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(0.0, 0.3, generator=generator)
            if "norm" in name.lower() and name.endswith("weight"):
                parameter.add_(1.0)
    return model.eval()


def hidden(model, rows):
    out = []
    with torch.no_grad():
        for ids in rows:
            states = model.float()(input_ids=torch.tensor([ids])).last_hidden_state[0]
            out.append([round(x, 7) for x in states.flatten().tolist()])
    return out


def word_pieces(special):
    return "".join(f"{piece}\n" for piece in special + PIECES)


def case(name, model, tokenizer, limit):
    # sentence-transformers strips texts first.
    rows = tokenizer([t.strip() for t in TEXTS], truncation=True, max_length=limit)["input_ids"]
    return {"model": name, "limit": limit, "ids": rows, "hidden": hidden(model, rows)}


def pooled(folder, mode, normalize, texts):
    parts = [models.Transformer(str(folder), max_seq_length=16)]
    parts.append(models.Pooling(parts[0].get_word_embedding_dimension(), pooling_mode=mode))
    if normalize:
        parts.append(models.Normalize())
    vectors = SentenceTransformer(modules=parts, device="cpu").encode(texts)
    return [[round(float(x), 7) for x in vector] for vector in vectors]


def main():
    shutil.rmtree(TINY, ignore_errors=True)
    TINY.mkdir()
    small = dict(hidden_size=12, num_attention_heads=4, intermediate_size=24)
    cases = []

    # BERT in SciBERT's shape of twelve layers, in four kinds of file; one has a vocab.txt only, one
    # is wrapped in a model with a head, which puts "bert." before the names.
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = TINY / "vocab.txt"
    vocabulary.write_text(word_pieces(bert), encoding="utf-8")
    config = BertConfig(
        vocab_size=len(bert) + len(PIECES), num_hidden_layers=12, max_position_embeddings=32, **small
    )
    model = fill(BertModel(config), 1)
    folder = TINY / "bert"
    model.save_pretrained(folder)
    shutil.copy(vocabulary, folder)
    cases.append(case("bert", model, BertTokenizer(str(vocabulary)), 16))

    config.num_hidden_layers = 2
    config.hidden_act = "gelu_new"
    for name, kind in [("bert-f16", torch.float16), ("bert-bf16", torch.bfloat16)]:
        folder = TINY / name
        model = fill(BertModel(config), 2).to(kind)
        model.save_pretrained(folder)
        tokenizer = BertTokenizerFast(str(vocabulary), do_lower_case=False)
        tokenizer.backend_tokenizer.enable_truncation(5)
        tokenizer.backend_tokenizer.enable_padding(length=5)
        tokenizer.save_pretrained(folder)
        tokenizer.backend_tokenizer.no_padding()
        cases.append(case(name, model, tokenizer, 16))

    config.hidden_act = "relu"
    model = fill(BertModel(config, add_pooling_layer=False), 3)
    folder = TINY / "bert-pytorch"
    folder.mkdir()
    config.architectures = ["BertForMaskedLM"]
    config.save_pretrained(folder)
    torch.save({f"bert.{k}": v for k, v in model.state_dict().items()}, folder / "pytorch_model.bin")
    shutil.copy(vocabulary, folder)
    cases.append(case("bert-pytorch", model, BertTokenizer(str(vocabulary)), 16))

    model = DistilBertModel(DistilBertConfig(
        vocab_size=config.vocab_size, dim=12, n_heads=4, hidden_dim=24, n_layers=2,
        max_position_embeddings=32,
    ))
    model = fill(model, 4)
    model.save_pretrained(TINY / "distilbert")
    BertTokenizerFast(str(vocabulary)).save_pretrained(TINY / "distilbert")
    cases.append(case("distilbert", model, BertTokenizerFast(str(vocabulary)), 16))

    folder = TINY / "roberta"
    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator(
        TEXTS * 3, vocab_size=320, show_progress=False,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
    )
    folder.mkdir()
    trained.save_model(str(folder))
    tokenizer = RobertaTokenizerFast.from_pretrained(folder)
    config = RobertaConfig(
        vocab_size=len(tokenizer), num_hidden_layers=2, max_position_embeddings=34,
        type_vocab_size=1, layer_norm_eps=1e-5, **small,
    )
    model = fill(RobertaModel(config), 5)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    cases.append(case("roberta", model, tokenizer, 32))

    folder = TINY / "mpnet"
    folder.mkdir()
    mpnet = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
    (folder / "vocab.txt").write_text(word_pieces(mpnet), encoding="utf-8")
    tokenizer = MPNetTokenizerFast(str(folder / "vocab.txt"))
    config = MPNetConfig(
        vocab_size=len(tokenizer), num_hidden_layers=2, max_position_embeddings=300, hidden_size=8,
        num_attention_heads=2, intermediate_size=12,
    )
    model = fill(MPNetModel(config), 6)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    cases.append(case("mpnet", model, tokenizer, 298))

    for path in TINY.rglob("*"):
        if path.name in ("vocab.json", "merges.txt", "vocab.txt") and (path.parent / "tokenizer.json").exists():
            path.unlink()
    vocabulary.unlink()

    poolings = [
        {"pooling": mode, "normalize": normalize,
         "vectors": pooled(TINY / "bert-pytorch", mode, normalize, TEXTS)}
        for mode in ("cls", "mean", "max", "mean_sqrt_len_tokens") for normalize in (False, True)
    ]
    minilm = SentenceTransformer(sys.argv[1], device="cpu")
    golden = {
        "made with": {"torch": torch.__version__, "script": "golden.py"},
        "texts": TEXTS,
        "cases": cases,
        "poolings": poolings,
        "all-MiniLM-L6-v2": {
            "ids": minilm.tokenizer(TEXTS, truncation=True, max_length=256)["input_ids"],
            "vectors": [[round(float(x), 7) for x in v] for v in minilm.encode(TEXTS)],
        },
    }
    text = json.dumps(golden, separators=(",", ":")).replace('},{"', '},\n{"')
    (HERE / "golden.json").write_text(text + "\n")


main()
