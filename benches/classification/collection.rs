//! Texts and class labels.

use std::fs;
use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ir_core::Document;
use serde::Deserialize;

/// Total number of texts.
const TEXTS: usize = 13_000;

pub(crate) struct Collection {
    pub(crate) texts: Vec<String>,
    pub(crate) rows: Vec<usize>,
    pub(crate) labels: Vec<String>,
}

#[derive(Deserialize)]
struct Paper {
    #[serde(rename = "abstract")]
    text: String,
    label: String,
}

impl Collection {
    /// Reads the ICLR papers with their classes, or papers and texts of other collections.
    pub(crate) fn open(papers_alone: bool) -> Result<Self> {
        let root = std::env::var_os("IR_DATA")
            .context("IR_DATA is not set: expected the folder of the collections")?;
        let path = PathBuf::from(root).join("iclr/abstracts_2017_2018_2021.jsonl.zst");
        let mut all = Self {
            texts: Vec::new(),
            rows: Vec::new(),
            labels: Vec::new(),
        };
        for line in ir_data::open(&path)?.lines() {
            let paper: Paper = serde_json::from_str(&line?)?;
            if !papers_alone || paper.label != "unlabeled" {
                all.rows.push(all.texts.len());
                all.labels.push(paper.label);
            }
            all.texts.push(paper.text);
        }
        if papers_alone {
            return Ok(all);
        }
        for name in ["beir/nfcorpus", "beir/arguana"] {
            let others = ir_data::catalog::open(name)?;
            let mut reader = others.corpus().open()?;
            let mut document = Document::default();
            while all.texts.len() < TEXTS && reader.read(&mut document)? {
                all.rows.push(all.texts.len());
                all.labels.push(name.to_owned());
                all.texts.push(document.text.clone());
            }
        }
        Ok(all)
    }

    /// Writes texts and classes for scikit-learn.
    pub(crate) fn save(&self, folder: &Path) -> Result<()> {
        let all = serde_json::json!({
            "texts": self.texts, "rows": self.rows, "labels": self.labels,
        });
        fs::write(folder.join("texts.json"), serde_json::to_vec(&all)?)?;
        Ok(())
    }
}
