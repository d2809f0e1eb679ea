//! `ir index`: builds and saves a BM25 index, or updates one.

mod ciff;
mod update;

use std::time::Instant;

use anyhow::{Result, bail};
use clap::ValueHint;
use indicatif::HumanBytes;
use ir_bm25::StoredFields;
use ir_data::DocTemplate;

use crate::shared::console::{Console, bail_usage};
use crate::shared::format::{counted, grouped};
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{DocumentOptions, DocumentSource, TextRuleOption, open_documents};
use crate::shared::options::{ReadingOptions, choice, positive, use_threads};
use crate::shared::output::{OutputPath, WorkPath, create};
use crate::shared::shards::{InputHash, OutputKind, ShardOption, ShardPart};
use crate::shared::signals::stop_on_interrupt;
use crate::shared::updates::WaitOption;

const EXAMPLES: &str = "\
Examples:
  ir index beir/nfcorpus -o nfcorpus.ir           a collection by name
  ir index ~/beir/scifact -o scifact.ir           a folder in BEIR's layout
  ir index corpus.jsonl.zst -o c.ir --memory 2GB  JSON lines, compressed too
  ir index docs.csv -o docs.ir                    names of columns; or Parquet
  ir index docs.tsv -o docs.ir                    `id TAB text [TAB title]`
  ir index msmarco-docs.tsv -o msmarco.ir         id, URL, title, text (TSV)
  ir index ft911 -o ft.ir                         TREC's <DOC>, or SMART's .I
  ir index ~/disk4 -o disk4.ir                    a folder of TREC files
  ir index ~/notes -o notes.ir --store all        a folder of *.md and *.txt
  ir index update_json_folder -o b.ir             records of bioCADDIE; also
                              --text-rule, or biocaddie/fields by name
  ir index datafinder -o df.ir --template '{name} {text} {title}'

An index that changes is a folder of segments:
  ir index ~/notes -o notes.index --add           create, add and replace
  ir index ~/notes -o notes.index --add --prune   and delete other documents
  ir index -o notes.index --delete gone.txt       delete the ids in a file
  ir index -o notes.index --compact               merge all segments into one

Indexes of other programs (Anserini, PISA, Terrier) in CIFF, and back:
  ir index --from-ciff robust04.ciff.gz -o r.ir --analysis anserini
  ir export corpus.ir -o corpus.ciff

Parts of a large collection, in one process each:
  ir index corpus.jsonl -o part-2.ir --shard 2/8  one of 8 parts
  ir merge -o corpus.ir part-*.ir                 bytes of the whole index

JSON, CSV, Parquet and Arrow have an id (`_id`, `id`, `pid`, `docid`,
`docno`, `doc_id`, `cord_uid`), a text (`text`, `contents`, `passage`, `body`,
`segment`, `content`, `abstract`) and optionally `title`; or --id-field,
--text-field and --title-field name them. Other fields, and the members of
`metadata`, are attributes for --filter. `ir help formats` lists all formats,
`ir inspect FILE` says what a file is taken for. The title of a note is
`title` in its YAML or TOML front matter, otherwise its first Markdown
heading, otherwise its file name without extension; other fields of the front
matter are attributes. Titles are indexed like text: a heading of a note
counts twice.

A JSON file for --analysis has these fields; missing ones are as here, or as
in the \"preset\" that it names:
  {\"tokenizer\": \"unicode\", \"max_len\": 255, \"normalization\": \"nfc\",
   \"possessive\": true, \"lower_case\": true, \"cjk_bigrams\": \"none\",
   \"stop_words\": \"lucene33\", \"protected_words\": [], \"stemmer\": \"porter\"}
Also tokenizer whitespace; normalizations none, width (full-width ASCII,
half-width Katakana), fold (as --fold); bigrams bigrams, bigrams_and_unigrams;
stop words none, nltk179 or a list, [\"a\", \"the\"]; stemmers none, porter1980
and the languages of Snowball. Words of a language are in files:
  ir index articles.jsonl -o fr.ir --stemmer french --stop-words french.txt

The defaults reproduce Anserini's \"flat\" BEIR index: title and text in one
field; Unicode word segmentation, NFC (in Anserini none), possessive removal,
lower-casing, 33 stop words, Porter stemmer; ties broken by id. BM25's k1 and
b are set at search time. The index is one file, written atomically; its bytes
do not depend on --memory or --threads.

With --add, --delete or --compact the index is a folder with one writer at a
time; --wait waits for another one. `ir search` opens its last commit, and
ranks and scores as in an index built from the documents that are left. A
killed update leaves the last commit. Ids are deleted before documents are
added. --add keeps the documents that the collection no longer has; --prune
deletes them, or list their ids for --delete (the id of a note is its path
below the folder). `ir encode --add` updates the vectors of changed documents.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Collection: a name (see `ir datasets`), BEIR or SMART folder, JSON, CSV, TSV, Parquet,
    /// Arrow, TREC (`<DOC>`) or SMART (`.I`) file, records of bioCADDIE, folder of TREC, Parquet,
    /// Arrow or JSON files, such records or notes
    #[arg(required_unless_present_any = ["delete", "compact", "from_ciff"])]
    collection: Option<String>,

    /// Output index file; with --add, --delete or --compact, the folder of the index
    #[arg(short = 'o', long, value_name = "FILE", required_unless_present_any = ["delete", "compact"])]
    output: Option<OutputPath>,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    #[command(flatten)]
    setup: IndexOptions,

    #[command(flatten)]
    rule: TextRuleOption,

    /// Read the index of another program from a file in the Common Index File Format, in place of a
    /// collection. The analyzer of queries is --analysis [default: the analyzer that `ir export`
    /// has recorded, otherwise porter]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, help_heading = "Index", conflicts_with_all = CIFF_CONFLICTS)]
    from_ciff: Option<String>,

    /// Store the positions of terms, for phrases and windows (`ir search --syntax`). An index
    /// without stored texts grows by a factor of 1.4 for one-line documents, of 1.9 for paragraphs
    #[arg(long, help_heading = "Index")]
    positions: bool,

    /// Template of the indexed text, such as '{name} {text} {title}', in place of --fields. Names
    /// other than id, title and text are attributes; lists are joined by `, `
    #[arg(long, value_name = "TEMPLATE", help_heading = "Index", conflicts_with_all = ["fields", "add", "prune", "delete", "compact"])]
    template: Option<DocTemplate>,

    /// Stored document fields, needed to show titles and texts and for --filter
    /// [default: all]
    #[arg(long, value_parser = choice(STORED), value_name = "FIELDS", help_heading = "Index")]
    store: Option<StoredFields>,

    /// Add the documents to the index in the folder FILE, and replace documents with the same ids.
    /// Creates the index if there is none. Ids must be unique in the collection. A document without
    /// indexed text is not added, and the document with the same id is deleted
    #[arg(long, requires = "collection", help_heading = "Update")]
    add: bool,

    /// Delete the documents with these ids, one per line
    #[arg(long, value_name = "FILE", help_heading = "Update")]
    delete: Option<String>,

    /// With --add, delete the documents of the index that the collection does not contain, such as
    /// deleted notes. A note that cannot be read counts as deleted
    #[arg(long, requires = "add", help_heading = "Update")]
    prune: bool,

    /// Merge all segments into one, without deleted documents, so that searches are fastest
    #[arg(long, help_heading = "Update")]
    compact: bool,

    #[command(flatten)]
    wait: WaitOption,

    #[command(flatten)]
    shard: ShardOption,

    /// Number of threads [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Execution")]
    threads: Option<usize>,
}

/// Arguments that read or change documents.
const CIFF_CONFLICTS: [&str; 16] = [
    "collection",
    "encoding",
    "id_field",
    "text_field",
    "title_field",
    "fields",
    "order",
    "text_rule",
    "positions",
    "template",
    "store",
    "add",
    "prune",
    "delete",
    "compact",
    "shard",
];

const STORED: [(&str, &str, StoredFields); 3] = [
    ("nothing", "Ids and years only", StoredFields::Nothing),
    (
        "attributes",
        "Ids, years and attributes",
        StoredFields::Attributes,
    ),
    (
        "all",
        "Title, text and attributes",
        StoredFields::Everything,
    ),
];

impl Args {
    /// Returns `true` if the output is a segmented index.
    fn is_update(&self) -> bool {
        self.add || self.delete.is_some() || self.compact
    }

    /// How the documents are read.
    fn documents(&self) -> DocumentOptions {
        DocumentOptions {
            text_rule: self.rule.text_rule,
            ..self.text.read_options().into()
        }
    }

    /// The output, which `--delete` and `--compact` need as the other forms do.
    fn output(&self) -> Result<&OutputPath> {
        let Some(output) = &self.output else {
            let option = if self.compact {
                "--compact"
            } else {
                "--delete"
            };
            let folder = self.collection.as_deref().unwrap_or("FOLDER");
            bail_usage!(
                "{option}: expected the folder of the index with -o, as in `ir index -o {folder} {option}`"
            );
        };
        Ok(output)
    }

    /// The documents of `--shard`, after reading all of them.
    fn part(&self, documents: &DocumentSource, console: &Console) -> Result<Option<ShardPart>> {
        let Some(shard) = self.shard.shard else {
            return Ok(None);
        };
        let corpus = documents.collection.corpus();
        let input = InputHash::of_documents(corpus, &mut console.bar())?;
        Ok(Some(ShardPart::new(shard, &input)))
    }

    fn stored(&self) -> StoredFields {
        self.store.unwrap_or(StoredFields::Everything)
    }

    /// The folder of an index that is updated.
    pub(crate) fn work_paths(&self) -> Vec<WorkPath> {
        let folder = self.output.as_ref().filter(|_| self.is_update());
        let path = folder.map(|folder| WorkPath::output_folder(folder.folder()));
        path.into_iter().collect()
    }
}

pub(crate) fn run(args: &Args, console: &Console) -> Result<()> {
    stop_on_interrupt();
    use_threads(args.threads)?;
    if args.wait.wait.is_some() && !args.is_update() {
        bail_usage!("--wait: expected --add, --delete or --compact, which lock an index");
    }
    if let Some(file) = &args.from_ciff {
        return ciff::run(file, args, console);
    }
    let collection = match &args.collection {
        Some(collection) if !args.is_update() => collection,
        _ => {
            if let Some(shard) = args.shard.shard {
                bail_usage!(
                    "--shard {shard}: expected an index in one file, found --add, --delete or --compact"
                );
            }
            return update::run(args, console);
        }
    };
    let shown = args.output()?.display();
    let output = args.output()?.binary_file("--output")?;
    if output.is_dir() {
        bail!(
            "{}: cannot be written: expected a file, found a directory; --add updates the index in a folder",
            output.display()
        );
    }
    let documents = open_documents(collection, args.documents(), console)?;
    documents.check_encoding(args.text.encoding)?;
    // Fail early if the output cannot be written: the builder creates it at the end.
    drop(create(output)?);
    let template = args.template.as_ref();
    let config = args.setup.config(&documents, template, args.stored())?;
    let config = config.with_positions(args.positions);
    let began = Instant::now();
    let part = args.part(&documents, console)?;
    let index = (args.setup).build_range(
        &documents,
        template,
        config,
        part.as_ref().map_or(0..usize::MAX, ShardPart::range),
        args.threads,
        Some(output),
        console,
    )?;
    if let Some(part) = part {
        part.write_record(output, OutputKind::Index, "index", None)?;
    }
    let stats = index.stats();
    if index.is_empty() {
        console.warn(format_args!(
            "{collection}: no document has text; the index is empty"
        ));
    }
    if stats.blank_dropped > 0 {
        console.warn(format_args!(
            "{} of the documents have no indexed text and were skipped",
            grouped(stats.blank_dropped)
        ));
    }
    for field in &stats.fields {
        console.note(format_args!(
            "field {}: {} distinct terms, average length {:.1}",
            field.name,
            grouped(field.terms),
            field.average_length()
        ));
    }
    console.log(format_args!(
        "{} ({}) in {}: {}, {:.1} s",
        counted(stats.documents as u64, "document"),
        documents.format,
        shown,
        HumanBytes(stats.bytes as u64),
        began.elapsed().as_secs_f64()
    ));
    Ok(())
}
