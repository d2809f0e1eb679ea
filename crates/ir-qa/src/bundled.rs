//! Invented papers inside the library.

use crate::documents::{DocumentError, DocumentFormat, DocumentReader, Paper};

macro_rules! bundled {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../bundled/papers/", $name)))),*]
    };
}

/// Names and contents of the files, sorted by name.
const FILES: [(&str, &str); 20] = bundled![
    "arithmetic-programs.tei.xml",
    "bird-calls.xml",
    "copper-street.html",
    "counting-steps.tei.xml",
    "dialect-garden.txt",
    "harvestqa.xml",
    "leaf-segmentation.html",
    "listening-twice.html",
    "multi-hop.tei.xml",
    "one-detector.md",
    "quiet-filters.xml",
    "reader-network.xml",
    "reading-aloud.tei.xml",
    "rotations.xml",
    "same-event.md",
    "seeing-boats.md",
    "snow-and-rain.xml",
    "spelling-embeddings.md",
    "spoken-commands.txt",
    "wrist-sensors.md",
];

/// Twenty short invented papers in all formats, for demonstrations and tests. Ids are names of
/// files.
///
/// ```
/// use ir_qa::frames::FrameConfig;
/// let papers = ir_qa::bundled_papers()?;
/// assert_eq!(papers.len(), 20);
/// let frames = FrameConfig::default().convert_paper(&papers[5]).frames;
/// assert_eq!(frames[0].answer, "HarvestQA: Questions About Farming Leaflets");
/// assert_eq!(frames[0].metadata.year(), Some(2014));
/// # Ok::<(), ir_qa::documents::DocumentError>(())
/// ```
///
/// # Errors
/// Never for the files of a release.
pub fn bundled_papers() -> Result<Vec<Paper>, DocumentError> {
    let reader = DocumentReader::default();
    let mut papers = Vec::new();
    for (name, text) in FILES {
        if let Some(format) = DocumentFormat::from_path(name) {
            let file = reader.read_bytes(text.as_bytes(), format, name, name)?;
            papers.extend(file.papers);
        }
    }
    Ok(papers)
}
