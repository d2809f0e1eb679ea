use ir_core::Attributes;

use super::names::PersonName;
use super::*;

fn paper(fields: &[(&str, &str)], authors: &[&str], year: Option<i64>) -> Citation {
    let mut attributes = Attributes::new();
    for (name, value) in fields {
        attributes.set(*name, *value);
    }
    attributes.set("authors", authors.to_vec());
    if let Some(year) = year {
        attributes.set("year", year);
    }
    Citation::from_attributes("folder/paper.xml", &attributes)
}

#[test]
fn characters_of_tex_are_escaped() {
    let title = r"50% of $x_1$ & {a} \b ~ ^ # <c> | 10⁴ Größen";
    let citation = paper(
        &[("title", title), ("venue", "A & B")],
        &["R. D. {X}"],
        None,
    );
    // Braces of values are balanced, because BibTeX counts them.
    assert_eq!(
        bibtex(&[citation]),
        "@article{x50,\n  author = {\\textbraceleft{}X\\textbraceright{}, R. D.},\n  \
         title = {50\\% of \\$x\\_1\\$ \\& \\textbraceleft{}a\\textbraceright{} \
         \\textbackslash{}b \\textasciitilde{} \\textasciicircum{} \\# \
         \\textless{}c\\textgreater{} \\textbar{} 10⁴ Größen},\n  journal = {A \\& B}\n}\n"
    );
}

#[test]
fn capital_letters_inside_words_are_kept() {
    let citation = paper(
        &[("title", "HarvestQA: Questions for BERT (GPT-2)")],
        &[],
        None,
    );
    let entry = bibtex(&[citation]);
    let title = "title = {{HarvestQA:} Questions for {BERT} {(GPT-2)}}";
    assert!(entry.contains(title), "{entry}");
}

#[test]
fn names_have_parts() {
    for (name, family, given, suffix) in [
        ("Rosa Ibarra", "Ibarra", "Rosa", ""),
        ("Ludwig van Beethoven", "van Beethoven", "Ludwig", ""),
        ("María de la Cruz", "de la Cruz", "María", ""),
        ("Smith, John", "Smith", "John", ""),
        ("John Smith, Jr.", "Smith", "John", "Jr."),
        ("Smith, Jr., John", "Smith", "John", "Jr."),
        ("John Smith III", "Smith", "John", "III"),
        ("Plato", "Plato", "", ""),
        ("李明", "李明", "", ""),
        (
            "Research and Development",
            "Research and Development",
            "",
            "",
        ),
        ("J. R. R. Tolkien", "Tolkien", "J. R. R.", ""),
    ] {
        let expected = PersonName {
            family: family.to_owned(),
            given: given.to_owned(),
            suffix: suffix.to_owned(),
        };
        assert_eq!(PersonName::parse(name), expected, "{name}");
    }
    let names = ["John Smith, Jr.", "Research and Development", "Plato"];
    let entry = bibtex(&[paper(&[("title", "T")], &names, None)]);
    let authors = "author = {Smith, Jr., John and {Research and Development} and Plato}";
    assert!(entry.contains(authors), "{entry}");
    let entry = ris(&[paper(&[("title", "T")], &names, None)]);
    assert!(entry.contains("AU  - Smith, John, Jr.\r\n"), "{entry}");
}

#[test]
fn keys_are_unique_and_ascii() {
    let same = || {
        paper(
            &[("title", "The Müller Method")],
            &["Ö. Müller"],
            Some(2020),
        )
    };
    let unknown = paper(&[("title", "茶")], &["李明"], None);
    let entries = bibtex(&[same(), same(), same(), unknown]);
    let keys: Vec<&str> = entries
        .lines()
        .filter_map(|line| line.strip_prefix("@misc{"))
        .collect();
    let expected = [
        "muller2020muller,",
        "muller2020mullera,",
        "muller2020mullerb,",
        "paper,",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn types_follow_the_venue() {
    for (venue, bibtex_type, ris_type) in [
        ("Acoustic Ecology Reports", "@article{", "TY  - JOUR\r\n"),
        (
            "Harbor Imaging Conference",
            "@inproceedings{",
            "TY  - CONF\r\n",
        ),
        ("Proceedings of ACL", "@inproceedings{", "TY  - CONF\r\n"),
        (
            "Proceedings of the National Academy of Sciences",
            "@article{",
            "TY  - JOUR\r\n",
        ),
        ("", "@misc{", "TY  - GEN\r\n"),
    ] {
        let citation = paper(&[("title", "T"), ("venue", venue)], &[], None);
        assert!(
            bibtex(std::slice::from_ref(&citation)).starts_with(bibtex_type),
            "{venue}"
        );
        assert!(ris(&[citation]).starts_with(ris_type), "{venue}");
    }
}

#[test]
fn identifiers_are_normalized() {
    for (text, doi) in [
        ("10.1000/182", Some("10.1000/182")),
        ("doi: 10.1000/182", Some("10.1000/182")),
        ("https://dx.doi.org/10.1000/a_b", Some("10.1000/a_b")),
        ("10.1000", None),
        ("version 10.1/2", None),
        ("10.x/1", None),
        ("javascript:alert(1)", None),
    ] {
        let found = paper(&[("doi", text)], &[], None).doi;
        assert_eq!(found.as_deref(), doi, "{text}");
    }
    for (text, id) in [
        ("1706.03762", Some("1706.03762")),
        ("arXiv:1706.03762v7", Some("1706.03762v7")),
        ("https://arxiv.org/abs/cs/0501001", Some("cs/0501001")),
        ("none", None),
        ("12 34", None),
    ] {
        let found = paper(&[("arxiv", text)], &[], None).arxiv;
        assert_eq!(found.as_deref(), id, "{text}");
    }
    let odd = paper(&[("doi", "10.1000/<a>{b\"")], &[], None);
    assert_eq!(
        odd.url().as_deref(),
        Some("https://doi.org/10.1000/%3Ca%3E%7Bb%22")
    );
    assert!(bibtex(&[odd]).contains("doi = {10.1000/<a>%7Bb\"}"));
}

#[test]
fn quotes_are_annotations_in_one_line() {
    let fields = [("title", "Tea"), ("arxiv", "2001.00001")];
    let citation = paper(&fields, &["A. Lee", "B. Wu", "C. Ray"], Some(2020));
    assert_eq!(citation.short(), "Lee et al. (2020)");
    assert_eq!(
        citation.to_string(),
        "Lee et al. (2020). Tea. https://arxiv.org/abs/2001.00001"
    );
    let quoted = citation.with_quote("It grows\r\nin Asia.", Some(2));
    let quoted = quoted.with_quote("5 % are black.", None);
    let entry = bibtex(std::slice::from_ref(&quoted));
    let annote = "  annote = {“It grows in Asia.” (page 2) “5 \\% are black.”}\n}\n";
    assert!(entry.ends_with(annote), "{entry}");
    let eprint = "  eprint = {2001.00001},\n  archiveprefix = {arXiv},\n";
    assert!(entry.contains(eprint), "{entry}");
    let entry = ris(&[quoted]);
    let notes = "N1  - “It grows in Asia.” (page 2)\r\nN1  - “5 % are black.”\r\nER  - \r\n";
    assert!(entry.ends_with(notes), "{entry}");
}

#[test]
fn a_document_without_fields_has_its_id() {
    let citation = Citation::from_attributes("folder/paper.xml", &Attributes::new());
    assert_eq!(citation.short(), "folder/paper.xml");
    assert_eq!(
        bibtex(&[citation]),
        "@misc{folder,\n  title = {folder/paper.xml}\n}\n"
    );
}

/// Entries of other programs may follow: every entry has balanced braces.
#[test]
fn braces_are_balanced() {
    let hostile = "}{ @article{x, \"&amp; \\} $ {";
    let fields = [
        ("title", hostile),
        ("venue", hostile),
        ("doi", "10.1000/}{"),
    ];
    let citation = paper(&fields, &[hostile], Some(-5)).with_quote(hostile, None);
    let entry = bibtex(&[citation]);
    let mut depth = 0_i32;
    for c in entry.chars() {
        depth += i32::from(c == '{') - i32::from(c == '}');
        assert!(depth >= 0, "{entry}");
    }
    assert_eq!(depth, 0, "{entry}");
    // One entry, with its closing brace in a line of its own.
    assert_eq!(entry.matches("\n}\n").count(), 1, "{entry}");
}
