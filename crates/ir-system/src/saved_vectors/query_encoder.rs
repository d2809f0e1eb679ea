//! Model that encodes queries for saved vectors.

use std::fmt::Display;
use std::path::Path;

use ir_core::Side;
use ir_dense::BiEncoder;

use super::DENSE;
use super::origin::{COMPARED_FIELDS, VectorOrigin};
use crate::error::SystemError;
use crate::source::SourceMap;

/// Encoder of queries, which is compared with the encoder of the vectors that are searched.
#[derive(Debug, Clone, Copy)]
pub struct QueryEncoder<'a> {
    /// Folder or name of the model, for messages.
    pub model: &'a Path,
    /// Encoder with the precision, pooling and normalization that are compared.
    pub encoder: &'a BiEncoder,
    /// Prefix of the queries, if it is not the prefix of the model.
    pub prefix: Option<&'a str>,
    /// Accepts vectors of another encoder, with a warning.
    pub any_encoder: bool,
    /// Names of the keys or options of the type `dense`, for messages.
    pub source: &'a SourceMap,
}

impl QueryEncoder<'_> {
    /// Checks that the document side of the encoder made the vectors of `path`. Length limits and
    /// templates of documents do not apply to queries. Documents with another prefix than the
    /// prefix of the model were encoded with an option: then queries need a prefix, too.
    ///
    /// # Errors
    /// Returns [`SystemError::Parameter`] of the key `encoder` with the differences, unless any
    /// encoder is accepted.
    pub fn check(
        &self,
        path: &Path,
        origin: &VectorOrigin,
        warn: &mut dyn FnMut(&dyn Display),
    ) -> Result<(), SystemError> {
        let fingerprint = self.encoder.fingerprint(Side::Document);
        let expected = VectorOrigin::new(self.model, &fingerprint, None);
        let expected = expected.map_err(SystemError::stage("serialization"))?;
        let name = |key: &str| self.source.short_name(DENSE, key);
        let prefix = name("encoder.query_prefix");
        // Unless the model has this prefix for documents.
        if self.prefix == Some(origin.prefix()) && expected.prefix() != origin.prefix() {
            warn(&format_args!(
                "{prefix}: the prefix of the documents (`ir encode`); here it is that of queries"
            ));
        }
        let differences = expected.differences(origin, |field| match field {
            "prefix" => self.prefix.is_none(),
            field => COMPARED_FIELDS.contains(&field),
        });
        let path = path.display();
        match differences {
            None => Ok(()),
            Some(differences) if self.any_encoder => {
                warn(&format_args!("{path}: {differences}"));
                Ok(())
            }
            Some(differences) => {
                let settings = ["pooling", "normalize", "truncate_dim", "precision"];
                let [pooling, normalize, truncate_dim, precision] =
                    settings.map(|key| name(&format!("encoder.{key}")));
                let accepts = self.source.flag_name(DENSE, "any_encoder");
                let message = format!(
                    "{path}: {differences} (give the model, {pooling}, {normalize}, {truncate_dim} and {precision} \
                     of `ir encode`, and {prefix}, the prefix of queries; {accepts} searches all \
                     the same)"
                );
                Err(SystemError::parameter("encoder", message))
            }
        }
    }
}
