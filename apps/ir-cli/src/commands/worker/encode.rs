//! Encoding, and searching vectors.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use ir_core::store::Verify;
use ir_core::{Distinct, Encoded, Flow, NoProgress, Side};
use ir_data::RecordKind;
use ir_dense::encode_stream;
use ir_system::saved_vectors::{QueryEncoder, VectorOrigin, open_vectors};

use super::record_types::{InputRecord, OutputKind, OutputValue, RecordInput};
use super::records::{InputRecords, RecordWriter};
use super::{FormatOption, TemplateOption, search_records};
use crate::shared::console::{Console, bail_usage};
use crate::shared::encoder::{EncoderOptions, find_model, open_encoder};
use crate::shared::options::{positive, use_threads};
use crate::shared::output::OutputSink;
use crate::shared::signals::{Interrupted, check_stopped};
use crate::shared::system_options::{DENSE, SystemSource, message, option_names};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Model folder, or the name of a downloaded model (see `ir models`)
    model: PathBuf,

    /// Encode queries: their texts alone, with the query prefix and the length limit of queries
    #[arg(long, conflicts_with = "template")]
    queries: bool,

    #[command(flatten)]
    template: TemplateOption,

    #[command(flatten, next_help_heading = "Model")]
    encoder: EncoderOptions,

    /// Number of threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N")]
    threads: Option<usize>,

    #[command(flatten)]
    format: FormatOption,
}

pub(super) fn run(args: &Args, out: &mut OutputSink) -> Result<()> {
    use_threads(args.threads)?;
    let template = args.template.template()?;
    let (side, kind) = if args.queries {
        (Side::Query, RecordKind::Query)
    } else {
        (Side::Document, RecordKind::Document)
    };
    let found = find_model(&args.model)?;
    let config = found.with_catalog_defaults(args.encoder.config(side));
    let encoder = open_encoder(&found.folder, &config)?;
    let input = args.format.input(kind);
    let texts = InputRecords::stdin(&input)?.map(|record| {
        check_stopped()?;
        match side {
            Side::Query => record?.into_text(),
            _ => record?.into_document_text(&template),
        }
    });
    let mut out = RecordWriter::new(input.format, OutputKind::Vectors, out)?;
    let push = |id: &str, vector: &[f32]| out.write(id, OutputValue::Vector(vector));
    match encode_stream(&encoder, side, texts, None, push, &mut NoProgress)? {
        Flow::Continue => out.finish(),
        Flow::Stop => Err(Interrupted.into()),
    }
}

/// What is not compared without a record of the encoder.
const ENCODER_UNCHECKED: &str = "--encoder must be the model that encoded it";

/// Options of a search in vectors.
#[derive(Debug, clap::Args)]
pub(super) struct VectorOptions {
    /// Vector index, written by `ir encode`, in place of a BM25 index. Records have vectors
    #[arg(long, value_name = "FILE", conflicts_with_all = SystemSource::ids())]
    vectors: Option<PathBuf>,

    /// Encoder of the field text of the records, in place of vectors
    #[arg(
        long, value_name = "MODEL", requires = "vectors", conflicts_with = "index",
        conflicts_with_all = SystemSource::ids(),
    )]
    encoder: Option<PathBuf>,

    /// Search vectors that record another encoder, with a warning: for a query encoder in a model
    /// folder of its own
    #[arg(
        long, requires = "encoder", conflicts_with = "index",
        conflicts_with_all = SystemSource::ids(),
    )]
    any_encoder: bool,

    #[command(flatten)]
    options: EncoderOptions,
}

impl VectorOptions {
    pub(super) fn is_set(&self) -> bool {
        self.vectors.is_some()
    }

    /// Searches the nearest vectors of records, exactly.
    pub(super) fn search(
        &self,
        k: usize,
        input: &RecordInput,
        out: &mut OutputSink,
        console: &Console,
    ) -> Result<()> {
        let Some(path) = &self.vectors else {
            bail_usage!("expected --vectors, found none");
        };
        if let Some(option) = self.options.first_set()
            && self.encoder.is_none()
        {
            bail_usage!("{option}: expected --encoder");
        }
        let vectors = open_vectors("--vectors", path, Verify::FirstUse)?;
        let Some(model) = &self.encoder else {
            let dim = vectors.dim();
            let query = |record: InputRecord| record.into_vector(dim);
            let distinct = Distinct(vectors);
            return search_records(k, input, &distinct, query, |vector: &Vec<f32>| vector, out);
        };
        let found = find_model(model)?;
        let config = found.with_catalog_defaults(self.options.config(Side::Query));
        let encoder = open_encoder(&found.folder, &config)?;
        let unchecked = ENCODER_UNCHECKED;
        let origin = VectorOrigin::read_with_warning(&vectors, path, unchecked, &mut |text| {
            console.warn(text);
        });
        if let Some(origin) = origin {
            let queries = QueryEncoder {
                model,
                encoder: &encoder,
                prefix: self.options.prefix(),
                any_encoder: self.any_encoder,
                source: &option_names(Vec::new()),
            };
            let checked = queries.check(path, &origin, &mut |text| console.warn(text));
            checked.map_err(|error| anyhow!(message(DENSE, &error)))?;
        }
        let encoded = Distinct(Encoded::new(encoder, vectors));
        let query = |record: InputRecord| record.into_text();
        search_records(k, input, &encoded, query, |text: &String| text, out)
    }
}
