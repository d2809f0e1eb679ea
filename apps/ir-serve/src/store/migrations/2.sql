-- Starts of a publication that the process did not survive, such as for lack of memory.
ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
-- SHA-256 of the documents and annotations that the publication had.
ALTER TABLE jobs ADD COLUMN content BLOB;

-- Files of the folder of papers, as they were read.
CREATE TABLE files (
  path TEXT PRIMARY KEY,
  -- Size, time of modification, and the program that read the file.
  stamp TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE file_documents (
  path TEXT NOT NULL REFERENCES files (path) ON DELETE CASCADE,
  id TEXT NOT NULL,
  hash BLOB NOT NULL,
  PRIMARY KEY (path, id)
) WITHOUT ROWID;
