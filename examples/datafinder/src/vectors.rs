//! Vectors in files: encoded once, reused by later runs, resumed after an interruption.

use std::path::Path;

use anyhow::{Result, bail};
use ir_core::store::Verify;
use ir_core::{EncodeError, Encoder, Flow, Fnv1a, Progress, Retriever, Side};
use ir_dense::BiEncoder;
use ir_knn::{FlatIndex, FlatIndexWriter, VectorSimilarity};

/// Number of texts after which the vectors are written.
const CHUNK: usize = 256;

/// Opens the vectors of texts with their ids in `folder`, or encodes the texts. The file name
/// identifies encoder and texts.
pub fn vectors(
    encoder: &BiEncoder,
    side: Side,
    texts: &[(String, String)],
    folder: &Path,
    progress: &mut dyn Progress,
) -> Result<FlatIndex> {
    let (label, similarity) = match (side, encoder.similarity()) {
        (Side::Query, _) => ("queries", VectorSimilarity::InnerProduct),
        (_, Some(VectorSimilarity::InnerProduct)) => ("datasets", VectorSimilarity::InnerProduct),
        (_, _) => ("datasets", VectorSimilarity::Cosine),
    };
    let mut hash = Fnv1a::new();
    hash.write(format!("{:?} {similarity:?}", encoder.fingerprint(side)).as_bytes());
    for part in texts.iter().flat_map(|(id, text)| [id, text]) {
        hash.write(part.as_bytes());
        // Separator: 0xFF does not occur in UTF-8.
        hash.write(&[0xFF]);
    }
    let path = folder.join(format!("{label}-{:016x}.ir", hash.finish()));
    if !path.exists() {
        let (stage, total) = (format!("encoding {label}"), texts.len());
        let mut writer = FlatIndexWriter::resume(&path, encoder.dim(), similarity)?;
        for chunk in texts[writer.len()..].chunks(CHUNK) {
            let done = writer.len();
            if progress.report(&stage, done as u64, Some(total as u64)) == Flow::Stop {
                bail!("{stage}: stopped after {done} of {total}");
            }
            let texts: Vec<&str> = chunk.iter().map(|(_, text)| text.as_str()).collect();
            let rows = encoder.encode(side, &texts)?;
            for ((id, _), row) in chunk.iter().zip(rows.chunks(encoder.dim())) {
                writer.push(id, row)?;
            }
            writer.flush()?;
        }
        writer.finish()?;
    }
    // Vectors of queries are read without a search, which would verify them.
    Ok(FlatIndex::open_with(path, Verify::AllSections)?)
}

/// Encoder that looks queries up in their vectors, whose ids are the texts.
pub struct StoredQueries {
    pub encoder: BiEncoder,
    pub vectors: FlatIndex,
}

impl Encoder for StoredQueries {
    fn dim(&self) -> usize {
        self.encoder.dim()
    }

    fn encode_into(&self, side: Side, texts: &[&str], out: &mut [f32]) -> Result<(), EncodeError> {
        let ids = self.vectors.ids();
        let stored: Option<Vec<_>> = texts.iter().map(|text| ids.get(text)).collect();
        let Some(stored) = stored.filter(|_| side == Side::Query) else {
            return self.encoder.encode_into(side, texts, out);
        };
        let (expected, found) = (texts.len() * self.dim(), out.len());
        if found != expected {
            return Err(EncodeError::Shape { expected, found });
        }
        for (doc, row) in stored.into_iter().zip(out.chunks_mut(self.dim())) {
            row.copy_from_slice(self.vectors.vector(doc));
        }
        Ok(())
    }
}
