/// Title and identifiers of a paper. Empty strings are unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PaperKeys {
    /// Title. Titles are compared in lower case and without regard to white space.
    pub title: String,
    /// DOI, such as `10.18653/v1/D16-1264`, also as a URL.
    pub doi: String,
    /// arXiv id, such as `1606.05250`, also with a version or as a URL.
    pub arxiv: String,
}

impl PaperKeys {
    /// Keys of the URL of a paper: an arXiv id or a DOI, otherwise none.
    ///
    /// ```
    /// use ir_data::s2orc::PaperKeys;
    /// assert_eq!(PaperKeys::from_url("https://arxiv.org/pdf/1606.05250v3.pdf").arxiv, "1606.05250");
    /// assert_eq!(PaperKeys::from_url("https://doi.org/10.1000/X1").doi, "10.1000/x1");
    /// ```
    #[must_use]
    pub fn from_url(url: &str) -> Self {
        let is_arxiv = url.contains("arxiv.org/");
        Self {
            title: String::new(),
            doi: doi(url).filter(|_| !is_arxiv).unwrap_or_default(),
            arxiv: arxiv_id(url)
                .filter(|_| is_arxiv)
                .unwrap_or_default()
                .to_owned(),
        }
    }

    /// Returns the DOI in lower case, without a URL; `None` if there is none.
    #[must_use]
    pub fn normalized_doi(&self) -> Option<String> {
        doi(&self.doi)
    }

    /// Returns the arXiv id without version and URL; `None` if there is none.
    #[must_use]
    pub fn normalized_arxiv(&self) -> Option<String> {
        arxiv_id(&self.arxiv).map(str::to_owned)
    }

    /// Returns the keys in a form that is equal for equal papers, each with its kind, such as
    /// `doi 10.1000/x1`.
    #[must_use]
    pub fn normalized(&self) -> Vec<String> {
        let title: Vec<&str> = self.title.split_whitespace().collect();
        let title = title.join(" ").to_lowercase();
        let doi = self.normalized_doi();
        let arxiv = self.normalized_arxiv();
        let keys = [
            Some(title)
                .filter(|it| !it.is_empty())
                .map(|it| format!("title {it}")),
            doi.map(|it| format!("doi {it}")),
            arxiv.map(|it| format!("arxiv {it}")),
        ];
        keys.into_iter().flatten().collect()
    }
}

/// arXiv id without version in an id or URL.
pub(super) fn arxiv_id(text: &str) -> Option<&str> {
    let text = text.trim();
    let text = ["arxiv.org/abs/", "arxiv.org/pdf/", "arXiv:", "arxiv:"]
        .iter()
        .find_map(|start| text.split_once(start))
        .map_or(text, |it| it.1);
    // The class may follow: `1606.05250v3 [cs.CL]`.
    let is_end = |c: char| matches!(c, '?' | '#' | '[') || c.is_whitespace();
    let text = text.trim_start().split(is_end).next().unwrap_or_default();
    let text = text.strip_suffix(".pdf").unwrap_or(text).trim_matches('/');
    let text = match text.rsplit_once('v') {
        Some((id, version))
            if !version.is_empty() && version.bytes().all(|b| b.is_ascii_digit()) =>
        {
            id
        }
        _ => text,
    };
    text.bytes().any(|b| b.is_ascii_digit()).then_some(text)
}

/// DOI in lower case in a DOI or URL.
fn doi(text: &str) -> Option<String> {
    let at = text.find("10.")?;
    let doi = text[at..].split(['?', '#']).next().unwrap_or_default();
    let doi = doi.trim().trim_end_matches('/').to_lowercase();
    doi.contains('/').then_some(doi)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers() {
        for (text, id) in [
            ("1512.03385", Some("1512.03385")),
            ("https://arxiv.org/pdf/1512.03385v1.pdf", Some("1512.03385")),
            ("cs/0112017v1", Some("cs/0112017")),
            ("http://arxiv.org/abs/cs/0112017", Some("cs/0112017")),
            ("arXiv:1606.05250v3 [cs.CL]", Some("1606.05250")),
            ("arXiv: 1606.05250v3[cs.CL]", Some("1606.05250")),
            ("", None),
            ("archive", None),
        ] {
            assert_eq!(arxiv_id(text), id, "{text}");
        }
        assert_eq!(
            doi("https://dx.doi.org/10.1/A.b/"),
            Some("10.1/a.b".to_owned())
        );
        assert_eq!(doi("version 10.2"), None);
        let other = PaperKeys::from_url("https://example.org/1512.03385");
        assert_eq!(other, PaperKeys::default());
    }
}
