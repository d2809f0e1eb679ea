//! DeBERTa v2 and v3 (He et al. 2021): disentangled attention to contents and relative positions.

use super::bert;
use super::config_file::ConfigFile;
use super::definition::{Definition, FieldNames, HeadLayout, LayerNames, TensorNames};
use crate::error::ModelError;
use crate::model_folder::{Architecture, Convolution, Disentangled, TransformerConfig};

pub(super) const DEBERTA: Definition = Definition {
    name: Architecture::DEBERTA.0,
    model_types: &["deberta-v2"],
    class: "DebertaV2",
    body: "deberta",
    field_names: FieldNames {
        own: &[("head_dim", "attention_head_size")],
        aliases: &[],
    },
    read,
    names: &[TensorNames {
        embedding_projection: "embeddings.embed_proj",
        parts: LayerNames {
            qkv: &[
                "attention.self.query_proj",
                "attention.self.key_proj",
                "attention.self.value_proj",
            ],
            position_key: "attention.self.pos_key_proj",
            position_query: "attention.self.pos_query_proj",
            ..TensorNames::BERT.parts
        },
        ..TensorNames::BERT
    }],
    head: Some(|file| {
        let activation = file.activation("pooler_hidden_act", "gelu")?;
        Ok(HeadLayout::BERT.with_dense("pooler.dense", activation))
    }),
};

fn read(file: &ConfigFile<'_>) -> Result<TransformerConfig, ModelError> {
    let mut config = bert::read(file, Architecture::DEBERTA)?;
    config.token_types = file.integer("type_vocab_size")?.unwrap_or(0);
    if !file.has("layer_norm_eps") {
        config.layer_norm_eps = 1e-7;
    }
    config.layer.convolution = convolution(file)?;
    let layer = &mut config.layer;
    layer.position_embeddings = file.flag("position_biased_input")?.unwrap_or(true);
    layer.head_size = file.integer("attention_head_size")?;
    let size = file.integer("embedding_size")?;
    if let Some(size) = size.filter(|size| *size != config.hidden_size) {
        let expected = format!("{}, as hidden_size says", config.hidden_size);
        return Err(file.error("embedding_size", expected, size));
    }
    // "c2p|p2c" in older files.
    let joined;
    let kinds = match file.get("pos_att_type") {
        Some(serde_json::Value::String(text)) => {
            joined = text.to_lowercase();
            joined.split('|').map(str::trim).collect()
        }
        _ => file.texts("pos_att_type")?.unwrap_or_default(),
    };
    if let Some(other) = kinds
        .iter()
        .find(|kind| !matches!(**kind, "c2p" | "p2c" | ""))
    {
        return Err(file.error("pos_att_type", "c2p and p2c", other));
    }
    let relative = file.flag("relative_attention")?.unwrap_or(false);
    let [content_to_position, position_to_content] =
        ["c2p", "p2c"].map(|kind| kinds.contains(&kind));
    let terms = 1.0 + f64::from(content_to_position) + f64::from(position_to_content);
    let head_size = config.attention().head_size;
    let layer = &mut config.layer;
    layer.attention_scale = Some((head_size as f64 * terms).sqrt().recip());
    if relative {
        // 0 and -1: the number of positions.
        let distance = file
            .number("max_relative_positions")?
            .filter(|it| *it >= 1.0);
        let distance = distance.map_or(config.max_positions, |distance| distance as usize);
        let buckets = file.number("position_buckets")?.filter(|it| *it >= 1.0);
        if let Some(buckets) = buckets.filter(|buckets| distance as f64 <= buckets / 2.0) {
            let expected = format!("more than half of position_buckets, {buckets}");
            return Err(file.error("max_relative_positions", expected, distance));
        }
        let norm = file.text("norm_rel_ebd")?.unwrap_or("none");
        let norm = norm.split('|').any(|name| name.trim() == "layer_norm");
        layer.disentangled = Some(Disentangled {
            buckets: buckets.map_or(distance, |buckets| buckets as usize),
            max_distance: buckets.map_or(0, |_| distance),
            content_to_position,
            position_to_content,
            shared_projections: file.flag("share_att_key")?.unwrap_or(false),
            norm,
        });
    }
    Ok(config)
}

/// Reads the convolution beside the first layer; `None` if the file has none.
fn convolution(file: &ConfigFile<'_>) -> Result<Option<Convolution>, ModelError> {
    let activation = file.activation("conv_act", "tanh")?;
    file.expect("conv_groups", &1.into())?;
    let kernel_size = match file.integer("conv_kernel_size")? {
        None | Some(0) => return Ok(None),
        Some(size) => size,
    };
    if kernel_size < 3 || kernel_size.is_multiple_of(2) {
        let expected = "0, or odd from 3 on: tokens to both sides";
        return Err(file.error("conv_kernel_size", expected, kernel_size));
    }
    Ok(Some(Convolution {
        kernel_size,
        activation,
    }))
}
