"""Writes small folders of sentence-transformers' CrossEncoder with random weights, and the scores that Python computes.

Run by `.ci/encoder-folders --cross-encoders`, which describes the arguments.
"""

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

# First: checks the versions, and sets variables of the libraries.
from encoder_tokenizers import TEXTS, TOKENIZERS, edit_json, fill, rounded
from encoder_files import cosines, finish, tensor_gradients, with_padding_gradients, write_all, write_expected, write_gradients

import torch
import transformers as tf
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.modules import LogitScore, Transformer
from sentence_transformers.sentence_transformer import modules as st
from tokenizers import processors

# Query and document of every pair, by their numbers in TEXTS: short, empty, one or both beyond the maximum length.
PAIRS = [
    (0, 16), (16, 0), (2, 1), (1, 2), (2, 18), (18, 2), (18, 19), (19, 18), (18, 18), (17, 16), (5, 15), (6, 9), (9, 8),
    (8, 7), (7, 10), (10, 6), (11, 12), (12, 11), (13, 14), (14, 13), (3, 4), (4, 3), (17, 18), (2, 2),
]
# Pairs of gradients.json.
GRADIENT_PAIRS = [(0, 16), (2, 18), (6, 9)]
# Inputs of a model.
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Without a special token, an empty pair has no tokens.
EMPTY = (1, 1)

SPECIAL = {
    "[CLS]": "[CLS] $A [SEP] $B:1 [SEP]:1",
    "<s>": "<s> $A </s> </s> $B </s>",
    "modernbert": "[CLS] $A [SEP] $B [SEP]",
    "qwen": "$A $B",
    "llama": "<s> $A <s> $B",
    "llama3": "<|begin_of_text|> $A <|begin_of_text|> $B",
    "eurobert": "<|begin_of_text|> $A <|end_of_text|> $B <|end_of_text|>",
    "gemma": "<bos> $A <eos> <bos> $B <eos>",
}
PAIR_TEMPLATES = dict.fromkeys(("bert", "bert-cased", "albert", "deberta-v2"), SPECIAL["[CLS]"])
PAIR_TEMPLATES |= dict.fromkeys(("mpnet", "roberta", "xlm-roberta"), SPECIAL["<s>"])
PAIR_TEMPLATES |= {name: SPECIAL[name] for name in ("modernbert", "qwen", "llama", "llama3", "eurobert", "gemma")}

# Prompt of Qwen3-Reranker.
CHAT = (
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct provided. "
    'Note that the answer can only be "yes" or "no".<|im_end|>\n<|im_start|>user\n<Instruct>: '
    "{{ messages | selectattr('role', 'eq', 'system') | map(attribute='content') | first | "
    "default('Given a web search query, retrieve relevant passages that answer the query', true) }}\n"
    "<Query>: {{ messages | selectattr('role', 'eq', 'query') | map(attribute='content') | first }}\n"
    "<Document>: {{ messages | selectattr('role', 'eq', 'document') | map(attribute='content') | first }}<|im_end|>\n"
    "<|im_start|>assistant\n<think>\n\n</think>\n\n"
)
STRUCTURED = (
    "{% for message in messages %}{% if message.role == 'system' %}Task: {{ message.content[0].text | trim }}\n"
    "{% elif message['role'] == \"query\" %}Query: {{ message.content[0]['text'] }}\n"
    "{%- else %} Document: {% for part in message.content %}{{ part.text }}{% endfor %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}unused{% endif %}\nRelevant:"
)


@dataclass
class Model:
    """A cross-encoder: transformer, head, modules, files that are edited when it is saved."""

    tokenizer: str
    config: type
    settings: dict
    labels: int = 1
    length: int = 48
    # Arguments of the tokenizer, Transformer and CrossEncoder.
    tokens: dict = field(default_factory=dict)
    transformer: dict = field(default_factory=dict)
    model: dict = field(default_factory=dict)
    # Layout: "modules" as CrossEncoder.save writes it, "plain" as transformers does.
    layout: str = "modules"
    kind: type = tf.AutoModelForSequenceClassification
    # Modules after the transformer, made from it.
    modules: object = None
    edit: object = lambda folder: None


def bert(tokenizer="bert", config=tf.BertConfig, settings={}, **options):
    small = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24, max_position_embeddings=64)
    return Model(tokenizer, config, small | settings, **options)


def decoder(tokenizer, config, settings={}, **options):
    small = dict(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, intermediate_size=24,
        max_position_embeddings=128, head_dim=8,
    )
    return Model(tokenizer, config, small | settings, **options)


def modernbert(settings={}, **options):
    small = dict(num_hidden_layers=2, local_attention=8, global_attn_every_n_layers=2)
    return bert("modernbert", tf.ModernBertConfig, small | settings, **options)


def deberta(settings={}, **options):
    version_3 = dict(
        relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p",
        position_biased_input=False, max_relative_positions=-1,
    )
    return bert("deberta-v2", tf.DebertaV2Config, version_3 | settings, **options)


def causal(tokenizer="qwen", config=tf.Qwen3Config, settings={}, score=dict(true_token_id=20, false_token_id=30), **options):
    options = dict(kind=tf.AutoModelForCausalLM, modules=lambda transformer: [LogitScore(**score)], length=96) | options
    settings = dict(max_position_embeddings=512) | settings
    return decoder(tokenizer, config, settings, transformer=dict(transformer_task="text-generation"), **options)


def pooled(transformer):
    """Head of modules after pooling: Dense, LayerNorm and Dense."""
    size = transformer.get_embedding_dimension()
    return [
        st.Pooling(size, "mean"),
        fill(st.Dense(size, 20, activation_function=torch.nn.GELU()), 101),
        fill(st.LayerNorm(20), 102),
        fill(st.Dense(20, 1, activation_function=torch.nn.Identity(), module_output_name="scores"), 103),
    ]


def pooled_cls(transformer):
    size = transformer.get_embedding_dimension()
    dense = st.Dense(size, 3, bias=False, activation_function=torch.nn.Identity(), module_output_name="scores")
    return [st.Pooling(size, ("cls",)), fill(dense, 104)]


def config_edit(**fields):
    return lambda folder: edit_json(folder / "config.json", lambda config: config | fields)


def without_defaults(folder):
    """Removes settings of the head with default values."""
    names = "classifier_pooling classifier_activation classifier_bias pooler_hidden_act norm_bias tie_word_embeddings".split()
    edit_json(folder / "config.json", lambda it: {name: value for name, value in it.items() if name not in names})


IDENTITY = dict(activation_fn=torch.nn.Identity())
FEATURES = dict(transformer_task="feature-extraction")
ONE_TYPE = dict(type_vocab_size=1)
ROPE = dict(rope_parameters=dict(rope_theta=100.0))
INSTRUCTION = dict(prompts={"task": "Find papers", "other": "x"}, default_prompt_name="task")
MODELS = {
    "bert": bert(model=IDENTITY),
    "bert-3-labels": bert(labels=3, layout="plain"),
    "bert-plain": bert(
        layout="plain",
        edit=config_edit(sentence_transformers={"activation_fn": "torch.nn.modules.linear.Identity", "version": "4.0.0"}),
    ),
    "bert-sigmoid": bert(layout="plain"),
    "bert-older": bert(layout="plain", edit=config_edit(sbert_ce_default_activation_function="torch.nn.modules.activation.Tanh")),
    "bert-untrusted": bert(layout="plain", edit=config_edit(sentence_transformers={"activation_fn": "some.package.Function"})),
    "bert-prompts": bert(model=IDENTITY | dict(prompts={"q": "query: ", "d": "passage: "}, default_prompt_name="q")),
    "bert-left": bert(tokens=dict(truncation_side="left"), length=15, model=IDENTITY),
    "bert-short": bert(length=5, model=IDENTITY),
    "bert-lowercase": bert("bert-cased", model=IDENTITY, transformer=dict(do_lower_case=True)),
    "bert-length": bert(model=IDENTITY, transformer=dict(max_seq_length=21)),
    "bert-pooled": bert(transformer=FEATURES, modules=pooled, model=IDENTITY),
    "bert-pooled-3-labels": bert(transformer=FEATURES, modules=pooled_cls, kind=tf.AutoModel),
    "roberta": bert("roberta", tf.RobertaConfig, ONE_TYPE, model=IDENTITY),
    "roberta-3-labels": bert("roberta", tf.RobertaConfig, ONE_TYPE, labels=3, layout="plain"),
    "xlm-roberta": bert("xlm-roberta", tf.XLMRobertaConfig, ONE_TYPE, model=IDENTITY),
    "camembert": bert("xlm-roberta", tf.CamembertConfig, ONE_TYPE, model=IDENTITY),
    "distilbert": Model(
        "bert", tf.DistilBertConfig, dict(dim=16, n_layers=1, n_heads=2, hidden_dim=24, max_position_embeddings=64), model=IDENTITY
    ),
    "mpnet": bert("mpnet", tf.MPNetConfig, dict(relative_attention_num_buckets=32), model=IDENTITY),
    "albert": bert("albert", tf.AlbertConfig, dict(embedding_size=8, num_hidden_layers=2), model=IDENTITY),
    "electra": bert(config=tf.ElectraConfig, settings=dict(embedding_size=8), model=IDENTITY),
    "deberta-v3": deberta(model=IDENTITY, edit=without_defaults),
    "deberta-v2": deberta(dict(pooler_hidden_act="tanh", type_vocab_size=2), labels=3),
    "modernbert": modernbert(model=IDENTITY, edit=without_defaults),
    "modernbert-mean": modernbert(
        dict(classifier_pooling="mean", classifier_bias=True, norm_bias=True, classifier_activation="silu"), labels=3
    ),
    "nomic-bert": bert(config=tf.NomicBertConfig, settings=ROPE, model=IDENTITY),
    "gte": bert("xlm-roberta", tf.GteConfig, ROPE, model=IDENTITY),
    "jina-embeddings-v3": bert("xlm-roberta", tf.JinaEmbeddingsV3Config, ROPE, model=IDENTITY),
    "eurobert": decoder("eurobert", tf.EuroBertConfig, model=IDENTITY, edit=without_defaults),
    "eurobert-mean": decoder("eurobert", tf.EuroBertConfig, dict(classifier_pooling="mean"), labels=3),
    "eurobert-bos": decoder("eurobert", tf.EuroBertConfig, dict(classifier_pooling="bos"), model=IDENTITY),
    "llama": decoder("llama", tf.LlamaConfig, model=IDENTITY),
    "mistral": decoder("llama", tf.MistralConfig, dict(sliding_window=6), model=IDENTITY),
    "qwen2": decoder("qwen", tf.Qwen2Config, model=IDENTITY, layout="plain"),
    "qwen3": decoder("qwen", tf.Qwen3Config, labels=3, tokens=dict(padding_side="left")),
    "qwen3-chat": decoder("qwen", tf.Qwen3Config, model=IDENTITY, tokens=dict(chat_template=STRUCTURED), length=64),
    "gemma3": decoder("gemma", tf.Gemma3TextConfig, dict(sliding_window=6), model=IDENTITY),
    "qwen3-reranker": causal(settings=dict(tie_word_embeddings=True), tokens=dict(chat_template=CHAT), length=400, model=IDENTITY),
    "qwen3-reranker-short": causal(tokens=dict(chat_template=CHAT), length=330, model=IDENTITY | INSTRUCTION),
    "qwen3-reranker-structured": causal(tokens=dict(chat_template=STRUCTURED), model=IDENTITY | INSTRUCTION),
    "qwen3-reranker-left": causal(tokens=dict(chat_template=CHAT, truncation_side="left"), length=330, model=IDENTITY),
    "qwen3-yes-no": causal(model=IDENTITY, edit=without_defaults),
    "llama-yes": causal("llama", tf.LlamaConfig, score=dict(true_token_id=40), model=IDENTITY),
    "gemma3-yes-no": causal("gemma", tf.Gemma3TextConfig, settings=dict(sliding_window=6), model=IDENTITY, edit=without_defaults),
    "qwen2-plain-yes-no": causal(config=tf.Qwen2Config, layout="plain", modules=None),
}

# Folders of crates/ir-dense/testdata/cross-encoders.
COMMITTED = (
    "albert bert bert-3-labels bert-left bert-pooled deberta-v2 distilbert electra eurobert gte jina-embeddings-v3 modernbert "
    "modernbert-mean mpnet nomic-bert qwen3 qwen3-reranker-short roberta"
).split()


def tokenizer_of(spec):
    """Tokenizer with a template for pairs; decoders have the tokens `yes` and `no`."""
    tokenizer, special = TOKENIZERS[spec.tokenizer]()
    template = PAIR_TEMPLATES[spec.tokenizer]
    single = template[: template.index("$B")].strip() if template.count("<s>") != 2 else "<s> $A"
    single = {"$A": "$A", "<|begin_of_text|> $A <|begin_of_text|>": "<|begin_of_text|> $A"}.get(single, single)
    ids = [(name, tokenizer.token_to_id(name)) for name in set(special.values()) if name in template]
    pair = processors.TemplateProcessing(single=single, pair=template, special_tokens=ids)
    # Byte-level tokenizers have a processor before the template.
    state = json.loads(tokenizer.to_str())["post_processor"]
    is_byte_level = state["type"] == "Sequence"
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), pair]) if is_byte_level else pair
    if spec.kind is tf.AutoModelForCausalLM:
        tokenizer.add_tokens(["yes", "no", "<|im_start|>", "<|im_end|>"])
    return tokenizer, special


def save(name, folder):
    spec = MODELS[name]
    torch.manual_seed(1)
    tokenizer, special = tokenizer_of(spec)
    ids = {f"{key}_id": tokenizer.token_to_id(token) for key, token in special.items() if key[:3] in ("pad", "bos", "eos")}
    config = spec.config(**dict(vocab_size=tokenizer.get_vocab_size()) | ids | spec.settings)
    if spec.kind is tf.AutoModelForSequenceClassification:
        config.num_labels = spec.labels
    kind = tf.AutoModel if spec.transformer.get("transformer_task") == "feature-extraction" else spec.kind
    model = fill(kind.from_config(config), sum(name.encode()))
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * ("type_vocab_size" in config.to_dict())
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=spec.length, model_input_names=names, **special, **spec.tokens
    )
    first = Path(tempfile.mkdtemp()) if spec.layout == "modules" else folder
    model.save_pretrained(first)
    tokenizer.save_pretrained(first)
    if spec.layout == "modules":
        transformer = Transformer(str(first), **{"transformer_task": "sequence-classification"} | spec.transformer)
        modules = [transformer] + (spec.modules(transformer) if spec.modules else [])
        CrossEncoder(modules=modules, device="cpu", **spec.model).save_pretrained(str(folder), create_model_card=False)
        shutil.rmtree(first)
    spec.edit(folder)


def scores(folder, pairs, dtype=torch.float32):
    model = CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": dtype}).to(dtype)
    # Most pairs are padded.
    found = model.predict(pairs, batch_size=len(pairs))
    return model, found.reshape(len(pairs), -1)


def token_ids(model, pairs):
    prompt = model.prompts.get(model.default_prompt_name)
    rows = [model.preprocess([pair], prompt=prompt) for pair in pairs]
    return [row["input_ids"][0].tolist() for row in rows]


def gradients(folder):
    """Norm of the gradient of every tensor, and its projection on cosines.

    The loss is the sum over all pairs and labels of the logits, each times a cosine.
    """
    pairs = [(TEXTS[query], TEXTS[document]) for query, document in GRADIENT_PAIRS]
    reranker = CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float64})
    model = with_padding_gradients(reranker[0].model.to(torch.float64).eval())
    prompt = reranker.prompts.get(reranker.default_prompt_name)
    # One after the other, so that none is padded.
    rows = [model(**{name: tokens for name, tokens in reranker.preprocess([pair], prompt=prompt).items() if name in INPUTS})
            for pair in pairs]
    logits = torch.cat([row.logits for row in rows]).flatten()
    (logits * cosines(0.37, logits)).sum().backward()
    return {"pairs": pairs, "tensors": tensor_gradients(model, folder)}


def write(name, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    save(name, folder)
    numbers = PAIRS if PAIR_TEMPLATES[MODELS[name].tokenizer] == "$A $B" else PAIRS + [EMPTY]
    pairs = [(TEXTS[query], TEXTS[document]) for query, document in numbers]
    model, found = scores(folder, pairs)
    exact = scores(folder, pairs, torch.float64)[1]
    values = {"texts": TEXTS, "pairs": numbers, "ids": token_ids(model, pairs), "scores": rounded(found)}
    write_expected(folder, values)
    # Of models with a classification head.
    if MODELS[name].kind is tf.AutoModelForSequenceClassification and not MODELS[name].modules:
        write_gradients(folder, gradients(folder))
    spread = found.std(axis=0).max()
    finish(name, folder, f"rounding {abs(exact - found).max():.1e}, spread {spread:.2f}")


if __name__ == "__main__":
    write_all(sys.argv[1:], MODELS, COMMITTED, "cross-encoders", write)
