-- Whether opened answers of the query are logged: those of the search page are. Older queries count
-- as such.
ALTER TABLE queries ADD COLUMN records_clicks INTEGER NOT NULL DEFAULT 1;
