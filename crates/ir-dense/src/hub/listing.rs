//! Description of a model revision by the hub: files, sizes and checksums.

use ir_fetch::Checksum;
use serde::Deserialize;

use super::HubError;
use super::connection::Connection;
use crate::encode::files::{CHAT_TEMPLATE, STANFORD_METADATA};
use crate::encode::tokenizer_files::VOCABULARIES;
use crate::encode::transformer_module::SENTENCE_BERT_CONFIGS;
use crate::model_folder::{ADAPTER_CONFIG, ADAPTER_WEIGHTS, SAFETENSORS_INDEX};

/// Response of `GET /api/models/NAME/revision/REVISION?blobs=true`.
#[derive(Deserialize)]
pub(super) struct ModelListing {
    pub(super) sha: String,
    siblings: Vec<ListedFile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListedFile {
    rfilename: String,
    size: Option<u64>,
    blob_id: Option<String>,
    lfs: Option<LfsPointer>,
}

/// Git LFS pointer of a file that is stored outside of Git.
#[derive(Deserialize)]
struct LfsPointer {
    sha256: String,
    size: u64,
}

impl ListedFile {
    fn bytes(&self) -> Option<u64> {
        self.lfs.as_ref().map(|large| large.size).or(self.size)
    }
}

/// Content of a file, named by its checksum in the cache.
pub(super) struct HubBlob {
    pub(super) url: String,
    pub(super) bytes: u64,
    pub(super) checksum: Checksum,
}

impl ModelListing {
    pub(super) fn parse(text: &[u8], connection: &Connection<'_>) -> Result<Self, HubError> {
        let listing: Self = serde_json::from_slice(text).map_err(|source| HubError::Listing {
            url: connection.listing_url(),
            source,
        })?;
        check_digits(connection, "sha", &listing.sha, 40)?;
        Ok(listing)
    }

    fn find(&self, file: &str) -> Option<&ListedFile> {
        self.siblings
            .iter()
            .find(|sibling| sibling.rfilename == file)
    }

    /// Names of the files that an encoder may need besides weights and configurations of modules.
    /// `folder` is the folder of the transformer, empty or with a final `/`. Optional files may be
    /// absent from the listing.
    pub(super) fn wanted(
        &self,
        connection: &Connection<'_>,
        folder: &str,
    ) -> Result<Vec<String>, HubError> {
        let tokens = self.first_of(folder, &["tokenizer.json", "vocab.txt", "vocab.json"]);
        if tokens.is_none() && !self.has_adapter(folder) {
            return Err(connection.missing(VOCABULARIES));
        }
        // Byte-level BPE without tokenizer.json.
        let is_bpe = tokens.as_ref().is_some_and(|it| it.ends_with("vocab.json"));
        let merges = is_bpe.then_some("merges.txt");
        let others = [
            "special_tokens_map.json",
            "tokenizer_config.json",
            "added_tokens.json",
            CHAT_TEMPLATE,
            ADAPTER_CONFIG,
        ];
        let names = SENTENCE_BERT_CONFIGS
            .into_iter()
            .chain(others)
            .chain(merges);
        let names = names.map(|name| format!("{folder}{name}"));
        let settings = ["config_sentence_transformers.json", STANFORD_METADATA];
        let settings = settings.map(str::to_owned);
        let adapter = self.first_of(folder, &ADAPTER_WEIGHTS);
        Ok(names.chain(settings).chain(tokens).chain(adapter).collect())
    }

    /// Returns `true` if a folder has an adapter. It may lack weights, configuration and tokenizer,
    /// which are files of the base model, another model of the hub.
    pub(super) fn has_adapter(&self, folder: &str) -> bool {
        self.first_of(folder, &[ADAPTER_CONFIG]).is_some()
    }

    /// Name of the weights in a folder, or of the index of their shards; `None` if there are none.
    pub(super) fn weights(&self, folder: &str) -> Option<String> {
        let names = ["model.safetensors", SAFETENSORS_INDEX, "pytorch_model.bin"];
        self.first_of(folder, &names)
    }

    fn first_of(&self, folder: &str, names: &[&str]) -> Option<String> {
        let mut names = names.iter().map(|name| format!("{folder}{name}"));
        names.find(|name| self.find(name).is_some())
    }

    /// Total size of files; 0 if one of them is unknown.
    pub(super) fn total_bytes<'a>(&self, files: impl Iterator<Item = &'a String>) -> u64 {
        files
            .filter_map(|file| self.find(file))
            .map(ListedFile::bytes)
            .sum::<Option<u64>>()
            .unwrap_or(0)
    }

    /// The content of a file; `None` if the revision has no such file.
    pub(super) fn blob(
        &self,
        connection: &Connection<'_>,
        file: &str,
    ) -> Result<Option<HubBlob>, HubError> {
        let Some(found) = self.find(file) else {
            return Ok(None);
        };
        let field = |what: &str| format!("{what} of {file}");
        let checksum = match (&found.lfs, &found.blob_id) {
            (Some(large), _) => {
                check_digits(connection, &field("lfs.sha256"), &large.sha256, 64)?;
                Checksum::sha256(&large.sha256)
            }
            (None, blob) => {
                let id = blob.as_deref().unwrap_or_default();
                check_digits(connection, &field("blobId"), id, 40)?;
                Checksum::git_blob(id)
            }
        };
        Ok(Some(HubBlob {
            url: connection.file_url(&self.sha, file),
            bytes: found.bytes().ok_or_else(|| HubError::Field {
                url: connection.listing_url(),
                field: field("size"),
                expected: "a number of bytes",
                found: String::new(),
            })?,
            checksum,
        }))
    }
}

/// Checks lowercase hexadecimal digits, which become file names.
fn check_digits(
    connection: &Connection<'_>,
    field: &str,
    found: &str,
    count: usize,
) -> Result<(), HubError> {
    let digit = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
    if found.len() == count && found.bytes().all(digit) {
        return Ok(());
    }
    Err(HubError::Field {
        url: connection.listing_url(),
        field: field.into(),
        expected: match count {
            40 => "40 hexadecimal digits",
            _ => "64 hexadecimal digits",
        },
        found: found.into(),
    })
}
