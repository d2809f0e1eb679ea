-- Tags of papers. Documents may be published or not: a paper that is read again keeps its tags.
CREATE TABLE tags (
  document TEXT NOT NULL,
  tag TEXT NOT NULL,
  PRIMARY KEY (document, tag)
) WITHOUT ROWID;
CREATE INDEX tags_by_name ON tags (tag);
