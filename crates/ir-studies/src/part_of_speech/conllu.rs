//! Tagged texts in CoNLL-U.

use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

use ir_core::excerpt;
use ir_data::{DataError, LineReader, open};

use super::{PartOfSpeech, PartOfSpeechTagger, TaggedWord, TaggingError};

/// Tagged texts of a file in CoNLL-U.
///
/// - A word is a line of ten columns separated by tabs, of which the first (number), the second
///   (word) and the fourth (universal tag) are read. Other lines are empty, which ends a sentence,
///   or comments, which begin with `#`.
/// - A text is a document, which begins with the comment `# newdoc`; in a file without such
///   comments, a sentence.
/// - A text is found by its characters other than white space. Repeated texts must have the same
///   tags.
/// - Of a multiword token (`1-2`), the words are tagged, and the token is part of the text. Empty
///   nodes (`1.1`) are not part of the text.
#[derive(Debug, Clone, Default)]
pub struct TaggedTexts {
    path: String,
    texts: HashMap<String, Vec<TaggedWord>>,
}

/// Text that is being read.
#[derive(Default)]
struct PendingText {
    /// Characters without white space.
    key: String,
    words: Vec<TaggedWord>,
    /// Number of the last word.
    number: u32,
    /// Last word of the multiword token.
    token_end: u32,
    /// Line of the first word.
    line: u64,
}

impl TaggedTexts {
    /// Opens a file, which may be compressed.
    ///
    /// # Errors
    /// The file cannot be read, a line does not follow the format, or a text occurs twice with
    /// different tags.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DataError> {
        let path = path.as_ref();
        Self::read(open(path)?, &path.display().to_string())
    }

    /// Reads from `reader`; `source` names it in errors.
    ///
    /// # Errors
    /// The source cannot be read, a line does not follow the format, or a text occurs twice with
    /// different tags.
    pub fn read(reader: impl BufRead, source: &str) -> Result<Self, DataError> {
        let mut lines = LineReader::new(reader, source);
        let mut all = Self {
            path: source.to_owned(),
            texts: HashMap::new(),
        };
        let (mut text, mut documents) = (PendingText::default(), false);
        while let Some(line) = lines.read()? {
            let at = Location {
                path: source,
                line: line.number,
            };
            let content = line.text.strip_suffix('\r').unwrap_or(line.text);
            if let Some(comment) = content.strip_prefix('#') {
                if comment.split_whitespace().next() == Some("newdoc") {
                    let follows_text = !all.texts.is_empty() || !text.words.is_empty();
                    if follows_text && !documents {
                        let expected = "# newdoc before every text, or before none";
                        return Err(at.syntax(expected, content));
                    }
                    documents = true;
                    all.add(std::mem::take(&mut text), source)?;
                }
            } else if content.is_empty() {
                (text.number, text.token_end) = (0, 0);
                if !documents {
                    all.add(std::mem::take(&mut text), source)?;
                }
            } else {
                text.read_word(content, at)?;
            }
        }
        all.add(text, source)?;
        Ok(all)
    }

    /// Number of different texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Returns `true` if there are no texts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    fn add(&mut self, text: PendingText, source: &str) -> Result<(), DataError> {
        if text.words.is_empty() {
            return Ok(());
        }
        let PendingText {
            key, words, line, ..
        } = text;
        match self.texts.get(&key) {
            Some(known) if *known != words => {
                let expected = "the same words and tags of equal texts";
                Err(Location { path: source, line }.syntax(expected, &key))
            }
            _ => {
                self.texts.insert(key, words);
                Ok(())
            }
        }
    }
}

/// Position of an error.
#[derive(Clone, Copy)]
struct Location<'a> {
    path: &'a str,
    line: u64,
}

impl Location<'_> {
    fn syntax(self, expected: &'static str, found: &str) -> DataError {
        DataError::Syntax {
            path: self.path.to_owned(),
            line: self.line,
            expected,
            found: excerpt(found),
        }
    }
}

impl PendingText {
    fn read_word(&mut self, line: &str, at: Location<'_>) -> Result<(), DataError> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [number, word, _, tag, _, _, _, _, _, _] = columns[..] else {
            return Err(DataError::Columns {
                path: at.path.to_owned(),
                line: at.line,
                min: 10,
                max: 10,
                found: columns.len() as u64,
            });
        };
        let invalid = || at.syntax("the number of the next word", number);
        if self.key.is_empty() {
            self.line = at.line;
        }
        if let Some((node, part)) = number.split_once('.') {
            return match (node.parse::<u32>(), part.parse::<u32>()) {
                (Ok(node), Ok(_)) if node == self.number => Ok(()),
                _ => Err(invalid()),
            };
        }
        let is_token = number.contains('-');
        let (first, last) = number.split_once('-').unwrap_or((number, number));
        let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
            return Err(invalid());
        };
        if first != self.number + 1 || last < first || (is_token && first <= self.token_end) {
            return Err(invalid());
        }
        if is_token {
            self.token_end = last;
        } else {
            self.number = first;
            let tag = tag.parse::<PartOfSpeech>();
            let tag = tag.map_err(|_| at.syntax("a universal part-of-speech tag", columns[3]))?;
            self.words.push(TaggedWord {
                text: word.to_owned(),
                tag,
            });
        }
        if is_token || first > self.token_end {
            push_key(&mut self.key, word);
        }
        Ok(())
    }
}

fn push_key(key: &mut String, text: &str) {
    key.extend(text.chars().filter(|c| !c.is_whitespace()));
}

impl PartOfSpeechTagger for TaggedTexts {
    fn tag(&self, text: &str) -> Result<Vec<TaggedWord>, TaggingError> {
        let mut key = String::with_capacity(text.len());
        push_key(&mut key, text);
        let words = self.texts.get(&key).cloned();
        words.ok_or_else(|| TaggingError::Untagged {
            path: self.path.clone(),
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(number: &str, word: &str, tag: &str) -> String {
        format!("{number}\t{word}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n")
    }

    fn read(file: &str) -> Result<TaggedTexts, DataError> {
        TaggedTexts::read(file.as_bytes(), "q.conllu")
    }

    fn words(texts: &TaggedTexts, text: &str) -> Vec<String> {
        let words = texts.tag(text).unwrap().into_iter();
        let tagged = words.map(|word| format!("{}/{}", word.text, word.tag));
        tagged.collect()
    }

    #[test]
    fn sentences() {
        let file = format!(
            "# text = Don't go\r\n{}{}{}{}{}\n\n{}",
            line("1-2", "Don't", "_"),
            line("1", "Do", "AUX"),
            line("2", "n't", "PART"),
            line("2.1", "you", "PRON"),
            line("3", "go", "VERB"),
            line("1", "New York", "PROPN"),
        );
        let texts = read(&file).unwrap();
        assert_eq!(texts.len(), 2);
        let expected = ["Do/AUX", "n't/PART", "go/VERB"];
        assert_eq!(words(&texts, "Don't  go"), expected);
        assert_eq!(words(&texts, "New York"), ["New York/PROPN"]);
        let error = texts.tag("Do go").unwrap_err().to_string();
        let expected = "q.conllu: expected the tagged words of \"Do go\", found none";
        assert_eq!(error, expected);
        assert!(read("").unwrap().is_empty());
        assert!(read("# only a comment\n\n").unwrap().is_empty());
    }

    #[test]
    fn documents_of_several_sentences() {
        let (tea, go) = (line("1", "Tea.", "NOUN"), line("1", "Go.", "VERB"));
        let file = format!("# newdoc id = 1\n{tea}\n{go}\n# newdoc\n{go}\n");
        let texts = read(&file).unwrap();
        assert_eq!(texts.len(), 2);
        assert_eq!(words(&texts, "Tea. Go."), ["Tea./NOUN", "Go./VERB"]);
        assert_eq!(words(&texts, "Go."), ["Go./VERB"]);
        let late = read(&format!("{tea}\n# newdoc\n{go}")).unwrap_err();
        assert!(late.to_string().starts_with("q.conllu:3: "), "{late}");
    }

    #[test]
    fn invalid_lines() {
        let tea = line("1", "tea", "NOUN");
        let check = |file: &str, expected: &str| {
            let error = read(file).unwrap_err().to_string();
            assert_eq!(error, format!("q.conllu:{expected}"));
        };
        check("1\ttea\tNOUN\n", "1: expected 10 columns, found 3");
        let expected = "1: expected a universal part-of-speech tag, found \"noun\"";
        check(&line("1", "tea", "noun"), expected);
        let next = "expected the number of the next word, found";
        for number in ["2", "a", "2-1"] {
            let file = line(number, "tea", "NOUN");
            check(&file, &format!("1: {next} {number:?}"));
        }
        for (number, tag) in [("1", "NOUN"), ("3.1", "X")] {
            let file = tea.clone() + &line(number, "tea", tag);
            check(&file, &format!("2: {next} {number:?}"));
        }
        let file = format!("{tea}\n{}", line("1", "tea", "VERB"));
        let expected = "3: expected the same words and tags of equal texts, found \"tea\"";
        check(&file, expected);
        assert_eq!(read(&format!("{tea}\n{tea}")).unwrap().len(), 1);
    }
}
