-- Starts of a publication that the process did not survive, such as for lack of memory.
ALTER TABLE jobs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
-- SHA-256 of the documents and annotations that the publication had.
ALTER TABLE jobs ADD COLUMN content BLOB;
