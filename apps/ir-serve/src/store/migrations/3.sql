-- FNV-1a of the vector, 64 bits as a signed number. NULL: stored by an older version.
ALTER TABLE vectors ADD COLUMN checksum INTEGER;
