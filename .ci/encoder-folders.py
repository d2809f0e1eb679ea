"""Writes small sentence-transformers folders with random weights, and the vectors and gradients that Python computes.

Run by `.ci/encoder-folders`, which describes the arguments.
"""

import contextlib
import copy
import json
import math
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

# First: checks the versions, and sets variables of the libraries.
from encoder_tokenizers import TEXTS, TOKENIZERS, edit_json, fill, rounded
from encoder_files import cosines, finish, tensor_gradients, with_padding_gradients, write_all, write_expected, write_gradients

import peft
import tokenizers as tk
import torch
import transformers as tf
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules as st


@dataclass
class Folder:
    """A model of sentence-transformers: transformer, modules after it, files that are edited when it is saved."""

    tokenizer: str
    config: type
    settings: dict
    # Pooling modes, then (module, arguments).
    pooling: tuple = ("mean",)
    modules: tuple = ()
    length: int = 48
    model: type = None
    # Arguments of Transformer, the tokenizer, Pooling and SentenceTransformer.
    transformer: dict = field(default_factory=dict)
    tokens: dict = field(default_factory=dict)
    pool: dict = field(default_factory=dict)
    model_settings: dict = field(default_factory=dict)
    # Folder with the modules for documents; the other ones are for queries.
    document: str = None
    # Changes the saved folder of a transformer, before the vectors are computed.
    edit: object = lambda folder, encoder: None


def dense(out, bias=True, activation=torch.nn.Tanh, **options):
    return ("Dense", dict(out_features=out, bias=bias, activation_function=activation(), **options))


NORMALIZE, LAYER_NORM = ("Normalize", {}), ("LayerNorm", {})
IDENTITY = torch.nn.Identity
PROMPTS = dict(prompts={"query": "query: ", "document": "passage: "})
LLAMA3 = dict(rope_type="llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
LLAMA3["rope_theta"] = 100.0
POOLINGS = ("cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken")


def bert(tokenizer="bert", config=tf.BertConfig, settings={}, **options):
    """Encoders with BERT's names of settings."""
    small = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=36, max_position_embeddings=64)
    return Folder(tokenizer, config, small | settings, **options)


def decoder(tokenizer, config, settings={}, **options):
    """Decoders with Llama's names of settings."""
    small = dict(
        hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=36,
        max_position_embeddings=128,
    )
    return Folder(tokenizer, config, small | settings, **options)


def modernbert(settings={}, **options):
    small = dict(num_hidden_layers=4, local_attention=8, global_attn_every_n_layers=3)
    thetas = dict(full_attention=dict(rope_theta=1000.0), sliding_attention=dict(rope_theta=50.0))
    return bert("modernbert", tf.ModernBertConfig, small | dict(rope_parameters=thetas) | settings, **options)


def deberta(settings={}, **options):
    version_3 = dict(
        relative_attention=True, position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True, pos_att_type="p2c|c2p",
        position_biased_input=False, max_relative_positions=-1,
    )
    return bert("deberta-v2", tf.DebertaV2Config, version_3 | settings, **options)


def t5(settings={}, **options):
    small = dict(d_model=24, d_kv=6, num_heads=3, d_ff=36, num_layers=2, relative_attention_num_buckets=12)
    return Folder("t5", tf.T5Config, small | dict(relative_attention_max_distance=20) | settings, **options)


def gemma(settings={}, **options):
    thetas = dict(full_attention=dict(rope_theta=1000.0), sliding_attention=dict(rope_theta=50.0))
    small = dict(
        num_hidden_layers=3, num_attention_heads=3, num_key_value_heads=1, head_dim=10, query_pre_attn_scalar=14,
        sliding_window=8, layer_types=["sliding_attention", "sliding_attention", "full_attention"], rope_parameters=thetas,
    )
    return decoder("gemma", tf.Gemma3TextConfig, small | settings, **options)


def older_bert(folder, _):
    """Folder of sentence-transformers 2 to 5."""
    settings = {"max_seq_length": 24, "do_lower_case": True}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    modes = {"cls": "cls_token", "max": "max_tokens", "mean": "mean_tokens", "mean_sqrt_len_tokens": "mean_sqrt_len_tokens"}
    pooling = {f"pooling_mode_{name}": mode in ("mean", "cls") for mode, name in modes.items()}
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 24} | pooling))
    text = (folder / "modules.json").read_text()
    text = re.sub(r"sentence_transformers[\w.]*\.(\w+)\"", r'sentence_transformers.models.\1"', text)
    (folder / "modules.json").write_text(text)


def older_config(*names):
    """Moves `rope_parameters` to the fields of transformers 4."""

    def edit(folder, _):
        def change(config):
            parameters = config.pop("rope_parameters")
            if "_sliding_window_pattern" in config:
                config["sliding_window_pattern"] = config.pop("_sliding_window_pattern")
            if names:
                config.pop("layer_types", None)
                for name, kind in zip(names, ("full_attention", "sliding_attention")):
                    config[name] = parameters[kind]["rope_theta"]
            else:
                config["rope_theta"] = parameters.pop("rope_theta")
                kind = parameters.pop("rope_type")
                config["rope_scaling"] = {"type": kind} | parameters if parameters else None

        edit_json(folder / "config.json", change)

    return edit


def without_defaults(folder, encoder):
    """Removes settings with default values, and rotary parameters."""
    defaults = type(encoder.config)().to_dict() | {"rope_parameters": None}
    kept = {"model_type", "architectures"}

    def change(config):
        parameters = config.get("rope_parameters")
        return {
            name: value
            for name, value in config.items()
            if name in kept or name not in defaults or value not in (defaults[name], parameters)
        }

    edit_json(folder / "config.json", change)


def vocabulary_and_merges(folder, _):
    """Replaces `tokenizer.json` by the files of slow tokenizers."""
    path = folder / "tokenizer.json"
    tk.Tokenizer.from_file(str(path)).model.save(str(folder))
    path.unlink()
    edit_json(folder / "tokenizer_config.json", lambda it: it.update(tokenizer_class="RobertaTokenizer"))


def dpr(folder, encoder):
    """sentence-transformers does not encode with DPR: the folder has the files of transformers."""
    encoder.save_pretrained(folder)
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 48, "do_lower_case": False}))


def converted(folder, encoder):
    """Replaces the tensor names of the original implementation by those of transformers."""
    encoder.save_pretrained(folder, save_original_format=False)


def more_tokens(decoder):
    """Adds tokens that `tokenizer.json` lacks: to `added_tokens_decoder`, or to the files of early versions."""

    def edit(folder, _):
        def flags(content, **set):
            return dict(content=content, lstrip=False, rstrip=False, normalized=False, single_word=False, special=False) | set

        named = dict(bos_token="<bos>", additional_special_tokens=["<mask>", flags("</s>", special=True, lstrip=True, __type="AddedToken")])
        if decoder:
            # An existing special token that strips white space, a word of the vocabulary, a new token.
            tokens = {"4": flags("[MASK]", lstrip=True, special=True), "7": flags("tea", rstrip=True), "900": flags("ships")}
            edit_json(folder / "tokenizer_config.json", lambda it: it.update(named, added_tokens_decoder=tokens))
        else:
            (folder / "special_tokens_map.json").write_text(json.dumps(named | dict(mask_token="[MASK]")))
            (folder / "added_tokens.json").write_text(json.dumps({"<mask>": 901, "RADAR": 900, "<eos>": 899}))

    return edit


def half_precision(folder, encoder):
    encoder.bfloat16().save_pretrained(folder)


def lora(base, **settings):
    """Adds a LoRA adapter with random weights. `base`: subfolder to which configuration and weights of the model move."""

    def edit(folder, encoder):
        torch.manual_seed(7)
        model = peft.get_peft_model(encoder, peft.LoraConfig(lora_alpha=6, **settings))
        with torch.no_grad():
            for name, parameter in sorted(model.named_parameters()):
                if "lora_" in name:
                    parameter.copy_(0.4 * torch.randn(parameter.shape))
        model.save_pretrained(folder)
        (folder / "README.md").unlink()
        modules = sorted(model.peft_config["default"].target_modules)
        changes = dict(base_model_name_or_path=base, fan_in_fan_out=True, target_modules=modules)
        edit_json(folder / "adapter_config.json", lambda it: it.update(changes))
        (folder / base).mkdir(exist_ok=True)
        for name in ("config.json", "model.safetensors"):
            (folder / name).rename(folder / base / name)

    return edit


def ntk(**scaling):
    """Writes `config.json` as GTE's own code has it, with NTK scaling."""

    def edit(folder, _):
        def change(config):
            theta = config.pop("rope_parameters")["rope_theta"]
            config.update(
                model_type="new", rope_theta=theta, rope_scaling=dict(type="ntk", **scaling), layer_norm_type="layer_norm",
                logn_attention_scale=False, pack_qkv=True, position_embedding_type="rope",
            )

        edit_json(folder / "config.json", change)

    return edit


def bottleneck(base, non_linearity, safetensors=False, **settings):
    """Adds an adapter of the library `adapters` with random weights. `base`: subfolder as in `lora`.

    The library does not run beside transformers 5: `with_bottleneck` applies the adapter.
    """

    def edit(folder, encoder):
        # `SeqBnConfig` ("pfeiffer") of the library, with the settings that SPECTER2's files have.
        config = dict(
            adapter_residual_before_ln=False, cross_adapter=False, inv_adapter=None, is_parallel=False, leave_out=[],
            ln_after=False, ln_before=False, mh_adapter=False, non_linearity=non_linearity, original_ln_after=True,
            original_ln_before=True, output_adapter=True, phm_layer=False, reduction_factor=5, residual_before_ln=True,
            scaling=1.0, use_gating=False,
        ) | settings
        hidden, name = encoder.config.hidden_size, "[PRX]"
        size = max(1, int(hidden // config["reduction_factor"]))
        torch.manual_seed(7)
        weights = {}
        for number in range(encoder.config.num_hidden_layers):
            start = f"{encoder.base_model_prefix}.encoder.layer.{number}.output.adapters.{name}."
            for part, shape in (("adapter_down.0", (size, hidden)), ("adapter_up", (hidden, size))):
                weights[f"{start}{part}.weight"] = 0.4 * torch.randn(shape)
                weights[f"{start}{part}.bias"] = 0.4 * torch.randn(shape[0])
        if safetensors:
            save_file(weights, folder / "adapter.safetensors")
        else:
            torch.save(weights, folder / "pytorch_adapter.bin")
        described = dict(
            config=config, hidden_size=hidden, model_class="BertAdapterModel", model_name=base,
            model_type=encoder.config.model_type, name=name, version="adapters.1.0.0",
        )
        (folder / ADAPTER_CONFIG).write_text(json.dumps(described, indent=2, sort_keys=True))
        (folder / base).mkdir(exist_ok=True)
        for file in ("config.json", "model.safetensors"):
            (folder / file).rename(folder / base / file)

    return edit


ADAPTER_CONFIG = "adapter_config.json"


class BottleneckOutput(torch.nn.Module):
    """Output of a layer of BERT with an adapter.

    `BertOutputWithAdapters`, `Adapter.pre_forward`, `forward` and `post_forward` of the library `adapters`
    (src/adapters/models/bert/modeling_bert.py and src/adapters/methods/modeling.py, commit 12379e3) with the settings of
    `SeqBnConfig`.
    """

    def __init__(self, output, down, up, activation):
        super().__init__()
        self.output, self.down, self.up, self.activation = output, down, up, activation

    def forward(self, hidden_states, input_tensor):
        hidden_states = self.output.dense(hidden_states)
        residual = hidden_states
        normalized = self.output.LayerNorm(hidden_states + input_tensor)
        adapted = self.up(self.activation(self.down(normalized))) + residual
        return self.output.LayerNorm(adapted + input_tensor)


@contextlib.contextmanager
def for_transformers(folder):
    """The folder, or a copy that transformers reads, and what changes the transformer of the copy."""
    path = folder / "config.json"
    config = json.loads(path.read_text()) if path.exists() else {}
    if config.get("model_type") != "new":
        with without_bottleneck(folder) as found:
            yield found
        return
    with tempfile.TemporaryDirectory() as temporary:
        copied = Path(shutil.copytree(folder, Path(temporary) / "model"))
        edit_json(copied / "config.json", lambda it: it.update(model_type="gte", rope_scaling=None))
        yield copied, lambda encoder: with_ntk(encoder, config)


def with_ntk(encoder, config):
    """Frequencies of `NTKScalingRotaryEmbedding` in GTE's own code (Alibaba-NLP/new-impl, modeling.py)."""
    factor, exponent = config["rope_scaling"]["factor"], config["rope_scaling"].get("mixed_b")
    dim = config["hidden_size"] // config["num_attention_heads"]
    base = config["rope_theta"] * (factor if exponent is None else 1)
    frequencies = 1.0 / base ** (torch.arange(0, dim, 2) / dim)
    if exponent is None:
        frequencies /= factor ** (2 / dim)
    else:
        logarithm = math.log(factor) / (dim / 2) ** exponent
        frequencies /= torch.exp(logarithm * torch.arange(1, dim // 2 + 1) ** exponent)
    encoder.rotary_emb.inv_freq = frequencies


@contextlib.contextmanager
def without_bottleneck(folder):
    """The folder and None, or a copy without its adapter and what applies the adapter to a transformer."""
    adapter = adapter_config(folder)
    if "config" not in adapter:
        yield folder, None
        return
    with tempfile.TemporaryDirectory() as temporary:
        copied = Path(shutil.copytree(folder, Path(temporary) / "model"))
        for file in (copied / adapter["model_name"]).iterdir():
            if file.is_file():
                file.replace(copied / file.name)
        (copied / ADAPTER_CONFIG).unlink()
        yield copied, lambda encoder: with_bottleneck(encoder, folder, adapter)


def with_bottleneck(encoder, folder, adapter):
    safetensors, pytorch = folder / "adapter.safetensors", folder / "pytorch_adapter.bin"
    weights = load_file(safetensors) if safetensors.exists() else torch.load(pytorch, weights_only=True)
    for number, layer in enumerate(encoder.encoder.layer):
        start = f"{encoder.base_model_prefix}.encoder.layer.{number}.output.adapters.{adapter['name']}."

        def linear(part):
            weight, bias = weights[f"{start}{part}.weight"], weights[f"{start}{part}.bias"]
            projection = torch.nn.Linear(*weight.shape[::-1])
            projection.load_state_dict(dict(weight=weight, bias=bias))
            return projection

        activation = tf.activations.get_activation(adapter["config"]["non_linearity"])
        layer.output = BottleneckOutput(layer.output, linear("adapter_down.0"), linear("adapter_up"), activation)


def with_head(model):
    """Tensors of a model with a head, which have a prefix."""

    def edit(folder, encoder):
        whole = model(encoder.config)
        prefix = f"{whole.base_model_prefix}." if hasattr(whole, whole.base_model_prefix) else ""
        state = {prefix + name: value for name, value in encoder.state_dict().items()}
        unexpected = whole.load_state_dict(state, strict=False).unexpected_keys
        assert all("pooler" in name for name in unexpected), unexpected
        whole.save_pretrained(folder)

    return edit


FOLDERS = {
    "bert": bert(modules=(NORMALIZE,)),
    "bert-gelu-new": bert("bert-cased", settings=dict(hidden_act="gelu_new"), pooling=("cls",)),
    "bert-relu": bert(settings=dict(hidden_act="relu", layer_norm_eps=1e-5), pooling=("max",), length=16),
    "bert-poolings": bert(pooling=POOLINGS),
    "bert-left": bert(pooling=POOLINGS[::-1], length=12, tokens=dict(truncation_side="left")),
    "bert-dense": bert(pooling=("mean_sqrt_len_tokens",), modules=(dense(20), LAYER_NORM, dense(12, False, IDENTITY), NORMALIZE)),
    "bert-prompts": bert(pooling=("weightedmean",), model_settings=PROMPTS | dict(truncate_dim=10, similarity_fn_name="dot")),
    "bert-prompt-excluded": bert(
        pooling=("mean", "cls", "weightedmean"), pool=dict(include_prompt=False), model_settings=PROMPTS
    ),
    "bert-residual": bert(modules=(dense(24, use_residual=True), dense(16, use_residual=True)), length=30),
    "bert-router": bert("bert-cased", pooling=("cls",), document="bert-relu", model_settings=PROMPTS),
    "bert-lengths": bert(transformer=dict(query_length=8, document_length=24)),
    "bert-added-tokens": bert(settings=dict(vocab_size=352), edit=more_tokens(True)),
    "bert-added-tokens-older": bert(settings=dict(vocab_size=352), edit=more_tokens(False)),
    "bert-split-special": bert(tokens=dict(split_special_tokens=True)),
    "xlm-roberta-added-tokens": bert(
        "xlm-roberta", tf.XLMRobertaConfig, dict(type_vocab_size=1, vocab_size=420), edit=more_tokens(True)
    ),
    "bert-older": bert("bert-cased", pooling=("cls", "mean"), edit=older_bert),
    "albert": bert("albert", tf.AlbertConfig, dict(embedding_size=16, num_hidden_layers=3)),
    "albert-groups": bert(
        "albert", tf.AlbertConfig,
        dict(embedding_size=24, num_hidden_layers=3, num_hidden_groups=2, inner_group_num=2, hidden_act="gelu"),
    ),
    "electra-small": bert(config=tf.ElectraConfig, settings=dict(embedding_size=16), pooling=("cls",)),
    "electra-base": bert(config=tf.ElectraConfig, settings=dict(embedding_size=24)),
    "dpr-question": bert(config=tf.DPRConfig, pooling=("cls",), model=tf.DPRQuestionEncoder, edit=dpr),
    "dpr-context": bert(config=tf.DPRConfig, pooling=("cls",), model=tf.DPRContextEncoder, edit=dpr),
    "roberta": bert("roberta", tf.RobertaConfig, dict(type_vocab_size=1, max_position_embeddings=66)),
    "roberta-vocab-merges": bert("roberta", tf.RobertaConfig, dict(type_vocab_size=1), edit=vocabulary_and_merges),
    "xlm-roberta": bert("xlm-roberta", tf.XLMRobertaConfig, dict(type_vocab_size=1), modules=(NORMALIZE,), model_settings=PROMPTS),
    "xlm-roberta-bytes": bert("xlm-roberta-bytes", tf.XLMRobertaConfig, dict(type_vocab_size=1), pooling=("cls",)),
    "distilbert": Folder(
        "bert", tf.DistilBertConfig, dict(dim=24, n_layers=2, n_heads=3, hidden_dim=36, max_position_embeddings=64),
        modules=(dense(16),),
    ),
    "mpnet": bert("mpnet", tf.MPNetConfig, dict(relative_attention_num_buckets=32), modules=(NORMALIZE,)),
    "modernbert": modernbert(modules=(NORMALIZE,)),
    "modernbert-biases": modernbert(
        dict(attention_bias=True, mlp_bias=True, norm_bias=True, hidden_activation="silu"), pooling=("cls",)
    ),
    "modernbert-older": modernbert(dict(global_attn_every_n_layers=2), edit=older_config("global_rope_theta", "local_rope_theta")),
    "nomic-bert": bert(config=tf.NomicBertConfig, settings=dict(rope_parameters=dict(rope_theta=100.0))),
    "gte": bert("xlm-roberta", tf.GteConfig, dict(rope_parameters=dict(rope_theta=100.0)), pooling=("cls",), modules=(NORMALIZE,)),
    "gte-without-types": bert(config=tf.GteConfig, settings=dict(type_vocab_size=0, pad_token_id=0)),
    "jina-embeddings-v3": bert("xlm-roberta", tf.JinaEmbeddingsV3Config, dict(rope_parameters=dict(rope_theta=100.0))),
    "deberta-v3": deberta(),
    "deberta-v2-conv": deberta(dict(conv_kernel_size=3, conv_act="gelu", pos_att_type="c2p|p2c"), pooling=("cls",)),
    "deberta-v2": deberta(
        dict(
            position_buckets=-1, share_att_key=False, norm_rel_ebd="none", position_biased_input=True,
            max_relative_positions=20, type_vocab_size=2,
        )
    ),
    "deberta-v2-embedding-size": deberta(dict(embedding_size=16)),
    "deberta-v2-c2p": deberta(dict(pos_att_type="c2p", share_att_key=False)),
    "deberta": bert(
        "modernbert", tf.DebertaConfig,
        dict(relative_attention=True, pos_att_type="c2p|p2c", position_biased_input=False, max_relative_positions=-1),
    ),
    "t5": t5(modules=(dense(20, False, IDENTITY), NORMALIZE)),
    "t5-gated": t5(dict(feed_forward_proj="gated-gelu"), pooling=("mean", "max")),
    "qwen2": decoder("qwen", tf.Qwen2Config, pooling=("lasttoken",), modules=(NORMALIZE,)),
    "qwen2-windows": decoder(
        "qwen", tf.Qwen2Config, dict(num_hidden_layers=3, use_sliding_window=True, sliding_window=6, max_window_layers=1)
    ),
    "qwen3": decoder(
        "qwen", tf.Qwen3Config, dict(head_dim=10, rope_parameters=dict(rope_theta=1000.0)),
        pooling=("lasttoken",), modules=(NORMALIZE,), tokens=dict(padding_side="left"),
        model_settings=dict(prompts={"query": "Instruct: find passages\nQuery:", "document": ""}),
    ),
    "qwen3-yarn": decoder(
        "qwen", tf.Qwen3Config,
        dict(head_dim=10, rope_parameters=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, rope_theta=1000.0)),
        pooling=("lasttoken",),
    ),
    "llama-yarn": decoder(
        "llama", tf.LlamaConfig,
        dict(
            rope_parameters=dict(
                rope_type="yarn", factor=3.0, original_max_position_embeddings=32, rope_theta=500.0, beta_fast=6.0, beta_slow=0.5,
                mscale=1.5, mscale_all_dim=0.5, truncate=False,
            ),
        ),
        edit=older_config(),
    ),
    "qwen3-older": decoder(
        "qwen", tf.Qwen3Config, dict(head_dim=10, attention_bias=True, rope_parameters=dict(rope_theta=1000.0)),
        edit=older_config(),
    ),
    "gemma3": gemma(
        dict(use_bidirectional_attention=True), modules=(dense(30, False, IDENTITY), dense(24, False, IDENTITY), NORMALIZE),
        model_settings=dict(prompts={"query": "task: search result | query: ", "document": "title: none | text: "}),
    ),
    "gemma3-causal": gemma(dict(attention_bias=True), pooling=("lasttoken",)),
    "gemma3-older": gemma(
        dict(use_bidirectional_attention=True, layer_types=None, sliding_window_pattern=2),
        edit=older_config("rope_theta", "rope_local_base_freq"),
    ),
    "llama-linear": decoder(
        "llama", tf.LlamaConfig, dict(rope_parameters=dict(rope_type="linear", factor=3.0, rope_theta=1000.0), mlp_bias=True),
        pooling=("weightedmean",),
    ),
    "llama3": decoder("llama3", tf.LlamaConfig, dict(rope_parameters=LLAMA3, attention_bias=True), pooling=("lasttoken",)),
    "llama3-older": decoder(
        "llama3", tf.LlamaConfig, dict(rope_parameters=LLAMA3, is_causal=False), edit=older_config()
    ),
    "mistral": decoder(
        "mistral", tf.MistralConfig, dict(num_attention_heads=6, head_dim=8, sliding_window=6), pooling=("lasttoken",),
        modules=(NORMALIZE,), tokens=dict(padding_side="left"),
    ),
    "mistral-without-window": decoder("mistral", tf.MistralConfig, dict(sliding_window=None), pooling=("lasttoken",)),
    "eurobert": decoder("eurobert", tf.EuroBertConfig),
}
FOLDERS |= {
    "gte-ntk": replace(FOLDERS["gte"], edit=ntk(factor=8.0)),
    "gte-ntk-mixed": replace(FOLDERS["gte"], edit=ntk(factor=4.0, mixed_b=0.625)),
    "bert-lora": replace(
        FOLDERS["bert-dense"],
        edit=lora(
            ".", r=3, target_modules=["query", "value", "dense", "word_embeddings"],
            rank_pattern={"layer.1.attention.self.query": 2, "embeddings.word_embeddings": 4},
            alpha_pattern={"layer.0.*dense": 2.5},
        ),
    ),
    "bert-adapter": replace(FOLDERS["bert-gelu-new"], edit=bottleneck("base", "relu")),
    "roberta-adapter": replace(FOLDERS["roberta"], edit=bottleneck(".", "gelu", True, reduction_factor=0.7)),
    "electra-adapter": replace(FOLDERS["electra-small"], edit=bottleneck("base", "swish", reduction_factor=30)),
    "qwen3-lora": replace(FOLDERS["qwen3"], edit=lora("base", r=4, target_modules="all-linear", use_rslora=True)),
}
HEADS = {
    "albert": tf.AlbertForMaskedLM,
    "deberta-v3": tf.DebertaV2ForMaskedLM,
    "distilbert": tf.DistilBertForMaskedLM,
    "electra-small": tf.ElectraForPreTraining,
    "gemma3": tf.Gemma3ForCausalLM,
    "gte": tf.GteForMaskedLM,
    "modernbert": tf.ModernBertForMaskedLM,
    "mpnet": tf.MPNetForMaskedLM,
    "nomic-bert": tf.NomicBertForMaskedLM,
    "qwen3": tf.Qwen3ForCausalLM,
    "t5": tf.T5ForConditionalGeneration,
    "xlm-roberta": tf.XLMRobertaForMaskedLM,
}
FOLDERS |= {f"{name}-converted": replace(FOLDERS[name], edit=converted) for name in ("gte", "jina-embeddings-v3", "nomic-bert")}
DEFAULTS = (
    "albert bert deberta deberta-v3 distilbert electra-small eurobert gemma3 gte jina-embeddings-v3 mistral modernbert mpnet "
    "nomic-bert qwen2 qwen3 roberta t5 xlm-roberta"
)
FOLDERS |= {f"{name}-defaults": replace(FOLDERS[name], edit=without_defaults) for name in DEFAULTS.split()}
FOLDERS |= {f"{name}-bf16": replace(FOLDERS[name], edit=half_precision) for name in ("gemma3", "qwen3")}
FOLDERS |= {f"{name}-with-head": replace(FOLDERS[name], edit=with_head(model)) for name, model in HEADS.items()}

# Folders of crates/ir-dense/testdata/families.
COMMITTED = (
    "albert albert-groups bert-adapter bert-added-tokens bert-dense bert-left bert-lora deberta-v2 deberta-v2-conv deberta-v3 "
    "distilbert dpr-context electra-small eurobert gemma3-bf16 gte jina-embeddings-v3 llama3 mistral modernbert mpnet nomic-bert "
    "qwen2-windows qwen3-bf16 qwen3-lora qwen3-yarn roberta-vocab-merges t5 t5-gated xlm-roberta-bytes"
).split()

# Folders without gradients.json: the tokens or weights differ from another folder, not the gradients, or there are two
# transformers.
WITHOUT_GRADIENTS = (
    "bert-added-tokens bert-added-tokens-older bert-lengths bert-older bert-prompt-excluded bert-router bert-split-special "
    "xlm-roberta-added-tokens"
).split()
# Indices of the texts of the loss: two sentences, a word, and a text that is longer than all attention windows.
GRADIENT_TEXTS = [0, 6, 2, 16]


def build_transformer(spec, seed, temporary, added=()):
    """Saves a transformer with random weights and its tokenizer, with added tokens."""
    tokenizer, special = TOKENIZERS[spec.tokenizer]()
    tokenizer.add_tokens(list(added))
    ids = {f"{key}_id": tokenizer.token_to_id(token) for key, token in special.items() if key[:3] in ("pad", "bos", "eos")}
    config = spec.config(**dict(vocab_size=tokenizer.get_vocab_size()) | ids | copy.deepcopy(spec.settings))
    encoder = tf.T5EncoderModel(config) if spec.config is tf.T5Config else (spec.model or tf.AutoModel.from_config)(config)
    names = ["input_ids", "attention_mask"] + ["token_type_ids"] * ("type_vocab_size" in config.to_dict())
    tokenizer = tf.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=spec.length, model_input_names=names, **special, **spec.tokens
    )
    fill(encoder, seed).save_pretrained(temporary)
    tokenizer.save_pretrained(temporary)
    return encoder


def build(name, temporary):
    """Transformer with random weights, and the modules of sentence-transformers."""
    spec = FOLDERS[name]
    encoder = build_transformer(spec, sum(name.encode()), temporary)
    modules = [st.Transformer(temporary, **spec.transformer)]
    modules.append(st.Pooling(modules[0].get_embedding_dimension(), spec.pooling, **spec.pool))
    for number, (module, settings) in enumerate(spec.modules):
        size = modules[-1].get_embedding_dimension() if module != "Normalize" else None
        given = {"Dense": {"in_features": size}, "LayerNorm": {"dimension": size}}.get(module, {})
        modules.append(fill(getattr(st, module)(**given, **settings), 100 + number))
    return encoder, modules


def save(name, folder):
    """Saves a folder as `SentenceTransformer.save` does."""
    spec = FOLDERS[name]
    torch.manual_seed(1)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        encoder, modules = build(name, first)
        if spec.document:
            modules = [st.Router.for_query_document(modules, build(spec.document, second)[1])]
        model = SentenceTransformer(modules=modules, device="cpu", **spec.model_settings)
        model.save(str(folder), create_model_card=False)
    spec.edit(folder, encoder)


def expected(name, folder, dtype=torch.float32):
    """Vectors of queries and documents. All texts are one batch, so that most are padded."""
    if FOLDERS[name].config is tf.DPRConfig:
        model = FOLDERS[name].model.from_pretrained(folder, dtype=dtype)
        batch = tf.AutoTokenizer.from_pretrained(folder)(TEXTS, padding=True, truncation=True, return_tensors="pt")
        with torch.inference_mode():
            return [model(**batch).pooler_output.numpy()] * 2
    # The base model of an adapter is relative to its folder.
    with contextlib.chdir(folder), for_transformers(folder) as (own, adapt):
        model = SentenceTransformer(str(own), device="cpu", model_kwargs={"dtype": dtype})
        if adapt:
            adapt(model[0].model)
        model = model.to(dtype).eval()
    return [encode(TEXTS, batch_size=len(TEXTS)) for encode in (model.encode_query, model.encode_document)]


def encode_with_gradients(name, folder):
    """Transformer, and vectors of documents in double precision, one after the other so that none is padded."""
    texts = [TEXTS[number] for number in GRADIENT_TEXTS]
    if FOLDERS[name].config is tf.DPRConfig:
        encoder = FOLDERS[name].model.from_pretrained(folder, dtype=torch.float64).eval()
        tokenizer = tf.AutoTokenizer.from_pretrained(folder)
        return encoder, [encoder(**tokenizer(text, truncation=True, return_tensors="pt")).pooler_output for text in texts]
    # The base model of an adapter is relative to its folder.
    with contextlib.chdir(folder), for_transformers(folder) as (own, adapt):
        model = SentenceTransformer(str(own), device="cpu", model_kwargs={"dtype": torch.float64})
        adapt(model[0].model)
        if (base := lora_base(folder)) is not None:
            model[0].model = merged(base, folder)
    model = model.to(torch.float64).eval()
    encoder = with_padding_gradients(model[0].model)
    prompts = [model.prompts[it] for it in ("document", "passage", "corpus") if it in model.prompts]
    vectors = [model(model.preprocess([text], prompt=(prompts + [None])[0]))["sentence_embedding"] for text in texts]
    return encoder, [vector[:, : model.truncate_dim] for vector in vectors]


def gradients(name, folder):
    """Gradients of the sum over all texts and components of the vectors, each times a cosine."""
    encoder, vectors = encode_with_gradients(name, folder)
    vectors = torch.cat(vectors).flatten()
    (vectors * cosines(0.37, vectors)).sum().backward()
    base = lora_base(folder) or bottleneck_base(folder) or folder
    found = tensor_gradients(encoder, base, FOLDERS[name].edit is not converted, tensor_name(folder))
    return {"texts": GRADIENT_TEXTS, "tensors": found}


def adapter_config(folder):
    path = folder / ADAPTER_CONFIG
    return json.loads(path.read_text()) if path.exists() else {}


def lora_base(folder):
    """Folder of the base model of a LoRA adapter."""
    base = adapter_config(folder).get("base_model_name_or_path")
    return None if base is None else folder / base


def bottleneck_base(folder):
    base = adapter_config(folder).get("model_name")
    return None if base is None else folder / base


def merged(base, folder):
    """Base model with the LoRA adapter of a folder added to its weights, all of which have gradients."""
    # `from_pretrained` would apply an adapter in the folder of the base model.
    encoder = tf.AutoModel.from_config(tf.AutoConfig.from_pretrained(base))
    encoder.load_state_dict(load_file(base / "model.safetensors"))
    model = peft.PeftModel.from_pretrained(encoder, str(folder)).double().merge_and_unload()
    return model.requires_grad_(True)


def tensor_name(folder):
    """Names in the weight files of what `BottleneckOutput` names otherwise."""
    adapters = f".output.adapters.{adapter_config(folder).get('name')}."
    names = {".output.output.": ".output.", ".output.down.": f"{adapters}adapter_down.0.", ".output.up.": f"{adapters}adapter_up."}
    return lambda name: re.sub(r"\.output\.(output|down|up)\.", lambda found: names[found[0]], name)


def write(name, folder):
    folder = folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    save(name, folder)
    query, document = expected(name, folder)
    exact = expected(name, folder, torch.float64)[1]
    error = abs(exact - document).max() / abs(exact).max()
    vectors = {} if (query == document).all() else {"query": rounded(query)}
    write_expected(folder, {"texts": TEXTS, **vectors, "document": rounded(document)})
    if not name.endswith("-defaults") and name not in WITHOUT_GRADIENTS:
        write_gradients(folder, gradients(name, folder))
    finish(name, folder, f"rounding {error:.1e}")


# Architectures of --large, and settings by which BERT, DistilBERT, T5 and Llama name their sizes.
LARGE = (
    "albert bert deberta-v3 distilbert electra-small eurobert gemma3 gte jina-embeddings-v3 llama3 mistral modernbert mpnet "
    "nomic-bert qwen2 qwen3 roberta t5 t5-gated xlm-roberta"
).split()
SIZES = {
    512: "hidden_size dim d_model", 8: "num_hidden_layers n_layers num_layers num_attention_heads n_heads num_heads",
    2048: "intermediate_size hidden_dim d_ff", 64: "head_dim d_kv", 4: "num_key_value_heads", 128: "embedding_size",
}


def write_large(name, folder):
    """Folder of an architecture with some 100 MB of random weights in layers, without vectors."""
    spec = FOLDERS[name]
    sizes = {field: size for size, fields in SIZES.items() for field in fields.split() if field in spec.settings}
    sizes |= {"layer_types": ["sliding_attention", "full_attention"] * 4} if "layer_types" in spec.settings else {}
    FOLDERS[name] = replace(spec, settings=spec.settings | sizes, modules=())
    shutil.rmtree(folder, ignore_errors=True)
    save(name, folder)


def list_tensors(name):
    with tempfile.TemporaryDirectory() as temporary:
        save(name, Path(temporary))
        for path in sorted(Path(temporary).rglob("model.safetensors")):
            with safe_open(path, "pt") as file:
                for tensor in sorted(file.keys()):
                    print(path.parent.relative_to(temporary) / tensor, list(file.get_slice(tensor).get_shape()))


def main(arguments):
    if arguments[0] == "--list-tensors":
        return [list_tensors(name) for name in arguments[1:]]
    if arguments[0] == "--large":
        return [write_large(name, Path(arguments[1]) / name) for name in arguments[2:] or LARGE]
    write_all(arguments, FOLDERS, COMMITTED, "families", write)


if __name__ == "__main__":
    main(sys.argv[1:])
