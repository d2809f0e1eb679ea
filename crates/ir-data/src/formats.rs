//! Table of the formats that are read.

/// A format: what it is recognized by, and what of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// What files of the format have: documents, queries, judgments, runs, an index or vectors.
    pub content: &'static str,
    /// Name of the format.
    pub name: &'static str,
    /// What of the content or name shows the format.
    pub recognized_by: &'static str,
    /// Fields or columns, with their accepted names.
    pub fields: &'static str,
    /// Character encodings that are decoded.
    pub encodings: &'static str,
    /// What of the content is not read.
    pub skipped: &'static str,
}

/// UTF-16 needs a byte order mark.
const UTF8: &str = "UTF-8, UTF-16";
const UTF8_LATIN1: &str = "UTF-8, UTF-16, Latin-1, Windows-1252";

/// Formats of documents, queries, judgments, runs, indexes and vectors, in the order in which they
/// are tried. Every file may be compressed by gzip or zstd, except Parquet and
/// Arrow.
///
/// ```
/// let names: Vec<&str> = ir_data::FORMATS.iter().map(|format| format.name).collect();
/// assert!(names.contains(&"Parquet, Arrow") && names.contains(&"JSON lines"));
/// ```
pub const FORMATS: &[Format] = &[
    Format {
        content: "documents, queries",
        name: "Parquet, Arrow",
        recognized_by: "PAR1, ARROW1 or a message of Arrow at the start, or a folder of such files; in a folder of save_to_disk, the files of state.json",
        fields: "columns named as in JSON lines, in any case; others are attributes",
        encodings: "UTF-8",
        skipped: "binary columns other than ids, titles and texts, lists of floating-point numbers, times of day, null and NaN",
    },
    Format {
        content: "documents, queries",
        name: "SMART",
        recognized_by: ".I and a number in the first line",
        fields: ".I id; .T title; .W text; .A, .B and others attributes",
        encodings: UTF8_LATIN1,
        skipped: "nothing",
    },
    Format {
        content: "documents",
        name: "TREC",
        recognized_by: "<DOC>, <DOCS> or one root element and <DOC> at the start, after declarations and comments",
        fields: "DOCNO or id= the id; HEADLINE, TITLE, HEAD, HL, TTL the title; TEXT, LP, LEADPARA the text, without them all other elements; no attributes",
        encodings: UTF8_LATIN1,
        skipped: "elements outside of the title and an existing text, such as DATE (listed by `ir inspect`); tags, comments, SCRIPT, STYLE, DOCHDR; documents in comments, NUL bytes (counted)",
    },
    Format {
        content: "documents",
        name: "records of bioCADDIE",
        recognized_by: "DOCNO and METADATA in JSON or XML",
        fields: "DOCNO id; TITLE title; texts of METADATA by --text-rule",
        encodings: UTF8_LATIN1,
        skipped: "other members of METADATA",
    },
    Format {
        content: "queries",
        name: "Indri topics",
        recognized_by: "<parameters> at the start, after declarations and comments",
        fields: "number id; text",
        encodings: UTF8_LATIN1,
        skipped: "operators",
    },
    Format {
        content: "queries",
        name: "topics",
        recognized_by: "another < at the start",
        fields: "<top>, <topic>, <inex_topic>, or <query> below <queries>; num, number, id, identifier, qid, topic_id, topicid or an attribute (also q) the id; title, query, content, question, desc, description, narr, narrative; without a text the attribute title or query",
        encodings: UTF8_LATIN1,
        skipped: "subtopics and other elements",
    },
    Format {
        content: "documents, queries",
        name: "JSON lines",
        recognized_by: "{ at the start, or .json, .jsonl, .ndjson, or a folder of such files only",
        fields: "id _id, id, pid, docid, docno, doc_id, cord_uid (queries: qid, query_id, query-id, queryid); text text, contents, passage, body, segment, content, abstract (queries: query, question, title); title; others and members of metadata are attributes",
        encodings: UTF8,
        skipped: "blank lines, null",
    },
    Format {
        content: "documents, queries",
        name: "JSON array",
        recognized_by: "[ at the start",
        fields: "as JSON lines",
        encodings: UTF8,
        skipped: "null",
    },
    Format {
        content: "documents, queries",
        name: "CSV or TSV with a header line",
        recognized_by: "names of an id and a text in the first line, between tabs, commas or semicolons",
        fields: "columns named as in JSON lines, in any case; quoted cells; others are attributes",
        encodings: UTF8_LATIN1,
        skipped: "blank lines, empty cells, columns without a name",
    },
    Format {
        content: "documents",
        name: "TSV of id, URL, title, text",
        recognized_by: "four columns, the second a URL",
        fields: "MS MARCO's documents; no quotes",
        encodings: UTF8_LATIN1,
        skipped: "blank lines",
    },
    Format {
        content: "documents, queries",
        name: "TSV",
        recognized_by: "otherwise",
        fields: "id, text, and for documents a title; no quotes",
        encodings: UTF8_LATIN1,
        skipped: "blank lines",
    },
    Format {
        content: "documents",
        name: "notes",
        recognized_by: "a folder of .md, .markdown and .txt files",
        fields: "the path is the id; title in YAML or TOML front matter, the first heading or the file name the title; other fields of the front matter are attributes",
        encodings: UTF8_LATIN1,
        skipped: "hidden files, files of more than 64 MiB, unreadable notes (named), files of other formats (counted)",
    },
    Format {
        content: "collection",
        name: "BEIR folder",
        recognized_by: "corpus.jsonl, corpus.parquet or the folder corpus",
        fields: "corpus, queries and qrels as JSON lines or Parquet, qrels also as TSV, CSV, JSON or Arrow, in parts named -00000-of-00002; judgments also in default or data, as on the Hugging Face hub",
        encodings: UTF8,
        skipped: "other files; those that may be judgments are named",
    },
    Format {
        content: "collection",
        name: "SQuAD, Natural Questions, MS MARCO QA, TriviaQA",
        recognized_by: "names of fields: paragraphs, context and qas; document_text and question_text; passages and is_selected, or columns that begin with answers; Data, QuestionId and EntityPages or SearchResults",
        fields: "questions, answer spans and their paragraphs; documents are sentences, with the splits of squad/sentences",
        encodings: UTF8,
        skipped: "questions without an answer in the texts (counted by `ir inspect`); HTML; other fields",
    },
    Format {
        content: "judgments",
        name: "TREC qrels",
        recognized_by: "otherwise",
        fields: "query, iteration, document, grade between white space; JSON of ranx and pytrec_eval",
        encodings: UTF8,
        skipped: "the iteration",
    },
    Format {
        content: "judgments",
        name: "BEIR qrels",
        recognized_by: "query-id, corpus-id in the header line; or names of query, document and grade there (tabs, commas, semicolons), in JSON lines, Parquet or Arrow",
        fields: "query-id, qid, q_id, topic, topic_id, query; corpus-id, docno, doc_id, docid, document_id, passage_id, pid, doc, document; score, relevance, label, grade, rel; a query and a document alone: grade 1",
        encodings: UTF8,
        skipped: "other columns",
    },
    Format {
        content: "judgments",
        name: "Cranfield, CISI and CACM",
        recognized_by: "numbers and two zeros; numbers and codes in a file named cranqrel or a SMART folder",
        fields: "query, document, code",
        encodings: UTF8,
        skipped: "nothing",
    },
    Format {
        content: "judgments",
        name: "pairs",
        recognized_by: "two columns in every line",
        fields: "query, document; every grade is 1, with a warning",
        encodings: UTF8,
        skipped: "nothing",
    },
    Format {
        content: "runs",
        name: "TREC run",
        recognized_by: "otherwise",
        fields: "query, Q0, document, rank, score, tag; MS MARCO's query, document, rank; JSON of ranx and pytrec_eval",
        encodings: UTF8,
        skipped: "Q0 and rank",
    },
    Format {
        content: "runs",
        name: "run with names of columns",
        recognized_by: "names of query, document, and score or rank in the header line (tabs, commas, semicolons, white space), or in JSON lines or one JSON array",
        fields: "qid, query_id, query-id, q_id, topic, topic_id, query; docno, doc_id, docid, corpus-id, document_id, passage_id, pid, doc, document; score, scores, similarity, or rank with the score 1 / rank; tag, run_tag, run, run_id",
        encodings: UTF8,
        skipped: "other columns",
    },
    Format {
        content: "index",
        name: "CIFF",
        recognized_by: ".ciff; `ir index --from-ciff` reads any name",
        fields: "version, num_postings_lists, num_docs, description; term, df, cf, postings of gaps and frequencies; docid, collection_docid, doclength",
        encodings: "binary",
        skipped: "the average document length",
    },
    Format {
        content: "vectors",
        name: "vector index",
        recognized_by: "ir-flat, ir-half, ir-hnsw or ir-sprs at the start, or a folder of `ir encode --add`",
        fields: "ids and vectors",
        encodings: "binary",
        skipped: "nothing",
    },
    Format {
        content: "vectors",
        name: "NumPy, fvecs",
        recognized_by: "NUMPY at the start; .fvecs",
        fields: "rows; ids in a file beside it, .ids, one per line",
        encodings: "binary",
        skipped: "nothing",
    },
    Format {
        content: "vectors",
        name: "vectors in JSON lines, Parquet or Arrow",
        recognized_by: "{, PAR1, ARROW1 or a message of Arrow at the start",
        fields: "id; vector, embedding, embeddings, emb or values, in any case, a list of numbers",
        encodings: UTF8,
        skipped: "other fields",
    },
    Format {
        content: "vectors",
        name: "sparse vectors in JSON lines",
        recognized_by: "{ at the start, an id and the object vector, without texts; systems of type sparse read texts beside it",
        fields: "id, _id or docid; vector, weights by token, each at least 0",
        encodings: UTF8,
        skipped: "other fields",
    },
];
