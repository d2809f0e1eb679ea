-- Records of documents by their SHA-256. A record is immutable.
CREATE TABLE contents (
  hash BLOB PRIMARY KEY,
  record TEXT NOT NULL
) WITHOUT ROWID;

-- Documents as they were last added: what the next publish makes visible.
CREATE TABLE documents (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL REFERENCES contents (hash),
  origin TEXT NOT NULL CHECK (origin IN ('api', 'folder')),
  -- Unix time in milliseconds.
  added_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Without it, every deleted record searches all documents for references.
CREATE INDEX documents_by_hash ON documents (hash);

-- Documents and questions that queries see.
CREATE TABLE published_documents (
  id TEXT PRIMARY KEY,
  hash BLOB NOT NULL REFERENCES contents (hash)
) WITHOUT ROWID;
CREATE INDEX published_documents_by_hash ON published_documents (hash);
CREATE TABLE published_questions (
  annotation INTEGER PRIMARY KEY,
  document TEXT NOT NULL,
  chunk INTEGER NOT NULL,
  span_start INTEGER NOT NULL,
  question TEXT NOT NULL
);

-- Vectors of texts by encoder, side (0 documents, 1 queries) and SHA-256 of the text.
CREATE TABLE vectors (
  encoder TEXT NOT NULL,
  side INTEGER NOT NULL CHECK (side IN (0, 1)),
  hash BLOB NOT NULL,
  -- Little-endian f32.
  vector BLOB NOT NULL,
  PRIMARY KEY (encoder, side, hash)
) WITHOUT ROWID;

CREATE TABLE jobs (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL
    CHECK (status IN ('queued', 'started', 'finished', 'failed', 'aborted')),
  stage TEXT NOT NULL DEFAULT '',
  done INTEGER NOT NULL DEFAULT 0,
  total INTEGER NOT NULL DEFAULT 0,
  enqueued_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  error TEXT
);

-- Keys by SHA-256: 32 random bytes need no salt.
CREATE TABLE keys (
  hash BLOB PRIMARY KEY,
  role TEXT NOT NULL CHECK (role IN ('admin', 'query')),
  created_at INTEGER NOT NULL
) WITHOUT ROWID;

-- Questions of annotators for spans. Offsets are characters of the normalized text of a chunk.
CREATE TABLE annotations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Changes with every edit, so that an edit of an older revision is rejected.
  revision INTEGER NOT NULL DEFAULT 1,
  document TEXT NOT NULL,
  chunk INTEGER NOT NULL,
  span_start INTEGER NOT NULL,
  span TEXT NOT NULL,
  question TEXT NOT NULL,
  annotator TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('pending', 'accepted', 'rejected', 'merged')),
  -- The annotation that a merged one was merged into.
  merged_into INTEGER REFERENCES annotations (id),
  -- Whether the document no longer has the span at the offset.
  is_displaced INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX annotations_of_document ON annotations (document);

-- Verdicts of the review, the latest of each reviewer.
CREATE TABLE verdicts (
  annotation INTEGER NOT NULL REFERENCES annotations (id) ON DELETE CASCADE,
  reviewer TEXT NOT NULL,
  verdict TEXT NOT NULL CHECK (verdict IN ('accepted', 'rejected', 'merged')),
  decided_at INTEGER NOT NULL,
  PRIMARY KEY (annotation, reviewer)
) WITHOUT ROWID;

-- Queries for datasets: DataFinder's form.
CREATE TABLE dataset_annotations (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  revision INTEGER NOT NULL DEFAULT 1,
  abstract TEXT NOT NULL,
  -- JSON objects.
  fields TEXT NOT NULL,
  datasets TEXT NOT NULL,
  annotator TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

CREATE TABLE queries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  asked_at INTEGER NOT NULL,
  user TEXT NOT NULL,
  query TEXT NOT NULL,
  is_suggestion INTEGER NOT NULL,
  results INTEGER NOT NULL,
  micros INTEGER NOT NULL
);
CREATE TABLE clicks (
  query INTEGER NOT NULL REFERENCES queries (id) ON DELETE CASCADE,
  frame TEXT NOT NULL,
  rank INTEGER NOT NULL,
  clicked_at INTEGER NOT NULL
);
CREATE INDEX clicks_of_query ON clicks (query);
