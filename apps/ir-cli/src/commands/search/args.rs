//! Arguments of `ir search`.

use std::path::PathBuf;

use anyhow::Result;
use clap::{ValueEnum, ValueHint};
use ir_bm25::{IndexConfig, StoredFields};
use ir_core::Predicate;
use ir_core::store::Verify;
use ir_core::trec::ScoreFormat;
use ir_data::{DocTemplate, ReadOptions, TextEncoding};
use ir_system::{FilterName, IndexNeeds, Registry, SystemEntry};

use crate::shared::console::bail_usage;
use crate::shared::filter::condition;
use crate::shared::indexing::IndexOptions;
use crate::shared::input::{DocumentOptions, DocumentSource, QueryFields, TextRuleOption};
#[cfg(feature = "remote")]
use crate::shared::options::check_query_encoding;
use crate::shared::options::{
    QueryForm, ReadingOptions, choice, first_set, has_encoded_queries, positive, tag,
};
use crate::shared::output::OutputPath;
use crate::shared::search_data::OtherCollections;
use crate::shared::shards::ShardOption;
#[cfg(feature = "dense")]
use crate::shared::system_options::is_of_reranking;
use crate::shared::system_options::{SystemOptions, TypedSystem};

const EXAMPLES: &str = "\
Examples:
  ir search bundled 'boats photographed at night'   the top 10
  ir search corpus.ir vitamin d --explain           with score explanations
  ir search ~/notes --query 'tax return' --json     one JSON object per hit

  ir search beir/arguana --remove-self --scores strict --output run.trec
  ir search beir/nfcorpus --model qld --mu 1000 --output qld.trec
  ir search corpus.ir --queries queries.tsv --output run.trec.gz
  ir search nfcorpus.ir --queries beir/nfcorpus --split dev --output dev.trec
  ir search datafinder --preset datafinder --hits 5 \\
      --not-later-than-query --query-form keyphrases
  ir search beir/nfcorpus --query '+\"vitamin d\" -children' --syntax lucene
  ir search biocaddie --query-form weighted --syntax indri --output idf.trec
  ir search datafinder --preset datafinder --clean punctuation,stop-words \\
      --template '{name} {text} {title}'
  ir search beir/nfcorpus --type lsi --set dim=200 --output lsi.trec

Dense retrieval and hybrid search (feature `dense`):
  ir encode all-MiniLM-L6-v2 beir/nfcorpus -o vectors.ir
  ir search beir/nfcorpus --vectors vectors.ir --encoder all-MiniLM-L6-v2
  ir search beir/nfcorpus --vectors vectors.ir --encoder all-MiniLM-L6-v2 \\
      --alpha 0.05 --output hybrid.trec
  ir encode all-MiniLM-L6-v2 beir/nfcorpus --queries -o queries.ir
  ir search beir/nfcorpus --vectors vectors.ir --query-vectors queries.ir \\
      --alpha 0,0.02,0.05,0.1 --output hybrid-{alpha}.trec
  ir search beir/nfcorpus --vectors e5.ir --encoder e5-small-v2 \\
      --prefix 'query: '

Repeat --pooling, --normalize, --truncate-dim and --precision of `ir encode`
here: vectors of another model, pooling, normalization, dimension or
precision, or of other texts, are an error. --prefix and --max-tokens are
those of queries here, and those of documents in `ir encode`.

Reranking by a cross-encoder or by late interaction (feature `dense`). On a
terminal, the words of the query are in color; with late interaction, the
words of the document that are most similar to them:
  ir search beir/nfcorpus --rerank ms-marco-MiniLM-L6-v2 --candidates 100 \\
      --output reranked.trec
  ir search corpus.ir vitamin d --rerank models/colbert --explain
  ir search beir/nfcorpus --rerank models/colbert --rerank-tokens nfcorpus.ir

Collections on servers (feature `remote`; `ir load --help` lists addresses):
  ir search beir/nfcorpus --engine elasticsearch://localhost/nfcorpus
  ir search beir/nfcorpus --engine milvus://localhost/nfcorpus \\
      --engine-vectors queries.ir -o milvus.trec --save milvus.toml

Without words, the queries are the judged queries of the collection (--split)
and the output is a TREC run. With words, it is a list of results, or a TREC
run with --output FILE (`-o -` for standard output), or JSON lines with
--json; the id of the query is then 1.

Ties: results are ordered by score, then by document id. Evaluators sort run
files again by score, and trec_eval breaks ties by descending id; --scores
controls the written scores. BM25 on ArguAna, which has many duplicate texts,
scores nDCG@10 .3970 with anserini (the published value), .4005 with strict.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Index to search, or a collection as in `ir index`
    pub(crate) collection: String,

    #[command(flatten)]
    pub(crate) text: ReadingOptions,

    /// Query words
    #[arg(value_name = "WORDS", value_hint = ValueHint::Other, conflicts_with_all = ["query", "queries", "query_field", "query_id_field"])]
    pub(crate) words: Vec<String>,

    /// Query as a single argument
    #[arg(long, value_name = "TEXT", value_hint = ValueHint::Other, help_heading = QUERIES, conflicts_with_all = ["queries", "query_field", "query_id_field"])]
    query: Option<String>,

    /// Query file: BEIR's queries.jsonl, JSON lines or a JSON array with an id (`_id`, `id`, `qid`,
    /// `query_id`) and a text (`text`, `contents`, `query`, `question`, `title`), lines
    /// `id TAB text`, TREC topics (`<top>` or `<topic>`, their titles), Indri topics
    /// (`<parameters>`) or SMART (`.I`); `-` for standard input. --query-id-field and --query-field
    /// name other fields. Or a collection, by name or folder: its queries of --split, also written
    /// COLLECTION:SPLIT
    #[arg(long, value_name = "FILE|COLLECTION", help_heading = QUERIES)]
    pub(crate) queries: Option<PathBuf>,

    /// Split of the collection whose judged queries are searched. Of a collection without
    /// judgments, all queries are searched, and --split is an error [default: test]
    #[arg(long, value_name = "SPLIT", value_hint = ValueHint::Other, help_heading = QUERIES, conflicts_with_all = ["words", "query"])]
    pub(crate) split: Option<String>,

    /// Text of the queries to search: text, keyphrases (the attribute keyphrase_query), or another
    /// text attribute, such as description and narrative of TREC topics, or short, stopped,
    /// weighted and structured of bioCADDIE's topics, the last two with --syntax indri
    #[arg(long, default_value_t, value_name = "FORM", value_hint = ValueHint::Other, help_heading = QUERIES, conflicts_with = "query_field")]
    pub(crate) query_form: QueryForm,

    #[command(flatten)]
    query_fields: QueryFields,

    /// Number of hits per query [default: 1000 for a run and with --engine, 10 for a list; with
    /// --rerank, at most the candidates]
    #[arg(long, short = 'k', value_parser = positive, value_name = "K", help_heading = "Output")]
    pub(crate) hits: Option<usize>,

    /// Remove the hit with the id of the query, after taking the top K (Anserini's -removeQuery);
    /// for collections in which queries are documents, such as ArguAna
    #[arg(long, help_heading = "Output")]
    pub(crate) remove_self: bool,

    /// Output file of the run, also for query words, or of --json; written atomically; .gz and .zst
    /// are compressed [default: standard output]
    #[arg(long, short = 'o', value_name = "FILE", help_heading = "Output")]
    pub(crate) output: Option<OutputPath>,

    /// Tag of the run (last column) [default: ir- and the model or TYPE, ir-vectors or ir-hybrid,
    /// with -reranked after it; with --engine, remote-bm25, remote-vectors or remote-hybrid]
    #[arg(long, value_name = "NAME", value_hint = ValueHint::Other, value_parser = tag, help_heading = "Output")]
    tag: Option<String>,

    /// Score format of the run [default: anserini for bm25, qld and qljm as in Lucene; exact
    /// for other models, with --type, --vectors, --engine, --lengths exact, --weights, --sdm,
    /// --prior or --rerank]
    #[arg(long, value_parser = choice(SCORES), value_name = "FORMAT", help_heading = "Output")]
    scores: Option<ScoreFormat>,

    /// Print one JSON object per hit, with title, attributes and text if stored
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,

    /// Explain each score; for lists and JSON. With a late-interaction model, by the best token of
    /// the document for each token of the query
    #[arg(long, help_heading = "Output")]
    pub(crate) explain: bool,

    /// Exclude documents newer than the query, by the attribute `year`; documents without a year
    /// pass. `exact` filters inside the search; `published` is the procedure of the DataFinder
    /// paper (ACL 2023), which filters after truncation
    #[arg(
        long, value_enum, value_name = "METHOD", num_args = 0..=1, require_equals = true,
        default_missing_value = "exact", help_heading = "Filter"
    )]
    pub(crate) not_later_than_query: Option<TimeFilter>,

    /// Attribute condition that documents must satisfy: year<=2015, year>2010, repository=geo,sra,
    /// language!=German, or an attribute name (must be present); repeatable. A document without
    /// the attribute satisfies <=, >=, <, > and !=, and fails the others. Dates are YYYY, YYYY-MM
    /// or YYYY-MM-DD, with or without a time of day: date<=2015 includes all of 2015. code=007
    /// finds the text 007 and the number 7, code="007" only the text
    #[arg(long, value_parser = condition, value_name = "CONDITION", help_heading = "Filter")]
    pub(crate) filter: Vec<Predicate>,

    #[command(flatten)]
    pub(crate) lexical: SystemOptions,

    #[command(flatten)]
    pub(crate) typed: TypedSystem,

    /// Output file of the system of the options, which `ir search --system` and experiment files
    /// read; written atomically; `-` for standard output; .gz and .zst are compressed. Relative
    /// paths in the file are relative to it; --hits, --filter and --not-later-than-query are its
    /// keys hits, where and filter
    #[arg(long, value_name = "FILE", help_heading = "System")]
    pub(crate) save: Option<OutputPath>,

    /// System file, in place of the options of a system: written by `ir search --save`, or a file
    /// with the tables `[[systems]]` and `[encoders]` of an experiment file and no other keys.
    /// --hits, --tag and --scores take precedence over its keys; options of the queries,
    /// --remove-self, --json, --explain, --output, --cache, --verify and --threads also apply
    #[arg(long, value_name = "FILE", help_heading = "System")]
    pub(crate) system: Option<PathBuf>,

    #[cfg(feature = "dense")]
    #[command(flatten)]
    pub(crate) vectors: super::vectors::DenseOptions,

    #[cfg(feature = "remote")]
    #[command(flatten)]
    pub(crate) remote: super::remote_options::RemoteOptions,

    #[command(flatten)]
    pub(crate) setup: IndexOptions,

    #[command(flatten)]
    pub(crate) rule: TextRuleOption,

    /// Template of the indexed text, such as '{name} {text} {title}', in place of --fields. Names
    /// other than id, title and text are attributes; lists are joined by `, `
    #[arg(
        long,
        value_name = "TEMPLATE",
        help_heading = "Index",
        conflicts_with = "fields"
    )]
    pub(crate) template: Option<DocTemplate>,

    /// Cache folder for indexes built by a search, and for the vectors of words of
    /// --nearest-encoder; without it they are built in memory each time
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, help_heading = "Index")]
    pub(crate) cache: Option<OutputPath>,

    /// Verify the checksum of every section when opening the index and the file of --vectors. By
    /// default postings and stored texts are verified when they are read, and vectors by the first
    /// search, so that large indexes open instantly
    #[arg(long, help_heading = "Index")]
    pub(crate) verify: bool,

    #[command(flatten)]
    pub(crate) shard: ShardOption,

    /// Number of threads; does not affect the result [default: one per core]
    #[arg(long, value_parser = positive, value_name = "N", help_heading = "Execution")]
    pub(crate) threads: Option<usize>,
}

impl Args {
    /// Configuration of an index that the search builds, with positions if the system needs them.
    pub(crate) fn index_config(
        &self,
        documents: &DocumentSource,
        template: Option<&DocTemplate>,
        store: StoredFields,
    ) -> Result<IndexConfig> {
        let config = self.setup.config(documents, template, store)?;
        Ok(config.with_positions(self.index_needs()?.positions))
    }

    /// What the system of the options reads of an index.
    pub(super) fn index_needs(&self) -> Result<IndexNeeds> {
        Ok(self.lexical.spec()?.index_needs(&Registry::default())?)
    }

    /// How the documents are read.
    pub(crate) fn documents(&self) -> DocumentOptions {
        DocumentOptions {
            text_rule: self.rule.text_rule,
            ..self.text.read_options().into()
        }
    }

    /// Verification of the index and the file of the vectors.
    pub(crate) fn verification(&self) -> Verify {
        if self.verify {
            Verify::AllSections
        } else {
            Verify::FirstUse
        }
    }

    /// Score format of the run. The rounding of Anserini is for comparisons with it alone.
    pub(crate) fn scores(&self) -> ScoreFormat {
        let is_lucene = self.default_tag() == BM25
            && self.system.is_none()
            && !self.typed.is_set()
            && self.lexical.is_anserinis()
            && !self.lexical.is_set("weights")
            && !self.lexical.is_set("sdm")
            && !self.lexical.prior_changes_scores()
            && !self.lexical.is_set("rerank");
        self.scores.unwrap_or(if is_lucene {
            ScoreFormat::Anserini
        } else {
            ScoreFormat::Exact
        })
    }

    /// Tag of the run, or the default.
    pub(super) fn tag_or<'a>(&'a self, default: &'a str) -> &'a str {
        self.tag.as_deref().unwrap_or(default)
    }

    /// Score format of the run, or the default.
    pub(super) fn scores_or(&self, default: ScoreFormat) -> ScoreFormat {
        self.scores.unwrap_or(default)
    }

    /// Tag and output of each run: one, or one for every weight of BM25.
    pub(crate) fn runs(&self) -> Vec<(String, Option<OutputPath>)> {
        let mut default = match self.default_tag() {
            BM25 => format!("ir-{}", self.lexical.model_name()),
            system => system.to_owned(),
        };
        if self.lexical.is_set("rerank") {
            default += "-reranked";
        }
        let tag = self.tag.as_deref().unwrap_or(&default);
        let run = |tag: String, alpha: Option<&f32>| {
            let output = self
                .output
                .as_ref()
                .map(|path| match (alpha, path.to_str()) {
                    (Some(alpha), Some(name)) => {
                        OutputPath::from(PathBuf::from(name.replace(ALPHA, &alpha.to_string())))
                    }
                    _ => path.clone(),
                });
            (tag, output)
        };
        match self.alphas() {
            [] => vec![run(tag.to_owned(), None)],
            [alpha] => vec![run(tag.to_owned(), Some(alpha))],
            alphas => {
                let runs = alphas.iter();
                runs.map(|alpha| run(format!("{tag}-{alpha}"), Some(alpha)))
                    .collect()
            }
        }
    }

    /// Weight of BM25 of each run; `None` without a hybrid search.
    pub(super) fn weights(&self) -> Vec<Option<f32>> {
        match self.alphas() {
            [] => vec![None],
            alphas => alphas.iter().copied().map(Some).collect(),
        }
    }

    /// Systems of a run, the one to search last: the lexical ones with the vectors, if there are
    /// some, and the reranking.
    #[cfg_attr(not(feature = "dense"), allow(unused_variables))]
    pub(super) fn systems(
        &self,
        lexical: Vec<SystemEntry>,
        alpha: Option<f32>,
    ) -> Result<Vec<SystemEntry>> {
        #[cfg(feature = "dense")]
        let lexical = self.vectors.systems(lexical, alpha)?;
        Ok(self.lexical.reranked(lexical))
    }

    /// Weights of BM25 in hybrid searches.
    fn alphas(&self) -> &[f32] {
        #[cfg(feature = "dense")]
        return self.vectors.alphas();
        #[cfg(not(feature = "dense"))]
        &[]
    }

    /// Returns `true` if vectors are searched.
    pub(super) fn has_vectors(&self) -> bool {
        #[cfg(feature = "dense")]
        return self.vectors.system().is_some();
        #[cfg(not(feature = "dense"))]
        false
    }

    /// Returns `true` if a collection on a server is searched by options.
    pub(super) fn is_remote(&self) -> bool {
        #[cfg(feature = "remote")]
        return self.remote.is_set();
        #[cfg(not(feature = "remote"))]
        false
    }

    /// Default run tag, by the retrieval method.
    pub(crate) fn default_tag(&self) -> &'static str {
        #[cfg(feature = "remote")]
        if let Some(system) = self.remote.tag() {
            return system;
        }
        #[cfg(feature = "dense")]
        if let Some(system) = self.vectors.system() {
            return system;
        }
        BM25
    }

    /// Returns `true` if the hits of query words are shown, not written as a run. Hits on a server,
    /// with documents that are not read, are a run.
    pub(super) fn shows_typed(&self) -> bool {
        self.typed().is_some() && self.output.is_none() && !self.is_remote()
    }

    /// Returns `true` if the output is a list of hits for a reader.
    pub(crate) fn is_list(&self) -> bool {
        self.shows_typed() && !self.json
    }

    /// How --queries are read.
    pub(super) fn query_options(&self) -> ReadOptions {
        self.query_fields.read_options(self.text.encoding)
    }

    /// How other collections than the searched one are opened.
    pub(super) fn other_collections(&self) -> OtherCollections<'_> {
        OtherCollections {
            encoding: self.text.encoding,
            verify: self.verification(),
            setup: &self.setup,
            threads: self.threads,
        }
    }

    /// Rejects an `--encoding` that applies to no input. There are no `documents` in a saved index.
    /// Queries, or feedback documents of another collection, may have the encoding.
    pub(super) fn check_encoding(
        &self,
        documents: Option<&DocumentSource>,
        has_feedback: bool,
    ) -> Result<()> {
        let encoding = self.text.encoding;
        let is_of_queries = has_encoded_queries(self.queries.as_deref());
        if encoding == TextEncoding::Utf8 || has_feedback || is_of_queries {
            return Ok(());
        }
        match documents {
            Some(documents) => documents.check_encoding(encoding),
            None => {
                let name = &self.collection;
                bail_usage!("--encoding: expected text files, found {name}, which is a saved index")
            }
        }
    }

    /// Rejects options of queries with ids and attributes beside query words.
    pub(super) fn check_typed(&self) -> Result<()> {
        let typed = self.typed().is_some();
        if typed && self.not_later_than_query.is_some() {
            bail_usage!(
                "--not-later-than-query: expected queries with a year, found query words (use --filter 'year<=2015')"
            );
        }
        if typed && self.query_form != QueryForm::Text {
            bail_usage!(
                "--query-form {}: expected queries of a collection or a file, found query words",
                self.query_form
            );
        }
        if typed && self.remove_self {
            bail_usage!("--remove-self: expected queries with ids, found query words");
        }
        Ok(())
    }

    /// Rejects options of a run beside a list or --json, and --explain beside a run.
    pub(super) fn check_list(&self) -> Result<()> {
        let of_a_run = first_set([
            ("--tag", self.tag.is_some()),
            ("--scores", self.scores.is_some()),
        ]);
        let found = if self.json {
            "--json"
        } else if self.is_list() {
            "a list of hits (--output FILE writes a run)"
        } else if self.explain {
            bail_usage!("--explain: expected a list or --json, found a TREC run");
        } else {
            return Ok(());
        };
        if let Some(option) = of_a_run {
            bail_usage!("{option}: expected a TREC run, found {found}");
        }
        Ok(())
    }

    /// Rejects options that cannot have an effect beside the others. Options that depend on the
    /// collection are checked when it is opened.
    pub(crate) fn check(&self) -> Result<()> {
        let filter = self.not_later_than_query.map(FilterName::from);
        self.lexical.check_filtered(filter)?;
        self.check_typed()?;
        let typed = self.typed().is_some();
        #[cfg(feature = "remote")]
        {
            self.remote.check()?;
            if self.is_remote() {
                if self.not_later_than_query == Some(TimeFilter::Published) {
                    bail_usage!(
                        "--not-later-than-query=published: expected an index, found --engine (use =exact)"
                    );
                }
                if let Some(queries) = &self.queries {
                    check_query_encoding(queries, self.text.encoding)?;
                }
            }
        }
        self.shard.check(self.output.as_ref())?;
        if let Some(shard) = self.shard.shard.filter(|_| typed) {
            bail_usage!(
                "--shard {shard}: expected queries of a collection or a file, found query words"
            );
        }
        self.check_list()?;
        #[cfg(feature = "dense")]
        {
            let is_published = self.not_later_than_query == Some(TimeFilter::Published);
            if self.vectors.system().is_some() && is_published {
                bail_usage!(
                    "--not-later-than-query=published: expected BM25, found --vectors (use =exact)"
                );
            }
            self.vectors.check(self.first_lexical_option())?;
        }
        let weights = self.alphas().len();
        if weights > 1 && (self.json || self.is_list()) {
            bail_usage!("--alpha: expected one weight for a list or --json, found {weights}");
        }
        let output = self.output.as_deref();
        let output = output.and_then(|path| path.to_str()).unwrap_or_default();
        if weights > 1 && !output.contains(ALPHA) {
            bail_usage!(
                "--output: expected a name with {ALPHA} for {weights} weights, such as run-{ALPHA}.trec"
            );
        }
        Ok(())
    }

    /// First option that affects only lexical scores.
    #[cfg(feature = "dense")]
    fn first_lexical_option(&self) -> Option<String> {
        let of_the_search = self.lexical.first_set(|option| {
            let of_the_queries = ["clean", "pos-tags", "keep-pos"].contains(&option);
            !of_the_queries && !is_of_reranking(option)
        });
        let of_the_index = first_set([("--template", self.template.is_some())]);
        let of_the_index = of_the_index.or(self.setup.first_analysis_option());
        of_the_search.or_else(|| of_the_index.map(str::to_owned))
    }

    pub(crate) fn typed(&self) -> Option<String> {
        if self.words.is_empty() {
            self.query.clone()
        } else {
            Some(self.words.join(" "))
        }
    }
}

/// Part of the name of an output that the weight of BM25 replaces.
const ALPHA: &str = "{alpha}";

/// Default run tag of a search without vectors by BM25.
const BM25: &str = "ir-bm25";

const QUERIES: &str = "Queries";

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeFilter {
    /// Top K of the documents that pass
    Exact,
    /// Published procedure: retrieves 5 K hits, skips duplicate ids and newer datasets, and stops
    /// only after writing the hit at rank K
    Published,
}

impl From<TimeFilter> for FilterName {
    fn from(filter: TimeFilter) -> Self {
        match filter {
            TimeFilter::Exact => Self::Year,
            TimeFilter::Published => Self::PublishedYear,
        }
    }
}

const SCORES: [(&str, &str, ScoreFormat); 3] = [
    (
        "anserini",
        "f32, rounded to 4 decimals, ties separated by 0.000001, which large scores cannot \
         represent",
        ScoreFormat::Anserini,
    ),
    (
        "strict",
        "Ties separated by the smallest possible difference: preserves the order",
        ScoreFormat::Strict,
    ),
    (
        "exact",
        "Unchanged; ties are broken by the evaluator",
        ScoreFormat::Exact,
    ),
];
