-- Last complete reading of the folder of papers: one row at most.
CREATE TABLE folder_readings (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  path TEXT NOT NULL,
  files INTEGER NOT NULL,
  -- Unix time in milliseconds.
  ended_at INTEGER NOT NULL
);
