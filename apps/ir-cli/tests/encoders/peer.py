"""What sentence-transformers and transformers make of texts; `tests/dense.rs` compares.

    pip install torch==2.9.0 transformers==4.57.1 sentence-transformers==5.1.2
    python peer.py embed MODEL TEXTS.json OUT      token numbers and embeddings
    python peer.py scibert FOLDER                  a model of SciBERT's shape with random weights,
                                                   and its hidden states

OUT.json has the token numbers; OUT.f32 has the vectors, one after another.
"""

import json
import sys
from pathlib import Path

import numpy
import torch
from sentence_transformers import SentenceTransformer
from transformers import BertConfig, BertModel, BertTokenizer


def embed(folder, texts, out):
    model = SentenceTransformer(folder, device="cpu")
    texts = json.loads(Path(texts).read_text())
    ids = model.tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]
    Path(f"{out}.json").write_text(json.dumps(ids))
    model.encode(texts, batch_size=16).astype("<f4").tofile(f"{out}.f32")


def scibert(folder):
    folder = Path(folder)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=31090)
    model = BertModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm" in name:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    model.save_pretrained(folder)
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [chr(c) for c in range(97, 123)] + [f"##{chr(c)}" for c in range(97, 123)]
    pieces += [f"word{n}" for n in range(config.vocab_size - len(special) - len(pieces))]
    (folder / "vocab.txt").write_text("\n".join(special + pieces) + "\n")
    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    texts = ["word1 word30000 hello", "", "datasets of word17 " * 60]
    rows = tokenizer(texts, truncation=True, max_length=128)["input_ids"]
    states = []
    with torch.no_grad():
        for ids in rows:
            states.append(model(torch.tensor([ids])).last_hidden_state[0].flatten())
    torch.cat(states).numpy().astype("<f4").tofile(folder / "hidden.f32")
    (folder / "texts.json").write_text(json.dumps({"texts": texts, "ids": rows}))


{"embed": embed, "scibert": scibert}[sys.argv[1]](*sys.argv[2:])
