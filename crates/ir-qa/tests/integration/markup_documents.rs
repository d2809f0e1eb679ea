//! Text of HTML, JATS, TEI and MathML: scripts, blocks, references, collections.

use ir_qa::ChunkKind;
use ir_qa::documents::{DocumentFormat, DocumentReader, MissingPart, Paper};

fn papers(text: &str, format: DocumentFormat) -> Vec<Paper> {
    let reader = DocumentReader::default();
    let file = reader.read_bytes(text.as_bytes(), format, "f", "f");
    file.unwrap().papers
}

/// Headings with their level, paragraphs, rows of tables after `|`, and formulas after `=`.
fn lines(text: &str, format: DocumentFormat) -> Vec<String> {
    let mut lines = Vec::new();
    for section in &papers(text, format)[0].sections {
        if !section.heading.is_empty() {
            let marks = "#".repeat(section.level.into());
            lines.push(format!("{marks} {}", section.heading));
        }
        lines.extend(section.paragraphs.iter().map(|p| match p.kind {
            ChunkKind::Row => format!("| {}", p.text),
            ChunkKind::Formula => format!("= {}", p.text),
            _ => p.text.clone(),
        }));
    }
    lines
}

fn jats(paragraphs: &str) -> Vec<String> {
    let text = format!("<article><body>{paragraphs}</body></article>");
    lines(&text, DocumentFormat::Xml)
}

fn tei(paragraphs: &str) -> Vec<String> {
    let text = format!("<TEI><text><body><div>{paragraphs}</div></body></text></TEI>");
    lines(&text, DocumentFormat::Xml)
}

fn html(page: &str) -> Vec<String> {
    lines(page, DocumentFormat::Html)
}

#[test]
fn superscripts_and_subscripts() {
    for (text, expected) in [
        (
            "We grew 10<sup>6</sup> cells in H<sub>2</sub>O.",
            "We grew 10⁶ cells in H₂O.",
        ),
        (
            "Rates are 3 × 10<sup>−5</sup> s<sup>-1</sup>.",
            "Rates are 3 × 10⁻⁵ s⁻¹.",
        ),
        (
            "Ca<sup>2+</sup> and <sup>14</sup>C; x<sub>i</sub><sup>2</sup>.",
            "Ca²⁺ and ¹⁴C; xᵢ².",
        ),
        (
            "On the 21<sup>st</sup> day 10<sup>4.5</sup>, 2<sup>k</sup> and 2<sup>k+1</sup>.",
            "On the 21st day 10^4.5, 2^k and 2^(k+1).",
        ),
        (
            "With x<sub>max</sub>, p<sup>*</sup>, 95<sup>°</sup>C, 10<sup> 3 </sup>m.",
            "With x_max, p*, 95°C, 10³ m.",
        ),
        ("<sup>a</sup> Mean value.", "a Mean value."),
        ("Empty<sup></sup> ones<sub/>.", "Empty ones."),
    ] {
        let paragraph = format!("<p>{text}</p>");
        assert_eq!(jats(&paragraph), [expected], "JATS");
        assert_eq!(html(&paragraph), [expected], "HTML");
    }
    assert_eq!(
        tei(
            "<p>It weighs 10<hi rend='superscript'>12</hi> g of CO<hi rend='sub'>2</hi>, \
             <hi rend='italic'>all</hi>.</p>"
        ),
        ["It weighs 10¹² g of CO₂, all."]
    );
    assert_eq!(
        html("<p>It is 5<sup>2 <p>Not raised</sup>."),
        ["It is 5²", "Not raised."]
    );
}

#[test]
fn reference_marks_are_no_powers() {
    assert_eq!(
        jats(
            "<p>As known<sup><xref ref-type='bibr'>4</xref></sup>, 10<sup>4</sup> grow \
             [<xref ref-type='bibr'>5</xref>].</p>"
        ),
        ["As known, 10⁴ grow [5]."]
    );
    assert_eq!(
        tei(
            "<p>Known <hi rend='superscript'><ref type='bibr'>7</ref></hi> for 10\
             <hi rend='superscript'>7</hi>.</p>"
        ),
        ["Known for 10⁷."]
    );
    assert_eq!(
        html(
            "<p>Seen <sup><a href='#b3'>3</a></sup> and <a href='#b4'><sup>4</sup></a> in \
              10<sup>3</sup>."
        ),
        ["Seen and in 10³."]
    );
}

/// A citation that is glued to a word is no part of it: `p53` with the reference 4 is not `p534`.
#[test]
fn citations_are_no_part_of_words() {
    for (paragraph, expected) in [
        (
            "In p53<xref ref-type='bibr'>4</xref>, Tab.<xref ref-type='table'>2</xref> and \
             grown<xref ref-type='fn'><sup>a</sup></xref> cells.<sup><xref ref-type='bibr'>5</xref>,\
             <xref ref-type='bibr'>6</xref></sup>",
            "In p53, Tab.2 and grown cells.",
        ),
        (
            "As in [<xref ref-type='bibr'>4</xref>,<xref ref-type='bibr'>5</xref>], refs. \
             <xref ref-type='bibr'>6</xref> and <xref ref-type='bibr'>Roe 2001</xref>.",
            "As in [4,5], refs. 6 and Roe 2001.",
        ),
        (
            "A power <xref ref-type='sec'>of 10<sup>4</sup></xref> is one.",
            "A power of 10⁴ is one.",
        ),
    ] {
        assert_eq!(jats(&format!("<p>{paragraph}</p>")), [expected]);
    }
    assert_eq!(
        html(
            "<p>In p53<a href='#cite-4'>4</a> and Fig.<a href='#f2'>2</a> of <a href='#s'>10\
             <sup>4</sup></a> cells<sup><a href='#x'>5</a>, <a href='#y'>6</a></sup>."
        ),
        ["In p53 and Fig.2 of 10⁴ cells."]
    );
    assert_eq!(
        tei("<p>In p53<ref type='bibr'>4</ref> and <ref type='bibr'>(Roe, 2001)</ref>.</p>"),
        ["In p53 and (Roe, 2001)."]
    );
}

#[test]
fn scripts_and_fractions_of_mathml() {
    let formula = "<math><semantics><mrow><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo>\
        <msub><mi>a</mi><mi>ij</mi></msub><mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac>\
        <msubsup><mi>σ</mi><mi>n</mi><mn>2</mn></msubsup></mrow>\
        <annotation encoding='application/x-tex'>x^2</annotation></semantics></math>";
    let expected = ["We have x²+a_ij=1/2σₙ² here."];
    let paragraph = format!("<p>We have {formula} here.</p>");
    assert_eq!(html(&paragraph), expected);
    assert_eq!(jats(&paragraph), expected);
    assert_eq!(
        html(
            "<p>A <math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac></math>."
        ),
        ["A (a+b)/c."]
    );
    let spaced = "<p>It is <math>\n<msup>\n<mn>10</mn>\n<mi>k</mi>\n</msup></math>.</p>";
    assert_eq!(html(spaced), ["It is 10^k."]);
    assert_eq!(jats(spaced), ["It is 10^k."]);
    assert_eq!(
        html("<p>Open <math><msup><mi>x</mi><mn>3<p>Next <b>one</b>."),
        ["Open x³", "Next one."]
    );
}

#[test]
fn blocks_inside_of_paragraphs_separate_words() {
    for (paragraph, expected) in [
        (
            "Energy follows<disp-formula>E</disp-formula>for all<disp-formula>m</disp-formula>.",
            &["Energy follows E for all m."][..],
        ),
        (
            "We say<def-list><def-item><term>IR</term><def><p>finding texts.</p><p>Often.</p></def>\
             </def-item><def-item><term>QA</term><def/></def-item></def-list>these words.",
            &["We say these words.", "IR: finding texts.", "Often.", "QA"],
        ),
        (
            "See<boxed-text><p>Boxed words.</p></boxed-text>above and <styled-content>in<p>nested \
             ones.</p></styled-content>it.",
            &["See above and in it.", "Boxed words.", "nested ones."],
        ),
        (
            "Run<code>ls</code>twice in the foot<fn><p>A note.</p></fn>ball club.",
            &["Run ls twice in the football club."],
        ),
        (
            "By<statement><label>Theorem 1</label><p>All is well.</p></statement>we know.",
            &["By we know.", "All is well."],
        ),
    ] {
        assert_eq!(jats(&format!("<p>{paragraph}</p>")), expected);
    }
    assert_eq!(
        tei(
            "<p>Bring<list><head>Tools</head><item>a pot;</item><item>a cup.</item></list>and stir\
             <formula>v=1</formula>now<figure><figDesc>A pot.</figDesc></figure>slow<lb \
             break='no'/>ly.</p>"
        ),
        [
            "Bring and stir v=1 now slowly.",
            "Tools",
            "a pot;",
            "a cup.",
            "A pot."
        ]
    );
    assert_eq!(
        html(
            "<p>It is<math display='block'><mi>E</mi></math>for mass<table><tr><td>1</table>one \
              of<br>two."
        ),
        ["It is E for mass", "= E", "one of two."]
    );
}

#[test]
fn references_of_html_are_no_text() {
    let before = "<h1>Ponds</h1><h2>Frogs</h2><p>Frogs sing.</p>";
    let expected = ["# Frogs", "Frogs sing.", "# Appendix", "More frogs."];
    for references in [
        "<h2>References</h2><p>Roe. What is a frog?</p><h3>Books</h3><p>Old.</p>",
        "<h3>7. Literaturverzeichnis</h3><ul><li>Roe. What is a frog?</ul>",
        "<h2>VI Références bibliographiques</h2><p>Roe.",
        "<h2>参考文献</h2><p>Roe.</p>",
        "<h2>BIBLIOGRAPHY:</h2><p>Roe.</p>",
        "<section class='x ltx_bibliography'><div><p>Roe.</p></div><p>Poe.</p></section>",
        "<ol class=references><li>Roe.</li><li><ol><li>Poe.</ol></ol>",
        "<div role='doc-bibliography'><h2>Sources</h2><div/>Roe.</div>",
    ] {
        let page = format!("{before}{references}<h2>Appendix</h2><p>More frogs.");
        assert_eq!(html(&page), expected, "{references}");
    }
    let kept = "<h2>Reference intervals</h2><p>Tall.</p><h2>Literature review</h2><p>Long.";
    assert_eq!(
        html(kept),
        [
            "# Reference intervals",
            "Tall.",
            "# Literature review",
            "Long."
        ]
    );
    // No end tag: nothing is lost.
    assert_eq!(html("<div class=references><p>Tea."), ["Tea."]);
}

#[test]
fn hidden_elements_footnotes_and_affiliations_are_no_text() {
    for part in [
        "<span hidden>Not shown.</span>",
        "<div hidden=''><div>Not</div> shown.</div>",
        "<span aria-hidden='true'>Not shown.</span>",
        "<span style='color: red; display:none'>Not shown.</span>",
        "<span class='ltx_note ltx_role_footnote'><sup class='ltx_note_mark'>1</sup><span \
         class='ltx_note_outer'>Not text.</span></span>",
        "<section class='footnotes' role='doc-endnotes'><ol><li>Not text.</li></ol></section>",
        "<div class='x affiliation'>Institute of Ponds</div>",
        "<a class='footnote-ref' href='#fn1'><sup>1</sup></a>",
        "<p class='ltx_ERROR'>undefined</p>",
    ] {
        let page = format!("<p>Frogs sing.{part}</p><p>They jump.</p>");
        assert_eq!(html(&page), ["Frogs sing.", "They jump."], "{part}");
    }
    // Words stay whole, and nothing is lost without an end tag.
    assert_eq!(
        html("<p>Fro<span hidden>x</span>gs <b hidden=until-found>sing</b>.<p hidden>They jump."),
        ["Frogs sing.", "They jump."]
    );
    // KaTeX has each formula twice.
    let formula = "<span class=katex><span class=katex-mathml><math><msup><mn>10</mn><mn>4</mn>\
        </msup></math></span><span class=katex-html aria-hidden=true>10<span>4</span></span></span>";
    assert_eq!(html(&format!("<p>At {formula} cells.")), ["At 10⁴ cells."]);
}

#[test]
fn authors_and_dates_of_latexml() {
    let page = "<div id='watermark-tr'>arXiv:1606.05250v3 [cs.CL] 11 Oct 2016</div><h1>Ponds</h1>\
        <div class='ltx_authors'><span class='ltx_creator ltx_role_author'><span \
        class='ltx_personname'>Eve Cup<sup>1</sup> and Bo Pot<br>Institute of Tea</span><span \
        class='ltx_author_notes'>a@b.example</span></span><span class='ltx_creator'><span \
        class='ltx_personname'><span>Ann</span> de la Roe</span></span></div>\
        <div class='ltx_dates'>(June 2015)</div><p>Frogs sing.</p>";
    let paper = papers(page, DocumentFormat::Html).remove(0);
    assert_eq!(paper.title, "Ponds");
    assert_eq!(paper.authors, ["Eve Cup", "Bo Pot", "Ann de la Roe"]);
    assert_eq!(paper.year, Some(2016));
    assert_eq!(paper.metadata.text("arxiv"), Some("1606.05250"));
    let texts: Vec<&str> = paper.paragraphs().map(|it| &*it.text).collect();
    assert_eq!(texts, ["Frogs sing."]);
    let dated = page.replace("watermark-tr", "x").replace("arXiv:", "");
    assert_eq!(papers(&dated, DocumentFormat::Html)[0].year, Some(2015));
    let known = format!("<meta name=citation_author content='Cup, Eve'>{page}");
    assert_eq!(papers(&known, DocumentFormat::Html)[0].authors, ["Eve Cup"]);
}

#[test]
fn words_at_line_breaks_of_tei_are_joined() {
    assert_eq!(
        tei(
            "<p>The hyphen-<lb/>ated words of a well-known, well-\n<lb/>known<lb/>type-<lb/>setter.</p>"
        ),
        ["The hyphenated words of a well-known, well-known typesetter."]
    );
}

#[test]
fn acknowledgments_have_a_heading() {
    let expected = ["Tea.", "# Acknowledgments", "We thank Eve."];
    assert_eq!(
        lines(
            "<article><body><p>Tea.</p></body><back><ack><p>We thank Eve.</p></ack></back></article>",
            DocumentFormat::Xml
        ),
        expected
    );
    assert_eq!(
        tei("<p>Tea.</p></div><div type='acknowledgement'><p>We thank Eve.</p>"),
        expected
    );
    for (text, format) in [
        (
            "<p>Tea.<p><b>Acknowledgments.</b> We thank Eve.",
            DocumentFormat::Html,
        ),
        (
            "# T\n\nTea.\n\n**Acknowledgments**\n\nWe thank Eve.",
            DocumentFormat::Markdown,
        ),
        (
            "T\n\nTea.\n\nAcknowledgments: We thank Eve.",
            DocumentFormat::Text,
        ),
    ] {
        assert_eq!(lines(text, format), expected, "{format}");
    }
    let kept = "<p>Acknowledgments of letters are rare.";
    assert_eq!(html(kept), ["Acknowledgments of letters are rare."]);
}

#[test]
fn invisible_characters_are_no_part_of_words() {
    let sentence = "Photo\u{ad}synthesis\u{200b} of un\u{2060}known Auf\u{200c}lagen\u{feff}.";
    let expected = ["Photosynthesis of unknown Auflagen."];
    for format in [DocumentFormat::Text, DocumentFormat::Markdown] {
        assert_eq!(lines(sentence, format), expected, "{format}");
    }
    let paragraph = format!("<p>{sentence}</p><p>&#8203;</p>");
    assert_eq!(jats(&paragraph), expected);
    assert_eq!(html(&paragraph), expected);
    assert_eq!(html("<p>2&InvisibleTimes;x is a&shy; b."), ["2x is a b."]);
    for kept in [
        "او می\u{200c}خواهد.",
        "क\u{94d}\u{200d}ष है.",
        "ភាសា\u{200b}ខ្មែរ.",
        "👩\u{200d}🔬 works.",
    ] {
        assert_eq!(jats(&format!("<p>{kept}</p>")), [kept]);
    }
}

#[test]
fn collections_of_xml_have_several_papers() {
    let article = |ids: &str, text: &str| {
        format!(
            "<article><front><article-meta>{ids}</article-meta></front>\
             <body><p>{text}</p></body></article>"
        )
    };
    let id = |kind: &str, id: &str| format!("<article-id pub-id-type='{kind}'>{id}</article-id>");
    let articles = [
        article(&(id("pmc", "PMC7") + &id("doi", "10.9/a")), "One."),
        article(&id("pmc", "PMC8"), "Two."),
        article("", "Three."),
    ];
    let set = format!("<pmc-articleset>{}</pmc-articleset>", articles.concat());
    let ids = |text: &str| -> Vec<(String, String)> {
        let papers = papers(text, DocumentFormat::Xml).into_iter();
        papers
            .map(|paper| {
                let text = paper.paragraphs().next().unwrap().text.clone();
                (paper.id, text)
            })
            .collect()
    };
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs.map(|(a, b)| ((*a).into(), (*b).into())).collect()
    };
    assert_eq!(
        ids(&set),
        pairs(&[("f#10.9/a", "One."), ("f#PMC8", "Two."), ("f#3", "Three.")])
    );

    let prefixed = "<a:article xmlns:a='urn:a'><a:body><a:p>Named.</a:p></a:body></a:article>";
    let record = |content: &str| format!("<record><header/>{content}</record>");
    let records = record(&format!("<metadata>{prefixed}</metadata>")) + &record("");
    let records = format!("<OAI-PMH><ListRecords>{records}</ListRecords></OAI-PMH>");
    assert_eq!(ids(&records), pairs(&[("f#1", "Named.")]));

    let document = |text: &str| format!("<TEI><text><body><p>{text}</p></body></text></TEI>");
    let corpus = format!(
        "<teiCorpus><teiHeader/>{}<teiCorpus>{}</teiCorpus></teiCorpus>",
        document("Outer."),
        document("Inner.")
    );
    assert_eq!(ids(&corpus), pairs(&[("f#1", "Outer."), ("f#2", "Inner.")]));
}

#[test]
fn collections_without_papers_are_errors() {
    let reader = DocumentReader::default();
    for (text, expected) in [
        (
            "<pmc-articleset/>",
            "f: expected an <article> or <TEI>, found <pmc-articleset> without any",
        ),
        (
            "<OAI-PMH><error code='idDoesNotExist'>No such id</error></OAI-PMH>",
            "f: expected an <article> or <TEI>, found <OAI-PMH> with the error \"No such id\"",
        ),
    ] {
        let read = reader.read_bytes(text.as_bytes(), DocumentFormat::Xml, "f", "f");
        assert_eq!(read.unwrap_err().to_string(), expected);
    }
}

#[test]
fn inline_formulas_in_tex() {
    for (formula, expected) in [
        (
            r"<tex-math>\documentclass{a}\begin{document}$$\gamma &lt; 2$$\end{document}</tex-math>",
            r"Choose $\gamma < 2$ first.",
        ),
        (
            r"<alternatives><tex-math><![CDATA[\(k\)]]></tex-math><inline-graphic/></alternatives>",
            "Choose $k$ first.",
        ),
        (
            "<alternatives><tex-math>$m^2$</tex-math><math><mi>m</mi></math></alternatives>",
            "Choose m first.",
        ),
        ("<tex-math> $ $ </tex-math>", "Choose first."),
    ] {
        let paragraph = format!("<p>Choose <inline-formula>{formula}</inline-formula> first.</p>");
        assert_eq!(jats(&paragraph), [expected]);
    }
    let displayed = "<p>It is <disp-formula><tex-math>x</tex-math></disp-formula> large.</p>";
    assert_eq!(jats(displayed), ["It is $x$ large."]);
}

/// No sentence starts with what a formula between two paragraphs left.
#[test]
fn displayed_formulas_are_in_their_sentences() {
    let math = "<math display='block'><mi>v</mi><mo>=</mo><mi>a</mi></math>";
    let expected = ["The speed is v=a where a is one.", "= v=a", "It is high."];
    let formula = format!("<disp-formula id='e'><label>(1)</label>{math}</disp-formula>");
    let paragraphs =
        format!("<p>The speed is</p>{formula}<p>where a is one.</p><p>It is high.</p>");
    assert_eq!(jats(&paragraphs), expected);
    let paragraphs = format!("<p>The speed is{formula}where a is one.</p><p>It is high.</p>");
    assert_eq!(jats(&paragraphs), expected);
    let table = format!(
        "<p>The speed is</p><table class='ltx_equation ltx_eqn_table'><tr><td>{math}</td><td><span \
         class='ltx_tag ltx_tag_equation'>(1)</span></td></tr></table><p>where a is one.<p>It is high."
    );
    assert_eq!(html(&table), expected);
    assert_eq!(
        tei("<p>The speed is</p><formula>v=a<label>(1)</label></formula><p>where a is one.</p>"),
        ["The speed is v=a where a is one."]
    );
    let markdown = "The speed is\n\n$$v=a$$\n\nwhere a is one.\n\nIt ends.\n\n$$b$$\n\nfor all.";
    assert_eq!(
        lines(markdown, DocumentFormat::Markdown),
        [
            "The speed is $$v=a$$ where a is one.",
            "It ends.",
            "= $$b$$",
            "$$b$$ for all."
        ]
    );
    let image = "<p>It is</p><disp-formula><graphic/></disp-formula><p>where a is one.</p>";
    assert_eq!(jats(image), ["It is where a is one."]);
}

/// MathML is kept without addresses and scripts.
#[test]
fn markup_of_formulas_is_harmless() {
    let math = "<math display='block' onclick='x()' class='c'><mi href='javascript:x()'>a</mi>\
        <mo mathvariant='bold'>&lt;</mo><script>x()</script><mspace width='1em'/></math>";
    let expected = "<math display=\"block\"><mi>a</mi><mo mathvariant=\"bold\">&lt;</mo>\
        <mspace width=\"1em\"></mspace></math>";
    let page = format!("<p>It is {math} here.</p>");
    let paper = papers(&page, DocumentFormat::Html).remove(0);
    let markup = paper.paragraphs().find_map(|it| it.markup.as_deref());
    assert_eq!(markup, Some(expected));
    let article =
        format!("<article><body><p>It is<disp-formula>{math}</disp-formula></p></body></article>")
            .replace("<script>x()</script>", "");
    let paper = papers(&article, DocumentFormat::Xml).remove(0);
    let markup = paper.paragraphs().find_map(|it| it.markup.as_deref());
    assert_eq!(markup, Some(expected));
}

#[test]
fn rows_of_tables_have_the_names_of_their_columns() {
    let expected = [
        "Table 2: Speed.",
        "| Table 2: Model: BM25; MRR: 71.7; R@5: 10⁴",
        "| Table 2: Model: Dense; MRR: 80",
    ];
    let rows = "<thead><tr><th>Model</th><th>MRR</th><th>R@5</th></tr></thead><tbody><tr>\
        <td>BM25</td><td>71.7</td><td>10<sup>4</sup></td></tr><tr><td>Dense</td><td>80</td><td/>\
        </tr></tbody>";
    let table = format!(
        "<table-wrap><label>Table 2</label><caption><p>Table 2: Speed.</p></caption><table>{rows}\
         </table></table-wrap>"
    );
    assert_eq!(jats(&table), expected);
    assert_eq!(
        html(&format!(
            "<table><caption>Table 2: Speed.</caption>{rows}</table>"
        )),
        expected
    );
    let figure =
        format!("<figure><figcaption>Table 2: Speed.</figcaption><table>{rows}</table></figure>");
    assert_eq!(html(&figure), expected);
    let cells = |cells: [&str; 3]| {
        let cells = cells.map(|cell| format!("<cell>{cell}</cell>"));
        format!("<row>{}</row>", cells.concat())
    };
    let power = "10<hi rend='superscript'>4</hi>";
    let rows = cells(["Model", "MRR", "R@5"])
        + &cells(["BM25", "71.7", power])
        + &cells(["Dense", "80", ""]);
    assert_eq!(
        tei(&format!(
            "<figure type='table'><head>Table 2</head><figDesc>Table 2: Speed.</figDesc><table>{rows}\
             </table></figure>"
        )),
        expected
    );
    let markdown =
        "Table 2: Speed.\n\n|Model|MRR|R@5|\n|--|--|--|\n|BM25|71.7|10<sup>4</sup>|\n|Dense|80||\n";
    assert_eq!(lines(markdown, DocumentFormat::Markdown), expected);
}

#[test]
fn long_tables_are_bounded_and_reported() {
    let rows: String = (0..1000)
        .map(|n| format!("<tr><td>a{n}</td><td>{n}</td></tr>"))
        .collect();
    let page = format!("<h1>T</h1><p>Text.</p><table><tr><th>A<th>B</tr>{rows}</table><p>End.");
    let reader = DocumentReader::default();
    let file = reader
        .read_bytes(page.as_bytes(), DocumentFormat::Html, "f", "f")
        .unwrap();
    let paper = &file.papers[0];
    assert_eq!((paper.paragraphs().count(), paper.omitted_rows), (202, 800));
    assert!(file.missing.contains(&MissingPart::TableRows));
    assert_eq!(
        MissingPart::TableRows.to_string(),
        "rows of a table beyond the first 200"
    );
}

/// Text after an element without end tag is not lost.
#[test]
fn unclosed_elements_of_html() {
    for (page, expected) in [
        ("<nav><a>Home</a><p>Tea.", &["Home", "Tea."][..]),
        (
            "<table><tr><td>1<p>Tea.</p><table><tr><td>2</table><p>Cups.",
            &["1", "Tea.", "Cups."],
        ),
        (
            "<nav>Home</nav><p>Tea.</p><nav><p>Cups.",
            &["Tea.", "Cups."],
        ),
        ("<table><table><tr><td>1</table></table><p>Tea.", &["Tea."]),
        ("<p>Tea.<script>if (a < b) {} <p>Cups.", &["Tea."]),
        ("</nav></table><p>Tea.", &["Tea."]),
    ] {
        assert_eq!(html(page), expected, "{page}");
    }
}

#[test]
fn empty_scripts_and_titles_of_xhtml() {
    let page = "<?xml version='1.0'?><html><head><script src='a.js'/><title/><style/></head>\
        <body><iframe src='b'/><p>Tea.</p><textarea/><script>if (a &lt; b) {}</script><p>Cups.</p></body></html>";
    for format in [DocumentFormat::Html, DocumentFormat::Xml] {
        assert_eq!(lines(page, format), ["Tea.", "Cups."]);
    }
}
