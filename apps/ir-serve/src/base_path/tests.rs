use super::*;

#[test]
fn paths() {
    for path in ["/ir", "/tools/ir", "/a.b/~c/-_", "/..a"] {
        assert_eq!(path.parse::<BasePath>().unwrap().as_str(), path);
    }
    let long = format!("/{}", "a".repeat(MAX_LENGTH));
    for path in [
        "",
        "/",
        "ir",
        "ir/",
        "/ir/",
        "//ir",
        "/ir//a",
        "/./a",
        "/a/..",
        "/a b",
        "/é",
        "/a?b",
        "/a#b",
        "/%41",
        "/a\"b",
        "/a\\b",
        "/a;b",
        "http://a/ir",
        &long,
    ] {
        let error = path.parse::<BasePath>().unwrap_err().to_string();
        assert!(error.starts_with("expected a path such as /ir"), "{error}");
    }
}

#[test]
fn urls_of_pages_get_the_path() {
    let base = "/ir".parse().unwrap();
    let page = r#"<a href="/"></a><form method="post" action="/x?a=1"><input name="next" value="/y" data-suggest="/s"><a
href="/z"></a><a href="//other"></a><a href="https://other/"></a><a href="?p=2"></a>a=&quot;href=&quot;/"#;
    let expected = page
        .replace("href=\"/\"", "href=\"/ir/\"")
        .replace("\"/x", "\"/ir/x")
        .replace("\"/s", "\"/ir/s")
        .replace("\"/z", "\"/ir/z");
    assert_eq!(links_below(page, &base), expected);
}
