//! Nothing here: the comparisons are the bench targets beside this folder.
