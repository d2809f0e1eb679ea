//! Parameters of the type `prior` in the value of `--prior`.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result, bail};
use ir_system::read_text;
use toml::Table;

use crate::shared::options::resolved;

/// Parameters of `feedback`, `qrels:FILE` or a file of priors.
pub(crate) fn parameters(text: &str) -> Result<Table> {
    let mut parameters = Table::new();
    match text.strip_prefix("qrels:") {
        _ if text == "feedback" => {}
        Some(file) => {
            parameters.insert("qrels".to_owned(), file.into());
        }
        None => {
            let (priors, unseen) =
                from_file(&resolved("--prior", Path::new(text))?).context("--prior")?;
            parameters.insert("priors".to_owned(), priors.into());
            parameters.extend(unseen.map(|unseen| ("unseen".to_owned(), unseen.into())));
        }
    }
    Ok(parameters)
}

/// Reads lines `repository TAB probability`.
fn from_file(path: &Path) -> Result<(Table, Option<f64>)> {
    let name = path.display().to_string();
    let text = read_text(path)?;
    let mut unseen = None;
    let mut priors = Table::new();
    let mut known = HashSet::new();
    for (line, text) in (1..).zip(text.lines()) {
        if text.trim().is_empty() {
            continue;
        }
        let pair = text.rsplit_once('\t');
        let pair = pair.and_then(|(name, p)| Some((name.trim(), p.trim().parse::<f64>().ok()?)));
        let pair = pair.filter(|(name, p)| !name.is_empty() && *p > 0.0 && *p <= 1.0);
        let Some((repository, p)) = pair else {
            bail!(
                "{name}:{line}: expected `repository TAB probability`, above 0, at most 1, found {text:?}"
            );
        };
        if !known.insert(repository) {
            bail!("{name}:{line}: expected different repositories, found {repository:?} twice");
        }
        if repository == "*" {
            unseen = Some(p);
        } else {
            priors.insert(repository.to_owned(), p.into());
        }
    }
    Ok((priors, unseen))
}
