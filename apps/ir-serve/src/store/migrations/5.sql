-- SHA-256 of the text of the opened answer: the answer of a frame changes with its document. NULL:
-- stored by an older version.
ALTER TABLE clicks ADD COLUMN answer BLOB;

-- Files of the folder of papers that have no documents or lack parts, by the last reading.
CREATE TABLE file_problems (
  path TEXT PRIMARY KEY,
  status TEXT NOT NULL CHECK (status IN ('failed', 'skipped', 'incomplete')),
  reason TEXT NOT NULL
) WITHOUT ROWID;
