//! Architectures of encoders, one file each: how `config.json` is read, what the layers compute
//! ([`LayerConfig`](crate::model_folder::LayerConfig)), and how the tensors are named.

mod albert;
mod bert;
mod config_file;
mod deberta;
mod definition;
mod distilbert;
mod gemma3;
mod gte;
mod jina_v3;
mod llama;
mod modernbert;
mod mpnet;
mod nomic_bert;
mod t5;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

use config_file::ConfigFile;
use definition::FieldNames;
pub(crate) use definition::{Definition, HeadLayout, HeadPooling, LayerNames, Rows, TensorNames};

use crate::error::ModelError;
use crate::model_folder::remote_code::unknown_architecture;
use crate::model_folder::{
    Architecture, TransformerConfig, base_folder, bottleneck_adapter, read_json,
};

/// Architectures that a model folder may have, in the order in which errors list them.
const ARCHITECTURES: &[Definition] = &[
    bert::BERT,
    bert::ROBERTA,
    distilbert::DISTILBERT,
    mpnet::MPNET,
    albert::ALBERT,
    bert::ELECTRA,
    bert::DPR,
    deberta::DEBERTA,
    modernbert::MODERNBERT,
    nomic_bert::NOMIC_BERT,
    gte::GTE,
    jina_v3::JINA_V3,
    t5::T5,
    llama::LLAMA,
    llama::MISTRAL,
    llama::QWEN2,
    llama::QWEN3,
    llama::EUROBERT,
    gemma3::GEMMA3,
];

/// Architectures with BERT's layers and tensor names, for which adapters of the library `adapters`
/// are read.
const ADAPTED: [Architecture; 3] = [
    Architecture::BERT,
    Architecture::ROBERTA,
    Architecture::ELECTRA,
];

impl Architecture {
    /// BERT (Devlin et al. 2019), also SciBERT, MiniLM, BGE, E5, COCO-DR, the encoders of DPR.
    pub const BERT: Self = Self("bert");
    /// RoBERTa (Liu et al. 2019), XLM-R, CamemBERT: positions start at 2.
    pub const ROBERTA: Self = Self("roberta");
    /// DistilBERT (Sanh et al. 2019): no token-type embeddings.
    pub const DISTILBERT: Self = Self("distil-bert");
    /// MPNet (Song et al. 2020): relative position bias.
    pub const MPNET: Self = Self("mpnet");
    /// ALBERT (Lan et al. 2020): layers that share their weights.
    pub const ALBERT: Self = Self("albert");
    /// ELECTRA (Clark et al. 2020).
    pub const ELECTRA: Self = Self("electra");
    /// DeBERTa v2 and v3 (He et al. 2021).
    pub const DEBERTA: Self = Self("deberta-v2");
    /// ModernBERT (Warner et al. 2024).
    pub const MODERNBERT: Self = Self("modernbert");
    /// Nomic BERT (Nussbaum et al. 2024).
    pub const NOMIC_BERT: Self = Self("nomic-bert");
    /// GTE (Zhang et al. 2024).
    pub const GTE: Self = Self("gte");
    /// Jina Embeddings v3 (Sturua et al. 2024).
    pub const JINA_V3: Self = Self("jina-embeddings-v3");
    /// Encoder of T5 (Raffel et al. 2020).
    pub const T5: Self = Self("t5");
    /// Llama (Touvron et al. 2023).
    pub const LLAMA: Self = Self("llama");
    /// Mistral (Jiang et al. 2023).
    pub const MISTRAL: Self = Self("mistral");
    /// Qwen2 (Yang et al. 2024).
    pub const QWEN2: Self = Self("qwen2");
    /// Qwen3 (Yang et al. 2025).
    pub const QWEN3: Self = Self("qwen3");
    /// EuroBERT (Boizard et al. 2025).
    pub const EUROBERT: Self = Self("eurobert");
    /// Gemma 3 (Gemma Team 2025), also EmbeddingGemma.
    pub const GEMMA3: Self = Self("gemma3");

    pub(crate) fn definition(self) -> &'static Definition {
        let mut all = ARCHITECTURES.iter();
        let found = all.find(|definition| definition.name == self.0);
        found.unwrap_or(&ARCHITECTURES[0])
    }
}

impl TransformerConfig {
    /// Reads `config.json` of a folder, or of the base model of its adapter, and the layers of a
    /// bottleneck adapter.
    ///
    /// # Errors
    /// If a file is missing or invalid, the architecture is not supported, or values contradict
    /// each other.
    pub fn read(folder: impl AsRef<Path>) -> Result<Self, ModelError> {
        let folder = folder.as_ref();
        let base = base_folder(folder)?;
        let path = base.join("config.json");
        let mut config = Self::read_file(&path)?.ok_or_else(|| ModelError::MissingFile {
            folder: base,
            expected: "config.json",
        })?;
        let types = config.architecture.definition().model_types;
        config.layer.adapter = bottleneck_adapter(folder, &config, types)?;
        if config.layer.adapter.is_some() && !ADAPTED.contains(&config.architecture) {
            let types = ADAPTED.map(|it| it.definition().model_types.join(", "));
            let expected = format!(
                "{} for an adapter of the adapters library",
                types.join(", ")
            );
            let found = config.architecture;
            return Err(ModelError::setting(&path, "model_type", expected, found));
        }
        Ok(config)
    }

    /// Reads a file of any name; `None` if there is no such file.
    pub(crate) fn read_file(path: &Path) -> Result<Option<Self>, ModelError> {
        let Some(fields) = read_json::<Map<String, Value>>(path)? else {
            return Ok(None);
        };
        let mut file = ConfigFile::new(path, fields);
        let definition = find(&file)?;
        read_fields(&mut file, definition).map(Some)
    }
}

/// Reads and validates the fields of an architecture. Errors name a field as the file does.
fn read_fields(
    file: &mut ConfigFile<'_>,
    definition: &Definition,
) -> Result<TransformerConfig, ModelError> {
    let given: BTreeSet<String> = file.fields.keys().cloned().collect();
    for (name, other) in definition.field_names.aliases {
        // A field that is null is absent.
        let value = file.fields.remove(*other).filter(|it| !it.is_null());
        let Some(value) = value else { continue };
        if let Some(one) = file.get(name).filter(|one| **one != value) {
            let expected = format!("{one}, as {name} says");
            return Err(file.error(other, expected, value));
        }
        file.fields.insert((*name).to_owned(), value);
    }
    let read = (definition.read)(file);
    let read = read.and_then(|config| config.validate(file.path).map(|()| config));
    read.map_err(|error| {
        let FieldNames { own, aliases } = definition.field_names;
        let own = own.iter().filter(|(name, _)| !given.contains(*name));
        let aliases = aliases.iter().filter(|(_, other)| given.contains(*other));
        error.with_field_names(own.chain(aliases).copied())
    })
}

impl HeadLayout {
    /// Reads the classification head of an architecture from `config.json`.
    ///
    /// # Errors
    /// If the architecture has no classification head, or a value is not supported.
    pub(crate) fn read(folder: &Path, architecture: Architecture) -> Result<Self, ModelError> {
        let path = &folder.join("config.json");
        let fields = read_json::<Map<String, Value>>(path)?.unwrap_or_default();
        let file = ConfigFile::new(path, fields);
        match architecture.definition().head {
            Some(read) => read(&file),
            None => {
                let heads = ARCHITECTURES.iter().filter(|it| it.head.is_some());
                let names: Vec<&str> = heads.flat_map(|it| it.model_types).copied().collect();
                let expected = format!("a model with a classification head: {}", names.join(", "));
                Err(file.error("model_type", expected, architecture.0))
            }
        }
    }
}

/// Returns the architecture that `model_type` names.
fn find(file: &ConfigFile<'_>) -> Result<&'static Definition, ModelError> {
    let by_type = |wanted: &str| {
        let mut all = ARCHITECTURES.iter();
        all.find(|definition| definition.model_types.contains(&wanted))
    };
    let unknown = || {
        let types = ARCHITECTURES.iter().flat_map(|it| it.model_types);
        let known: Vec<&str> = types.copied().collect();
        let differences = |nearest: &str| by_type(nearest).map(|it| differences(file, it));
        unknown_architecture(file.path, &file.fields, &known, differences)
    };
    if let Some(name) = file.text("model_type")? {
        return by_type(name).ok_or_else(unknown);
    }
    // Files from before 2020 have the class only: "BertForMaskedLM".
    let classes = file.texts("architectures")?.unwrap_or_default();
    let class = classes
        .first()
        .map_or(String::new(), |class| class.to_lowercase());
    let end = class.find("for").or(class.find("model"));
    let stem = &class[..end.unwrap_or(class.len())];
    by_type(stem).ok_or_else(unknown)
}

/// Paths of the fields of `config.json` of a folder, or of the base model of its adapter, that are
/// not read and may change vectors.
pub(crate) fn unread_fields(folder: &Path) -> Result<Vec<String>, ModelError> {
    let path = base_folder(folder)?.join("config.json");
    let mut file = ConfigFile::new(&path, read_json(&path)?.unwrap_or_default());
    let definition = find(&file)?;
    read_fields(&mut file, definition)?;
    Ok(file.unread())
}

/// Says what of a configuration an architecture misses, and what it does not read.
fn differences(file: &ConfigFile<'_>, definition: &Definition) -> String {
    const MAX_FIELDS: usize = 6;
    let mut file = ConfigFile::new(file.path, file.fields.clone());
    let read = read_fields(&mut file, definition);
    if let Err(ModelError::Setting { field, found, .. }) = read {
        return format!("here {field} is {found}");
    }
    let unread = file.unread();
    let named = &unread[..unread.len().min(MAX_FIELDS)];
    let others = match unread.len() - named.len() {
        0 => String::new(),
        others => format!(" and {others} others"),
    };
    match named {
        [] => String::new(),
        named => format!("it does not read {}{others}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_model_types_are_unique() {
        let mut names: Vec<&str> = ARCHITECTURES.iter().map(|it| it.name).collect();
        let types = ARCHITECTURES.iter().flat_map(|it| it.model_types);
        let mut types: Vec<&str> = types.copied().collect();
        for all in [&mut names, &mut types] {
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), count);
        }
    }
}
