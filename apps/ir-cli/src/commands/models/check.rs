//! Comparison with the vectors of another tool.

use anyhow::{Context, Result, bail};
use ir_core::{Encoder, Side};
use ir_data::LineReader;
use ir_dense::BiEncoder;
use serde::{Deserialize, Serialize};

use crate::shared::console::Console;
use crate::shared::input;
use crate::shared::signals::{check_stopped, stop_on_interrupt};

/// Number of texts that are encoded at once.
const CHUNK: usize = 256;

/// Text with its expected vector.
#[derive(Deserialize)]
struct Reference {
    text: String,
    vector: Vec<f32>,
    #[serde(default)]
    side: ReferenceSide,
    #[serde(skip)]
    line: u64,
}

#[derive(Deserialize, Clone, Copy, Default, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum ReferenceSide {
    Query,
    #[default]
    Document,
}

/// Differences between the vectors of an encoder and of another tool.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    pub(super) texts: u64,
    /// Largest absolute difference of a component.
    pub(super) largest_difference: f64,
    /// Largest difference as a fraction of the largest component of the expected vector.
    pub(super) largest_fraction: f64,
    /// Line of the vector with the largest fraction.
    pub(super) worst_line: u64,
    pub(super) least_cosine: f64,
}

/// Encodes the texts of a file and compares their vectors.
pub(super) fn compare(encoder: &BiEncoder, file: &str, console: &Console) -> Result<Comparison> {
    stop_on_interrupt();
    let (reader, name) = input::open(file, console)?;
    let mut lines = LineReader::new(reader, &name);
    let mut found = Comparison {
        texts: 0,
        largest_difference: 0.0,
        largest_fraction: 0.0,
        worst_line: 0,
        least_cosine: 1.0,
    };
    let mut chunk: Vec<Reference> = Vec::new();
    while let Some(line) = lines.read()? {
        if line.text.trim().is_empty() {
            continue;
        }
        let number = line.number;
        let reference = serde_json::from_str::<Reference>(line.text);
        let mut reference = reference.with_context(|| {
            format!("{name}:{number}: expected {{\"text\": \"...\", \"vector\": [...]}}")
        })?;
        reference.line = number;
        let (expected, dim) = (encoder.dim(), reference.vector.len());
        if dim != expected {
            bail!("{name}:{number}: expected a vector of {expected} numbers, found {dim}");
        }
        chunk.push(reference);
        if chunk.len() == CHUNK {
            found.add(encoder, &chunk)?;
            chunk.clear();
            check_stopped()?;
        }
    }
    found.add(encoder, &chunk)?;
    if found.texts == 0 {
        bail!("{name}: expected texts with vectors, found none");
    }
    Ok(found)
}

impl Comparison {
    fn add(&mut self, encoder: &BiEncoder, chunk: &[Reference]) -> Result<()> {
        for (reference_side, side) in [
            (ReferenceSide::Query, Side::Query),
            (ReferenceSide::Document, Side::Document),
        ] {
            let of_side = chunk.iter().filter(|it| it.side == reference_side);
            let of_side: Vec<&Reference> = of_side.collect();
            let texts: Vec<&str> = of_side.iter().map(|it| it.text.as_str()).collect();
            let vectors = encoder.encode(side, &texts)?;
            for (reference, vector) in of_side.iter().zip(vectors.chunks(encoder.dim())) {
                self.add_vector(reference, vector);
            }
        }
        Ok(())
    }

    fn add_vector(&mut self, reference: &Reference, found: &[f32]) {
        let pairs = found.iter().zip(&reference.vector);
        let pairs = || pairs.clone().map(|(&a, &b)| (f64::from(a), f64::from(b)));
        let difference = pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let largest = pairs().map(|(_, b)| b.abs()).fold(0.0, f64::max);
        let fraction = match difference {
            0.0 => 0.0,
            difference => difference / largest,
        };
        let dot = |product: fn((f64, f64)) -> f64| pairs().map(product).sum::<f64>();
        let norms = (dot(|(a, _)| a * a) * dot(|(_, b)| b * b)).sqrt();
        let cosine = match norms {
            0.0 => 1.0,
            norms => dot(|(a, b)| a * b) / norms,
        };
        self.texts += 1;
        self.largest_difference = self.largest_difference.max(difference);
        self.least_cosine = self.least_cosine.min(cosine);
        if self.worst_line == 0 || fraction > self.largest_fraction {
            (self.largest_fraction, self.worst_line) = (fraction, reference.line);
        }
    }
}
