"""Writes small folders of late-interaction models with random weights, and the token vectors that Python computes.

Run by `.ci/encoder-folders --late-interaction`, which describes the arguments.
"""

import importlib.util
import json
import shutil
import string
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

SCRIPT = importlib.util.spec_from_file_location("encoder_folders", Path(__file__).with_name("encoder-folders.py"))
encoder_folders = importlib.util.module_from_spec(SCRIPT)
sys.modules[SCRIPT.name] = encoder_folders
SCRIPT.loader.exec_module(encoder_folders)

import torch
import transformers as tf
from encoder_files import finish, tensor_gradients, with_padding_gradients, write_all, write_expected, write_gradients
from encoder_folders import bert, build_transformer, decoder, deberta, edit_json, fill, gemma, modernbert, t5
from encoder_tokenizers import TEXTS
from safetensors.torch import load_file, save_file
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import Dense, Normalize, Transformer
from sentence_transformers.multi_vector_encoder.modules import MultiVectorMask
from tokenizers import AddedToken

# A text with more than one token per character, and one that is punctuation only.
CHOSEN = [TEXTS[number] for number in (0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 13, 15, 18)] + ["?!", "don't (it's) e.g. x=1."]
TOKENS = "token_embeddings"


@dataclass
class Model:
    """A late-interaction model: transformer, its arguments, projections, mask, files that are edited when it is saved."""

    body: object
    # Output dimension, then arguments of Dense.
    projections: tuple = ((8, {}),)
    transformer: dict = field(default_factory=dict)
    # Arguments of MultiVectorMask; without a mask: None.
    mask: dict = field(default_factory=lambda: dict(skiplist_words=list(string.punctuation)))
    normalize: bool = True
    settings: dict = field(default_factory=dict)
    # Tokens that the tokenizer gets besides its own.
    added: tuple = ()
    # Changes the saved folder, before the vectors are computed.
    edit: object = lambda folder: None


def expansion(length, attend=False, strategy="fixed", **options):
    return dict(query_expansion=dict(strategy=strategy, length=length, attend=attend, **options))


def prompts(query, document):
    return dict(prompts={"query": query, "document": document})


def pylate(**values):
    """Files of PyLate 1: a projection of its own class, settings in the configuration of the model."""

    def edit(folder):
        modules = json.loads((folder / "modules.json").read_text())
        kept = [it for it in modules if it["type"].rsplit(".")[-1] in ("Transformer", "Dense")]
        for module in kept:
            if module["type"].endswith("Dense"):
                module["type"] = "pylate.models.Dense.Dense"
                names = ("module_input_name", "module_output_name")
                edit_json(folder / module["path"] / "config.json", lambda it: {k: v for k, v in it.items() if k not in names})
        (folder / "modules.json").write_text(json.dumps(kept))
        for path in [*folder.glob("*_MultiVectorMask"), *folder.glob("*_Normalize")]:
            shutil.rmtree(path)
        settings = dict(prompts={}, default_prompt_name=None, similarity_fn_name="MaxSim") | values
        (folder / "config_sentence_transformers.json").write_text(json.dumps(settings, indent=2))

    return edit


def stanford(**metadata):
    """Files of Stanford's ColBERT: the projection is a tensor of the transformer's file."""

    def edit(folder):
        tensors = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
        dense = next(folder.glob("*_Dense"))
        tensors["linear.weight"] = load_file(dense / "model.safetensors")["linear.weight"]
        for path in [*folder.glob("[0-9]_*"), folder / "modules.json", folder / "config_sentence_transformers.json"]:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        (folder / "sentence_bert_config.json").unlink()
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        edit_json(folder / "config.json", lambda it: it.update(architectures=["HF_ColBERT"]))
        (folder / "artifact.metadata").write_text(json.dumps(metadata, indent=2))

    return edit


WORDS = ("[unused0]", "[unused1]")
MARKERS = prompts("[Q] ", "[D] ")
GELU = torch.nn.GELU
MODELS = {
    "bert": Model(bert(), transformer=expansion(16), settings=MARKERS),
    "bert-attended": Model(
        bert(), ((20, dict(activation_function=GELU(), bias=True)), (20, dict(use_residual=True)), (8, dict(use_residual=True))),
        expansion(16, True) | dict(document_length=20),
        dict(skiplist_words=[".", ",", "[MASK]", "the", "no such word"], skiplist_tasks=["query", "document"]),
    ),
    "bert-minimum": Model(bert(), transformer=expansion(12, strategy="min", token="[UNK]") | dict(query_length=20)),
    "bert-plain": Model(
        bert("bert-cased"), ((8, dict(activation_function=torch.nn.Tanh(), bias=True)),), mask=None, normalize=False,
        settings=prompts("query: ", "passage: ") | dict(similarity_fn_name="meanmaxsim"),
    ),
    "bert-kept": Model(
        bert(), transformer=dict(query_length=9) | expansion(9), mask=dict(keep_only_token_ids=list(range(2, 90)), skiplist_words=["."])
    ),
    "bert-unscored": Model(bert(), transformer=expansion(10), mask=None),
    "modernbert": Model(modernbert(), transformer=expansion(24), settings=MARKERS, added=("[Q] ", "[D] ")),
    "roberta": Model(bert("roberta", tf.RobertaConfig, dict(type_vocab_size=1)), transformer=expansion(20), settings=MARKERS),
    "xlm-roberta": Model(
        bert("xlm-roberta", tf.XLMRobertaConfig, dict(type_vocab_size=1)), transformer=expansion(20),
        settings=prompts("query: ", "passage: "),
    ),
    "distilbert": Model(
        encoder_folders.FOLDERS["distilbert"], ((16, {}), (12, {}), (8, {})), expansion(14), dict(), settings=MARKERS
    ),
    "mpnet": Model(bert("mpnet", tf.MPNetConfig, dict(relative_attention_num_buckets=32)), transformer=expansion(16)),
    "t5": Model(t5(), transformer=expansion(16)),
    "gte": Model(
        bert("xlm-roberta", tf.GteConfig, dict(rope_parameters=dict(rope_theta=100.0))), transformer=expansion(16, strategy="min")
    ),
    "deberta-v3": Model(deberta(), transformer=expansion(16, True)),
    "qwen3": Model(
        decoder("qwen", tf.Qwen3Config, dict(head_dim=10, rope_parameters=dict(rope_theta=1000.0))), transformer=expansion(16)
    ),
    "gemma3": Model(gemma(dict(use_bidirectional_attention=True)), transformer=expansion(16), settings=prompts("query | ", "text | ")),
    # PyLate stores its prefixes as added tokens that are normalized, and with a space.
    "pylate": Model(
        bert(), added=("[Q] ", "[D] "),
        edit=pylate(
            model_type="ColBERT", query_prefix="[Q] ", document_prefix="[D] ", query_length=16, document_length=30,
            attend_to_expansion_tokens=False,
        ),
    ),
    "pylate-older": Model(
        modernbert(), ((12, {}), (8, dict(use_residual=True))), added=("[Q] ", "[D] "),
        edit=pylate(
            query_prefix="[Q] ", document_prefix="[D] ", query_length=12, document_length=24, do_query_expansion=False,
            skiplist_words=[".", ",", "!"], prompts={"query": "find: "},
        ),
    ),
    "stanford": Model(
        bert(), added=WORDS,
        edit=stanford(query_token_id="[unused0]", doc_token_id="[unused1]", query_maxlen=16, doc_maxlen=40, mask_punctuation=True),
    ),
    "stanford-defaults": Model(bert(), added=WORDS, edit=stanford(attend_to_mask_tokens=True, mask_punctuation=False)),
}
# Folders of crates/ir-dense/testdata/late-interaction.
COMMITTED = "bert-attended modernbert pylate stanford".split()
# Folders with a gradients.json. Two documents per query: its positive and a hard negative.
WITH_GRADIENTS = "bert-attended pylate stanford".split()
QUERIES = ["tea by sea", "radar", "who left the harbor, and when?"]
DOCUMENTS = [TEXTS[number] for number in (17, 0, 5, 6, 16, 1)]
POSITIVES = [0, 2, 4]
TEMPERATURE = 0.5


def save(name, folder):
    spec = MODELS[name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as temporary:
        # As a word of the vocabulary would be, such as [unused0].
        added = [AddedToken(it, normalized=True) for it in spec.added]
        build_transformer(spec.body, sum(name.encode()), temporary, added)
        modules = [Transformer(temporary, **spec.transformer)]
        for number, (size, settings) in enumerate(spec.projections):
            inputs = modules[-1].get_embedding_dimension()
            settings = dict(bias=False, activation_function=torch.nn.Identity(), module_input_name=TOKENS) | settings
            modules.append(fill(Dense(inputs, size, **settings), 100 + number))
        modules += [MultiVectorMask(**spec.mask)] if spec.mask is not None else []
        modules += [Normalize(module_input_name=TOKENS)] if spec.normalize else []
        model = MultiVectorEncoder(modules=modules, device="cpu", **spec.settings)
        model.save(str(folder), create_model_card=False)
    spec.edit(folder)


def encode(folder, dtype=torch.float32):
    """Token vectors of queries and documents, and scores. All texts are one batch, so that most are padded."""
    model = MultiVectorEncoder(str(folder), device="cpu", model_kwargs={"dtype": dtype}).to(dtype)
    sides = [encode(CHOSEN, batch_size=len(CHOSEN)) for encode in (model.encode_query, model.encode_document)]
    return model, sides, model.similarity(*sides)


def spans(model, side):
    """Range in bytes of every token with a vector in each text, without the white space around it."""
    prompt = model.prompts.get(side) or ""
    found = []
    for text in CHOSEN:
        features = model.preprocess([text], prompt=prompt, task=side)
        mask = model(dict(features), task=side)["attention_mask"][0].bool()
        length = int(features["attention_mask"][0].sum()) if side == "document" else None
        offsets = model.tokenizer(
            prompt + text, truncation=True, max_length=features["input_ids"].shape[1], return_offsets_mapping=True
        )["offset_mapping"][:length]
        offsets += [(0, 0)] * (len(mask) - len(offsets))
        ranges = []
        for start, end in [it for it, kept in zip(offsets, mask) if kept]:
            start, end = max(start - len(prompt), 0), max(end - len(prompt), 0)
            token = text[start:end]
            if token.strip():
                start, end = end - len(token.lstrip()), start + len(token.rstrip())
            ranges.append([len(text[:start].encode()), len(text[:end].encode())] if start < end else [0, 0])
        found.append(ranges)
    return found


def gradients(folder):
    """Gradients of the contrastive loss of MaxSim, with in-batch negatives, in double precision and without padding."""
    model = MultiVectorEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float64}).to(torch.float64).eval()
    encoder = with_padding_gradients(model[0].model)

    def vectors(side, text):
        features = model.preprocess([text], prompt=model.prompts.get(side), task=side)
        features = model(features, task=side)
        return features["token_embeddings"][0][features["attention_mask"][0].bool()]

    queries, documents = [[vectors(side, text) for text in texts] for side, texts in (("query", QUERIES), ("document", DOCUMENTS))]
    scores = torch.stack([torch.stack([(query @ it.T).amax(dim=1).sum() for it in documents]) for query in queries])
    loss = torch.nn.functional.cross_entropy(scores / TEMPERATURE, torch.tensor(POSITIVES))
    loss.backward()
    return {
        "queries": QUERIES,
        "documents": DOCUMENTS,
        "positives": POSITIVES,
        "temperature": TEMPERATURE,
        "scores": rounded(scores.detach()),
        "loss": float(f"{float(loss):.7g}"),
        "tensors": tensor_gradients(encoder, folder),
    }


def rounded(rows):
    return [[float(f"{float(x):.7g}") for x in row] for row in rows]


def write(name, folder):
    shutil.rmtree(folder, ignore_errors=True)
    save(name, folder)
    model, sides, scores = encode(folder)
    exact = encode(folder, torch.float64)[1]
    pairs = [(a, b) for found, other in zip(sides, exact) for a, b in zip(found, other)]
    error = max(float((a - b).abs().max()) for a, b in pairs if len(a))
    values = {
        "texts": CHOSEN,
        "query": [rounded(text) for text in sides[0]],
        "document": [rounded(text) for text in sides[1]],
        "query_spans": spans(model, "query"),
        "document_spans": spans(model, "document"),
        "similarity": model.similarity_fn_name,
        "scores": rounded(scores),
    }
    write_expected(folder, values, "]],[[")
    if name in WITH_GRADIENTS:
        write_gradients(folder, gradients(folder))
    finish(name, folder, f"rounding {error:.1e}")


if __name__ == "__main__":
    write_all(sys.argv[1:], MODELS, COMMITTED, "late-interaction", write)
