use std::collections::BTreeMap;
use std::io::BufRead;
use std::iter;
use std::sync::Arc;

use ir_core::AttributeValue;

use super::keys::{PaperKeys, arxiv_id};
use super::paper::{BibliographyEntry, CitationSpan, Paper, Paragraph, Section};
use crate::duplicates::DuplicateFinder;
use crate::error::{DataError, Location};
use crate::json::{parse_object, type_name};
use crate::lines::LineReader;

type Members = BTreeMap<String, AttributeValue>;

/// Reader of parsed papers: JSON lines in the format of S2ORC and its PDF parser.
///
/// | field | value |
/// |---|---|
/// | `paper_id` | string or integer; required, unique |
/// | `title`, `doi`, `arxiv_id`, `venue`, `journal` | string |
/// | `authors` | array of objects with `first`, `middle` (array of strings), `last`, `suffix` |
/// | `abstract` | string, or array of objects with `text` |
/// | `year` | integer, or a string with a year or a date: `2018`, `2018-05-12`; may be empty |
/// | `body_text` | array of paragraphs: `section`, `text` (required), `cite_spans` |
/// | `cite_spans` | array of citations: `start`, `end` (characters of `text`), `ref_id` |
/// | `bib_entries` | object of cited works by `ref_id`: `title`, `link` (paper id), `other_ids` |
/// | `other_ids` | `DOI` and `arXiv`: string, or array of which the first counts |
///
/// The fields from `title` to `year` may be in an object `metadata`, as in the releases of 2019 and
/// CORD-19; `abstract`, `body_text` and `bib_entries` in an object `pdf_parse`, `grobid_parse` or
/// `latex_parse`. `null` counts as missing, other fields are ignored. A paper without `body_text`,
/// of which S2ORC has many, has no [sections](Paper::sections).
#[derive(Debug)]
pub struct PaperReader<R> {
    lines: LineReader<R>,
    source: Arc<str>,
    seen: DuplicateFinder,
}

impl<R: BufRead> PaperReader<R> {
    /// Reads from `reader`; `source` names it in errors.
    pub fn new(reader: R, source: &str) -> Self {
        let lines = LineReader::new(reader, source);
        Self {
            source: lines.source(),
            lines,
            seen: DuplicateFinder::default(),
        }
    }

    /// Reads the next paper; `None` at the end. Blank lines are skipped.
    ///
    /// # Errors
    /// The source cannot be read, a line does not follow the [format](PaperReader), a span is not
    /// within its text or refers to no entry of the bibliography, or an id is not unique.
    pub fn read(&mut self) -> Result<Option<Paper>, DataError> {
        while let Some(line) = self.lines.read()? {
            if line.text.trim_ascii().is_empty() {
                continue;
            }
            let at = Location::new(&self.source, line.number);
            let paper = paper(Fields::new(parse_object(line.text, at)?, at))?;
            self.seen.add_id(&paper.id, at)?;
            return Ok(Some(paper));
        }
        Ok(None)
    }
}

/// Reads all papers of a source with a [`PaperReader`].
///
/// # Errors
/// The source cannot be read, a line does not follow the [format](PaperReader), a span is not
/// within its text or refers to no entry of the bibliography, or an id is not unique.
pub fn read_papers(reader: impl BufRead, source: &str) -> Result<Vec<Paper>, DataError> {
    let mut reader = PaperReader::new(reader, source);
    let mut papers = Vec::new();
    while let Some(paper) = reader.read()? {
        papers.push(paper);
    }
    Ok(papers)
}

/// Members of an object, with its name in errors.
struct Fields<'a> {
    members: Members,
    at: Location<'a>,
    /// Path of the object with a final `.`; empty for the line.
    path: String,
}

impl<'a> Fields<'a> {
    fn new(members: Members, at: Location<'a>) -> Self {
        Self {
            members,
            at,
            path: String::new(),
        }
    }

    /// Object within this one.
    fn child(&self, name: &str, members: Members) -> Self {
        let (at, path) = (self.at, format!("{}{name}.", self.path));
        Self { members, at, path }
    }

    fn name(&self, field: &str) -> String {
        format!("{}{field}", self.path)
    }

    fn wrong(&self, field: &str, expected: &'static str, found: &AttributeValue) -> DataError {
        self.at
            .wrong_type(self.name(field), expected, type_name(found))
    }

    fn text(&mut self, field: &str) -> Result<Option<String>, DataError> {
        match self.members.remove(field) {
            Some(AttributeValue::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(field, "a string", &other)),
            None => Ok(None),
        }
    }

    /// String, or integer as a string.
    fn id(&mut self, field: &str) -> Result<Option<String>, DataError> {
        match self.members.remove(field) {
            Some(AttributeValue::Text(text)) => Ok(Some(text).filter(|text| !text.is_empty())),
            Some(AttributeValue::Int(number)) => Ok(Some(number.to_string())),
            Some(other) => Err(self.wrong(field, "a string or an integer", &other)),
            None => Ok(None),
        }
    }

    fn integer(&mut self, field: &str) -> Result<Option<i64>, DataError> {
        match self.members.remove(field) {
            Some(AttributeValue::Int(number)) => Ok(Some(number)),
            Some(other) => Err(self.wrong(field, "an integer", &other)),
            None => Ok(None),
        }
    }

    fn list(&mut self, field: &str) -> Result<Vec<AttributeValue>, DataError> {
        match self.members.remove(field) {
            Some(AttributeValue::List(values)) => Ok(values),
            Some(other) => Err(self.wrong(field, "an array", &other)),
            None => Ok(Vec::new()),
        }
    }

    fn object(&mut self, field: &str) -> Result<Members, DataError> {
        match self.members.remove(field) {
            Some(AttributeValue::Map(members)) => Ok(members),
            Some(other) => Err(self.wrong(field, "an object", &other)),
            None => Ok(Members::new()),
        }
    }

    /// Objects of an array.
    fn objects(&mut self, field: &str) -> Result<Vec<Fields<'a>>, DataError> {
        let values = self.list(field)?.into_iter().enumerate();
        let object = |(n, value)| {
            let name = format!("{field}[{n}]");
            match value {
                AttributeValue::Map(members) => Ok(self.child(&name, members)),
                other => Err(self.wrong(&name, "an object", &other)),
            }
        };
        values.map(object).collect()
    }

    fn missing(&self, field: &str) -> DataError {
        self.at.missing_field(&self.name(field))
    }
}

fn paper(mut fields: Fields<'_>) -> Result<Paper, DataError> {
    let id = fields.id("paper_id")?;
    let id = id.ok_or_else(|| fields.missing("paper_id"))?;
    let metadata = fields.object("metadata")?;
    let mut paper = metadata_of(&mut fields.child("metadata", metadata))?;
    let own = metadata_of(&mut fields)?;
    for (text, own) in [
        (&mut paper.keys.title, own.keys.title),
        (&mut paper.keys.doi, own.keys.doi),
        (&mut paper.keys.arxiv, own.keys.arxiv),
        (&mut paper.venue, own.venue),
        (&mut paper.abstract_text, own.abstract_text),
    ] {
        if !own.trim().is_empty() {
            *text = own;
        }
    }
    if !own.authors.is_empty() {
        paper.authors = own.authors;
    }
    paper.id = id;
    paper.year = own.year.or(paper.year);
    let mut path = String::new();
    for parse in ["pdf_parse", "grobid_parse", "latex_parse"] {
        let members = fields.object(parse)?;
        let mut parsed = fields.child(parse, members);
        if paper.abstract_text.is_empty() {
            paper.abstract_text = abstract_of(&mut parsed)?;
        }
        // The first parse with a body counts, with its bibliography.
        if !fields.members.contains_key("body_text")
            && let Some(body) = parsed.members.remove("body_text")
        {
            path = parsed.path;
            fields.members.insert("body_text".to_owned(), body);
            if let Some(entries) = parsed.members.remove("bib_entries") {
                fields.members.insert("bib_entries".to_owned(), entries);
            }
        }
    }
    fields.path = path;
    let bibliography = bibliography(&mut fields)?;
    paper.sections = sections(&mut fields, &bibliography)?;
    paper.bibliography = bibliography;
    Ok(paper)
}

/// Paper with the metadata of an object and its abstract.
fn metadata_of(fields: &mut Fields<'_>) -> Result<Paper, DataError> {
    let venue = fields
        .text("venue")?
        .filter(|venue| !venue.trim().is_empty());
    let journal = fields.text("journal")?;
    Ok(Paper {
        keys: PaperKeys {
            title: fields.text("title")?.unwrap_or_default(),
            doi: fields.text("doi")?.unwrap_or_default(),
            arxiv: fields.text("arxiv_id")?.unwrap_or_default(),
        },
        authors: authors(fields)?,
        year: year(fields)?,
        venue: venue.or(journal).unwrap_or_default(),
        abstract_text: abstract_of(fields)?,
        ..Paper::default()
    })
}

/// Names of the authors; blank ones are left out.
fn authors(fields: &mut Fields<'_>) -> Result<Vec<String>, DataError> {
    let authors = fields.objects("authors")?.into_iter().map(|mut author| {
        let first = author.text("first")?;
        let middle = author.list("middle")?.into_iter().enumerate();
        let middle = middle.map(|(n, value)| match value {
            AttributeValue::Text(name) => Ok(Some(name)),
            other => Err(author.wrong(&format!("middle[{n}]"), "a string", &other)),
        });
        let middle: Vec<Option<String>> = middle.collect::<Result<_, DataError>>()?;
        let last = [author.text("last")?, author.text("suffix")?];
        let parts: Vec<String> = iter::once(first)
            .chain(middle)
            .chain(last)
            .flatten()
            .collect();
        let names: Vec<&str> = parts
            .iter()
            .flat_map(|part| part.split_whitespace())
            .collect();
        Ok(names.join(" "))
    });
    let mut authors: Vec<String> = authors.collect::<Result<_, DataError>>()?;
    authors.retain(|name| !name.is_empty());
    Ok(authors)
}

/// Year, also as a string, with or without month and day.
fn year(fields: &mut Fields<'_>) -> Result<Option<i64>, DataError> {
    let text = match fields.members.remove("year") {
        None => return Ok(None),
        Some(AttributeValue::Int(year)) => return Ok(Some(year)),
        Some(AttributeValue::Text(text)) => text,
        Some(other) => {
            return Err(fields.wrong("year", "an integer or a string", &other));
        }
    };
    let date = text.trim();
    if date.is_empty() {
        return Ok(None);
    }
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = date.split(['-', '/']).collect();
    let is_date = parts[0].len() == 4 && parts.iter().all(|part| is_number(part));
    match parts[0].parse().ok().filter(|_| is_date) {
        Some(year) => Ok(Some(year)),
        None => {
            let found = format!("{date} in {}", fields.name("year"));
            Err(fields.at.syntax("a year, such as 2018", &found))
        }
    }
}

fn abstract_of(fields: &mut Fields<'_>) -> Result<String, DataError> {
    if let Some(AttributeValue::List(_)) = fields.members.get("abstract") {
        let paragraphs = fields.objects("abstract")?.into_iter();
        let texts = paragraphs.map(|mut it| Ok(it.text("text")?.unwrap_or_default()));
        let texts: Vec<String> = texts.collect::<Result<_, DataError>>()?;
        return Ok(texts.join("\n").trim().to_owned());
    }
    Ok(fields
        .text("abstract")?
        .unwrap_or_default()
        .trim()
        .to_owned())
}

fn bibliography(fields: &mut Fields<'_>) -> Result<BTreeMap<String, BibliographyEntry>, DataError> {
    let mut entries = BTreeMap::new();
    for (reference, value) in fields.object("bib_entries")? {
        let name = format!("bib_entries.{reference}");
        let AttributeValue::Map(members) = value else {
            return Err(fields.wrong(&name, "an object", &value));
        };
        let mut entry = fields.child(&name, members);
        let title = entry.text("title")?.unwrap_or_default();
        let paper = entry.id("link")?;
        let ids = entry.object("other_ids")?;
        let mut ids = entry.child("other_ids", ids);
        let keys = PaperKeys {
            title,
            doi: first_text(&mut ids, "DOI")?,
            arxiv: first_text(&mut ids, "arXiv")?,
        };
        let arxiv = arxiv_id(&keys.arxiv).map_or(keys.arxiv.clone(), str::to_owned);
        let keys = PaperKeys { arxiv, ..keys };
        entries.insert(reference, BibliographyEntry { keys, paper });
    }
    Ok(entries)
}

/// First of an array of strings, or a string.
fn first_text(fields: &mut Fields<'_>, field: &str) -> Result<String, DataError> {
    if let Some(AttributeValue::Text(_)) = fields.members.get(field) {
        return Ok(fields.text(field)?.unwrap_or_default());
    }
    match fields.list(field)?.into_iter().next() {
        Some(AttributeValue::Text(text)) => Ok(text),
        Some(other) => Err(fields.wrong(&format!("{field}[0]"), "a string", &other)),
        None => Ok(String::new()),
    }
}

fn sections(
    fields: &mut Fields<'_>,
    bibliography: &BTreeMap<String, BibliographyEntry>,
) -> Result<Vec<Section>, DataError> {
    let mut sections: Vec<Section> = Vec::new();
    for mut paragraph in fields.objects("body_text")? {
        let title = paragraph.text("section")?.unwrap_or_default();
        let text = paragraph.text("text")?;
        let text = text.ok_or_else(|| paragraph.missing("text"))?;
        let citations = citations(&mut paragraph, &text, bibliography)?;
        let paragraph = Paragraph { text, citations };
        match sections.last_mut().filter(|last| last.title == title) {
            Some(last) => last.paragraphs.push(paragraph),
            None => sections.push(Section {
                title,
                paragraphs: vec![paragraph],
            }),
        }
    }
    Ok(sections)
}

fn citations(
    paragraph: &mut Fields<'_>,
    text: &str,
    bibliography: &BTreeMap<String, BibliographyEntry>,
) -> Result<Vec<CitationSpan>, DataError> {
    let spans = paragraph.objects("cite_spans")?;
    if spans.is_empty() {
        return Ok(Vec::new());
    }
    let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
    let offsets: Vec<usize> = ends.collect();
    let spans = spans.into_iter().map(|mut span| {
        let [start, end] = [span.integer("start")?, span.integer("end")?];
        let start = start.ok_or_else(|| span.missing("start"))?;
        let end = end.ok_or_else(|| span.missing("end"))?;
        let offset = |n: i64| {
            usize::try_from(n)
                .ok()
                .and_then(|n| offsets.get(n).copied())
        };
        let range = match (offset(start), offset(end)) {
            (Some(start), Some(end)) if start <= end => start..end,
            _ => {
                let found = format!("{start}..{end} in {}", span.path.trim_end_matches('.'));
                return Err(span.at.syntax("a range of characters of the text", &found));
            }
        };
        let reference = span.id("ref_id")?;
        if let Some(id) = &reference
            && !bibliography.contains_key(id)
        {
            let found = format!("{id} in {}ref_id", span.path);
            return Err(span.at.syntax("a reference of bib_entries", &found));
        }
        Ok(CitationSpan { range, reference })
    });
    spans.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Paper>, DataError> {
        read_papers(text.as_bytes(), "p.jsonl")
    }

    #[test]
    fn sections_citations_and_bibliography() {
        let text = r#"{"paper_id": 12, "title": "T", "year": 2015, "doi": "10.1/x", "abstract": [{"text": "A."}, {"text": "B."}],
            "pdf_parse": {"body_text": [
                {"section": "Intro", "text": "Größe [1]."}, {"section": "Intro", "text": "Two."},
                {"section": null, "text": "Über [2]", "cite_spans": [{"start": 5, "end": 8, "ref_id": "b1"}, {"start": 0, "end": 0, "ref_id": null}]}],
              "bib_entries": {"b0": {"title": "Old", "link": 7}, "b1": {"title": null, "other_ids": {"DOI": ["10.2/Y"], "arXiv": ["arXiv:1512.03385v2"]}}}}}"#;
        let paper = read(&text.replace('\n', " ")).unwrap().remove(0);
        assert_eq!((paper.id.as_str(), paper.year), ("12", Some(2015)));
        assert_eq!(paper.keys.doi, "10.1/x");
        assert_eq!(paper.abstract_text, "A.\nB.");
        let titles: Vec<(&str, usize)> = paper
            .sections
            .iter()
            .map(|it| (it.title.as_str(), it.paragraphs.len()))
            .collect();
        assert_eq!(titles, [("Intro", 2), ("", 1)]);
        let last = &paper.sections[1].paragraphs[0];
        assert_eq!(&last.text[last.citations[0].range.clone()], "[2]");
        assert_eq!(last.citations[0].reference.as_deref(), Some("b1"));
        assert_eq!(last.citations[1].reference, None);
        assert_eq!(paper.bibliography["b0"].paper.as_deref(), Some("7"));
        assert_eq!(paper.bibliography["b1"].keys.doi, "10.2/Y");
        assert_eq!(paper.bibliography["b1"].keys.arxiv, "1512.03385");
        assert_eq!(paper.paragraphs().count(), 3);
    }

    #[test]
    fn papers_without_sections() {
        for text in [
            r#"{"paper_id": "a"}"#,
            r#"{"paper_id": "a", "body_text": []}"#,
            r#"{"paper_id": "a", "body_text": null, "pdf_parse": null}"#,
            r#"{"paper_id": "a", "pdf_parse": {"body_text": []}}"#,
        ] {
            let paper = read(text).unwrap().remove(0);
            assert!(paper.sections.is_empty() && paper.abstract_text.is_empty());
        }
        assert!(read("\n\n").unwrap().is_empty());
    }

    #[test]
    fn years_are_integers_or_strings() {
        for (year, expected) in [
            ("2018", Some(2018)),
            (r#""2018""#, Some(2018)),
            (r#"" 2018-05-12 ""#, Some(2018)),
            (r#""2018/05""#, Some(2018)),
            (r#""""#, None),
            ("null", None),
        ] {
            let paper = read(&format!(r#"{{"paper_id": 1, "year": {year}}}"#)).unwrap();
            assert_eq!(paper[0].year, expected, "{year}");
        }
    }

    /// The releases of 2019 and CORD-19 have an object `metadata`.
    #[test]
    fn metadata_of_earlier_releases() {
        let cord = r#"{"paper_id": "c", "metadata": {"title": "Cups", "authors": [
            {"first": "Eve", "middle": ["B.", "C."], "last": "Cup", "suffix": "Jr."}, {"first": "", "middle": [], "last": "", "suffix": ""}]},
            "abstract": [{"text": "A."}], "body_text": [{"section": "S", "text": "B."}]}"#;
        let paper = read(&cord.replace('\n', " ")).unwrap().remove(0);
        assert_eq!((&*paper.keys.title, &*paper.abstract_text), ("Cups", "A."));
        assert_eq!(paper.authors, ["Eve B. C. Cup Jr."]);
        assert_eq!(paper.paragraphs().count(), 1);
        let release = r#"{"paper_id": "r", "metadata": {"title": "Pots", "year": "2011", "venue": "", "journal": "Tea", "doi": "10.1/p", "abstract": "A."},
            "grobid_parse": {"abstract": [], "body_text": [{"section": "S", "text": "B [1].", "cite_spans": [{"start": 2, "end": 5, "ref_id": "b"}]}],
            "bib_entries": {"b": {"title": "Cups"}}}}"#;
        let paper = read(&release.replace('\n', " ")).unwrap().remove(0);
        assert_eq!(
            (paper.year, &*paper.venue, &*paper.keys.doi),
            (Some(2011), "Tea", "10.1/p")
        );
        assert_eq!((&*paper.abstract_text, paper.bibliography.len()), ("A.", 1));
        assert_eq!(paper.paragraphs().count(), 1);
    }

    /// Invalid files, with `\n` for line ends, and parts of the errors.
    const INVALID: &str = r#"{"paper_id": 1}\n{"title": "t"} => p.jsonl:2: expected a field "paper_id"
{"paper_id": 1}\n\n{"paper_id": "1"} => p.jsonl:3: expected a unique id, found "1", which is also on line 1
{"paper_id": [1]} => expected a string or an integer in paper_id, found an array
{"paper_id": 1, "year": [2015]} => expected an integer or a string in year, found an array
{"paper_id": 1, "year": "in print"} => expected a year, such as 2018, found "in print in year"
{"paper_id": 1, "year": "-201"} => expected a year, such as 2018, found "-201 in year"
{"paper_id": 1, "metadata": {"year": "2015, May"}} => found "2015, May in metadata.year"
{"paper_id": 1, "metadata": ["a"]} => expected an object in metadata, found an array
{"paper_id": 1, "authors": ["Eve Cup"]} => expected an object in authors[0], found a string
{"paper_id": 1, "authors": [{"middle": [1]}]} => expected a string in authors[0].middle[0], found a number
{"paper_id": 1, "abstract": 3} => expected a string in abstract
{"paper_id": 1, "abstract": ["a"]} => expected an object in abstract[0], found a string
{"paper_id": 1, "body_text": {}} => expected an array in body_text, found an object
{"paper_id": 1, "body_text": [{"text": "a"}, {"section": "b"}]} => expected a field "body_text[1].text"
{"paper_id": 1, "pdf_parse": {"body_text": [{"text": 1}]}} => a string in pdf_parse.body_text[0].text
{"paper_id": 1, "body_text": [{"text": "é", "cite_spans": [{"start": 0, "end": 2}]}]} => expected a range of characters of the text, found "0..2 in body_text[0].cite_spans[0]"
{"paper_id": 1, "body_text": [{"text": "abc", "cite_spans": [{"start": 2, "end": 1}]}]} => found "2..1
{"paper_id": 1, "body_text": [{"text": "abc", "cite_spans": [{"start": -1, "end": 1}]}]} => found "-1..1
{"paper_id": 1, "body_text": [{"text": "abc", "cite_spans": [{"end": 1}]}]} => expected a field "body_text[0].cite_spans[0].start"
{"paper_id": 1, "body_text": [{"text": "abc", "cite_spans": [{"start": 0, "end": 1, "ref_id": "b"}]}]} => expected a reference of bib_entries, found "b in body_text[0].cite_spans[0].ref_id"
{"paper_id": 1, "bib_entries": {"b0": 3}} => expected an object in bib_entries.b0, found a number
{"paper_id": 1, "bib_entries": {"b0": {"other_ids": {"DOI": [3]}}}} => a string in bib_entries.b0.other_ids.DOI[0]
{ => p.jsonl:1: expected JSON
[] => expected an object in the line"#;

    #[test]
    fn errors_name_line_and_field() {
        for case in INVALID.lines() {
            let (text, expected) = case.split_once(" => ").unwrap();
            let error = read(&text.replace("\\n", "\n")).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
