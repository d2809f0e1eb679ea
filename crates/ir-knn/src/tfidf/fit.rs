//! Learning a vocabulary and its weights.

use ir_core::Analyzer;
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::count::{Counter, Terms};
use super::{Chunk, FitError, Idf, TfIdf, TfIdfConfig, chunk};

/// The fitted vectoriser, and the counts of the texts by its columns.
pub(super) fn fit<A: Analyzer, T: AsRef<str> + Sync>(
    analyzer: A,
    texts: &[T],
    config: &TfIdfConfig,
) -> Result<(TfIdf<A>, Vec<Chunk>), FitError> {
    config.validate()?;
    if texts.is_empty() {
        return Err(FitError::NoTexts);
    }
    let (seen, mut chunks) = match &config.vocabulary {
        Some(vocabulary) => given(&analyzer, vocabulary, texts, config)?,
        None => found(&analyzer, texts, config),
    };
    let frequencies = Frequencies::of(&chunks, seen.len());
    let (terms, df) = if config.vocabulary.is_some() {
        (seen, frequencies.texts)
    } else {
        let kept = choose(&seen, &frequencies, texts.len(), config)?;
        let mut columns = vec![None; seen.len()];
        for (column, &old) in (0..).zip(&kept) {
            columns[old] = Some(column);
        }
        let numbered = || {
            let mut terms = Terms::default();
            for term in kept.iter().filter_map(|&old| seen.term(old)) {
                terms.number(term);
            }
            terms
        };
        let renumbered = || {
            chunks
                .par_iter_mut()
                .for_each(|chunk| renumber(chunk, &columns));
        };
        let (terms, ()) = rayon::join(numbered, renumbered);
        let df = kept.iter().map(|&old| frequencies.texts[old]).collect();
        (terms, df)
    };
    let idf = weights(&terms, &df, texts.len(), config.idf)?;
    let fitted = TfIdf {
        analyzer,
        config: config.clone(),
        texts: texts.len(),
        terms: terms.into(),
        idf,
    };
    Ok((fitted, chunks))
}

/// Counts of the terms of a vocabulary that was given.
fn given<A: Analyzer, T: AsRef<str> + Sync>(
    analyzer: &A,
    vocabulary: &[String],
    texts: &[T],
    config: &TfIdfConfig,
) -> Result<(Terms, Vec<Chunk>), FitError> {
    let mut terms = Terms::default();
    for (column, term) in vocabulary.iter().enumerate() {
        if terms.number(term) as usize != column {
            let term = term.clone();
            return Err(FitError::RepeatedTerm { term });
        }
    }
    if vocabulary.is_empty() {
        return Err(FitError::EmptyVocabulary);
    }
    let count = |texts: &[T]| {
        let mut counter = Counter::new(analyzer, config);
        let mut chunk = Chunk::default();
        for text in texts {
            counter.count(text.as_ref(), |term| terms.get(term), &mut chunk.counts);
            chunk.ends.push(chunk.counts.len());
        }
        chunk
    };
    let chunks = texts.par_chunks(chunk(texts.len())).map(count).collect();
    Ok((terms, chunks))
}

/// All terms, in the order in which they are met, and their counts.
fn found<A: Analyzer, T: AsRef<str> + Sync>(
    analyzer: &A,
    texts: &[T],
    config: &TfIdfConfig,
) -> (Terms, Vec<Chunk>) {
    let mut counted: Vec<(Terms, Chunk)> = texts
        .par_chunks(chunk(texts.len()))
        .map(|texts| {
            let mut counter = Counter::new(analyzer, config);
            let (mut terms, mut chunk) = (Terms::default(), Chunk::default());
            for text in texts {
                let number = |term: &str| Some(terms.number(term));
                counter.count(text.as_ref(), number, &mut chunk.counts);
                chunk.ends.push(chunk.counts.len());
            }
            (terms, chunk)
        })
        .collect();
    // One chunk after the other gets the numbers that hold for all.
    let mut all = Terms::default();
    let numbers: Vec<Vec<u32>> = counted
        .iter()
        .map(|(terms, _)| terms.iter().map(|term| all.number(term)).collect())
        .collect();
    let renumbered = counted.par_iter_mut().zip(numbers);
    let chunks = renumbered
        .map(|((_, chunk), numbers)| {
            for (number, _) in &mut chunk.counts {
                *number = numbers[*number as usize];
            }
            std::mem::take(chunk)
        })
        .collect();
    (all, chunks)
}

/// For each term: in how many texts it is, and how often in all.
struct Frequencies {
    texts: Vec<u64>,
    occurrences: Vec<u64>,
}

impl Frequencies {
    fn of(chunks: &[Chunk], terms: usize) -> Self {
        let mut all = Self {
            texts: vec![0; terms],
            occurrences: vec![0; terms],
        };
        for &(number, count) in chunks.iter().flat_map(|chunk| &chunk.counts) {
            all.texts[number as usize] += 1;
            all.occurrences[number as usize] += u64::from(count);
        }
        all
    }
}

/// The numbers of the terms that stay, in the order of their columns.
fn choose(
    seen: &Terms,
    frequencies: &Frequencies,
    texts: usize,
    config: &TfIdfConfig,
) -> Result<Vec<usize>, FitError> {
    let terms = seen.len();
    if terms == 0 {
        return Err(FitError::NoTerms { texts });
    }
    let (least, most) = (config.min_df.of(texts), config.max_df.of(texts));
    if most < least {
        return Err(FitError::Bounds { least, most });
    }
    let inside = |&old: &usize| {
        let df = frequencies.texts[old] as f64;
        df >= least && df <= most
    };
    let mut kept: Vec<usize> = (0..terms).filter(inside).collect();
    if kept.is_empty() {
        return Err(FitError::NothingLeft {
            terms,
            least,
            most,
            texts,
        });
    }
    // The first bytes, as a number, tell most terms apart.
    let key = |&old: &usize| {
        let term = seen.term(old).unwrap_or_default();
        let mut head = [0; 8];
        let length = term.len().min(8);
        head[..length].copy_from_slice(&term.as_bytes()[..length]);
        (u64::from_be_bytes(head), term, old)
    };
    let mut sorted: Vec<_> = kept.par_iter().map(key).collect();
    sorted.par_sort_unstable();
    kept = sorted.into_par_iter().map(|(_, _, old)| old).collect();
    if let Some(limit) = config.max_features.filter(|&limit| limit < kept.len()) {
        // A term counts once a text when counts do not matter.
        let weight = |old: usize| match config.tf {
            super::Tf::Binary => frequencies.texts[old],
            _ => frequencies.occurrences[old],
        };
        let mut frequent = kept.clone();
        frequent.sort_by_key(|&old| std::cmp::Reverse(weight(old)));
        let frequent: FxHashSet<usize> = frequent.into_iter().take(limit).collect();
        kept.retain(|old| frequent.contains(old));
    }
    Ok(kept)
}

/// Numbers to columns; terms without one go.
fn renumber(chunk: &mut Chunk, columns: &[Option<u32>]) {
    let (mut from, mut to) = (0, 0);
    for end in &mut chunk.ends {
        while from < *end {
            let (number, count) = chunk.counts[from];
            if let Some(column) = columns[number as usize] {
                chunk.counts[to] = (column, count);
                to += 1;
            }
            from += 1;
        }
        *end = to;
    }
    chunk.counts.truncate(to);
}

fn weights(terms: &Terms, df: &[u64], texts: usize, idf: Idf) -> Result<Vec<f64>, FitError> {
    let texts = texts as f64;
    let weight = |(column, &df): (usize, &u64)| match idf {
        Idf::None => Ok(1.0),
        Idf::Smooth => Ok(((1.0 + texts) / (1.0 + df as f64)).ln() + 1.0),
        Idf::Plain if df == 0 => Err(FitError::UnseenTerm {
            term: terms.term(column).unwrap_or_default().to_owned(),
        }),
        Idf::Plain => Ok((texts / df as f64).ln() + 1.0),
    };
    df.iter().enumerate().map(weight).collect()
}
