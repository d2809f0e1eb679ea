-- Documents of files of the folder of papers, with the file version that was last read. A row stays
-- when its document is deleted or replaced over REST: then the reading leaves that version out.
CREATE TABLE read_documents (
  id TEXT PRIMARY KEY,
  -- Size and time of modification of the file.
  stamp TEXT NOT NULL
) WITHOUT ROWID;
-- The first two of the fields of files.stamp.
INSERT OR REPLACE INTO read_documents
  SELECT id, substr(stamp, 1, first + instr(substr(stamp, first + 1), ' ') - 1)
  FROM (SELECT path, stamp, instr(stamp, ' ') AS first FROM files)
    JOIN file_documents USING (path) JOIN documents USING (id);
