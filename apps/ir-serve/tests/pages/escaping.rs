//! No text of users or papers is markup on a page.

use proptest::prelude::*;

use crate::support::{Site, document};

/// Pages have markup of the project only: its tags, and texts without `<` and `"` in attributes.
fn check(page: &str) {
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let name = rest.trim_start_matches(['/', '!']);
        let end = name
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(name.len());
        let known = [
            "DOCTYPE",
            "html",
            "head",
            "meta",
            "title",
            "link",
            "script",
            "body",
            "a",
            "header",
            "nav",
            "ul",
            "li",
            "main",
            "h1",
            "h2",
            "h3",
            "form",
            "label",
            "div",
            "input",
            "button",
            "details",
            "summary",
            "span",
            "fieldset",
            "legend",
            "p",
            "section",
            "ol",
            "article",
            "mark",
            "b",
            "strong",
            "blockquote",
            "textarea",
            "select",
            "option",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "dl",
            "dt",
            "dd",
            "code",
            "progress",
        ];
        assert!(
            known.contains(&&name[..end]),
            "<{}",
            &rest[..rest.len().min(60)]
        );
        let tag = &rest[..rest.find('>').unwrap()];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        // Names of attributes: what is outside of the quoted values.
        let names: String = tag.split('"').step_by(2).collect();
        assert!(!names.contains(" on") && !names.contains(" style"), "{tag}");
        assert!(
            name[..end] != *"script"
                || rest.starts_with("/script")
                || tag.contains("src=\"/assets/"),
            "{tag}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn hostile_texts_are_escaped_on_every_page(
        text in "(<(script|img src=x|svg|/main|iframe|x)>|[\"'&<>=`/]| onload|javascript:|[a-z]{1,4}|[ü茶\u{202e}\u{0}]| ){1,12}",
    ) {
        let site = Site::new(vec![document(&text, &text, 2020)], false);
        let client = site.client();
        let stored = site.service.published().unwrap();
        let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        let id = &stored.documents()[0].id;
        let span: String = stored.documents()[0].chunks[2].text.as_deref().unwrap_or_default().chars().take(38).collect();
        for question in ["What?", &format!("q {text}")] {
            let form = [
                ("document", id.as_str()), ("chunk", "2"), ("start", "0"), ("span", span.as_str()),
                ("question", question), ("name", text.as_str()),
            ];
            check(&client.post("/annotations", &form).body);
            let form = [("abstract", question), ("query", question), ("task", &text), ("datasets", &text)];
            check(&client.post("/datasets/annotate", &form).body);
        }
        let encoded_id: String = form_urlencoded::byte_serialize(id.as_bytes()).collect();
        for url in [
            format!("/?q=tea+{encoded}"), format!("/?q={encoded}&from={encoded}"), format!("/?titles={encoded}&doc={encoded}"),
            format!("/document?id={encoded_id}&q=green+{encoded}"), format!("/document?id={encoded_id}&annotate=1"),
            format!("/document?id={encoded}x"), format!("/annotate?document={encoded}&span={encoded}&question={encoded}"),
            "/annotations".to_owned(), "/annotations/1".to_owned(), "/annotations/2".to_owned(), "/review".to_owned(),
            "/datasets".to_owned(), "/datasets/1".to_owned(), "/insight".to_owned(), format!("/jobs/{}", encoded.replace('+', "%20")),
            format!("/sign-in?next={encoded}"), "/papers".to_owned(), format!("/papers?titles={encoded}&sort={encoded}"),
            format!("/table?q=green+{encoded}"), format!("/document?id={encoded_id}&frame={encoded}&sentence={encoded}&by=score"),
        ] {
            let page = client.get(&url);
            prop_assert!(!page.status.is_server_error(), "{url}: {}", page.body);
            check(&page.body);
        }
    }
}
