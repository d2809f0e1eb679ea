"""Writes small folders of learned sparse encoders with random weights, and the weights of tokens that Python computes.

Run by `.ci/encoder-folders --sparse`, which describes the arguments.
"""

import importlib.util
import shutil
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
from encoder_folders import bert, build_transformer, modernbert
from encoder_tokenizers import TEXTS
from safetensors.torch import load_file, save_file
from sentence_transformers import SparseEncoder
from sentence_transformers.base.modules import Router, Transformer
from sentence_transformers.sparse_encoder.losses import FlopsLoss
from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding, SpladePooling

CHOSEN = [TEXTS[number] for number in (0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 13, 15, 18)]


@dataclass
class Model:
    """A learned sparse encoder: masked language model, pooling, queries by a weight per token, edits of the folder."""

    body: object
    pooling: dict = field(default_factory=dict)
    static_queries: bool = False
    settings: dict = field(default_factory=dict)
    edit: object = lambda folder: None


def old_names(folder):
    """Names of scale and shift of LayerNorm in files converted from TensorFlow, and a folder without modules."""
    tensors = load_file(folder / "model.safetensors")
    names = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for old, new in names.items():
        tensors = {name.replace(old, new): value for name, value in tensors.items()}
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    for path in [*folder.glob("[0-9]_*"), *folder.glob("*sentence*"), folder / "modules.json"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def masked(spec):
    spec.model = tf.AutoModelForMaskedLM.from_config
    return spec


MODELS = {
    "bert": Model(masked(bert()), settings=dict(prompts={"query": "query: ", "document": ""})),
    "bert-older": Model(masked(bert()), edit=old_names),
    "distilbert": Model(
        masked(encoder_folders.FOLDERS["distilbert"]), dict(pooling_strategy="sum", activation_function="log1p_relu")
    ),
    "roberta-untied": Model(masked(bert("roberta", tf.RobertaConfig, dict(type_vocab_size=1, tie_word_embeddings=False)))),
    "modernbert": Model(masked(modernbert())),
    "router": Model(masked(bert()), static_queries=True),
}
# Folders of crates/ir-dense/testdata/sparse-encoders.
COMMITTED = ["bert", "bert-older", "distilbert", "modernbert", "router"]
# Folders with a gradients.json, and the regularizer. Two documents per query: its positive and a hard negative.
WITH_GRADIENTS = {"bert": "flops", "distilbert": "l1", "roberta-untied": "flops", "modernbert": "flops"}
QUERIES = ["tea by sea", "radar", "who left the harbor, and when?"]
DOCUMENTS = [TEXTS[number] for number in (17, 0, 5, 6, 16, 1)]
POSITIVES = [0, 2, 4]


def save(name, folder):
    spec = MODELS[name]
    with tempfile.TemporaryDirectory() as temporary:
        build_transformer(spec.body, sum(name.encode()), temporary)
        transformer = Transformer(temporary, transformer_task="fill-mask")
        modules = [transformer, SpladePooling(**spec.pooling)]
        if spec.static_queries:
            tokenizer = transformer.tokenizer
            weight = torch.rand(len(tokenizer.get_vocab()), generator=torch.Generator().manual_seed(3))
            weight[:20] = 0
            queries = SparseStaticEmbedding(tokenizer, weight)
            modules = [Router.for_query_document([queries], modules)]
        SparseEncoder(modules=modules, device="cpu", **spec.settings).save(str(folder), create_model_card=False)
    spec.edit(folder)


def gradients(folder, regularizer):
    """Gradients of the contrastive loss with penalties, in double precision and without padding."""
    model = SparseEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float64}).to(torch.float64).eval()
    # Otherwise the pooling overwrites activations.
    model[1].train()
    encoder = with_padding_gradients(model[0].model)
    flops = FlopsLoss(model).compute_loss_from_embeddings
    penalty = {"flops": flops, "l1": lambda weights: weights.abs().sum(dim=1).mean()}[regularizer]

    def weights(side, texts):
        features = [model.preprocess([text], prompt=model.prompts.get(side), task=side) for text in texts]
        return torch.cat([model(it, task=side)["sentence_embedding"] for it in features])

    def rounded(value):
        return float(f"{float(value.detach()):.3g}")

    queries, documents = weights("query", QUERIES), weights("document", DOCUMENTS)
    scores, penalties = queries @ documents.T, [penalty(queries), penalty(documents)]
    # All terms of the loss are of similar size.
    temperature, factors = rounded(scores.std()), [rounded(0.5 / it) for it in penalties]
    loss = torch.nn.functional.cross_entropy(scores / temperature, torch.tensor(POSITIVES))
    loss = loss + factors[0] * penalties[0] + factors[1] * penalties[1]
    loss.backward()
    return {
        "queries": QUERIES,
        "documents": DOCUMENTS,
        "positives": POSITIVES,
        "temperature": temperature,
        "regularizer": regularizer,
        "penalties": factors,
        "loss": float(f"{float(loss.detach()):.7g}"),
        "tensors": tensor_gradients(encoder, folder),
    }


def write(name, folder):
    shutil.rmtree(folder, ignore_errors=True)
    save(name, folder)
    model = SparseEncoder(str(folder), device="cpu")

    def weights(encode):
        vectors = encode(CHOSEN, convert_to_sparse_tensor=False, batch_size=32)
        vectors = [[float(f"{float(x):.7g}") for x in row] for row in vectors]
        return [[[token, weight] for token, weight in enumerate(row) if weight] for row in vectors]

    values = {"texts": CHOSEN, "query": weights(model.encode_query), "document": weights(model.encode_document)}
    write_expected(folder, values, "]],[[")
    if name in WITH_GRADIENTS:
        write_gradients(folder, gradients(folder, WITH_GRADIENTS[name]))
    finish(name, folder, f"{sum(map(len, values['document']))} weights of documents")


if __name__ == "__main__":
    write_all(sys.argv[1:], MODELS, COMMITTED, "sparse-encoders", write)
