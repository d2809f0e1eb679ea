-- Starts of the encoding of published texts since its last stored vectors that the process did not
-- survive, such as for lack of memory: one row at most.
CREATE TABLE encoding_attempts (
  number INTEGER PRIMARY KEY CHECK (number = 1),
  attempts INTEGER NOT NULL
) WITHOUT ROWID;
