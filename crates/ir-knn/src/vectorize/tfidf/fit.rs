//! Fitting: vocabulary and inverse document frequencies.

use ir_core::{Analyzer, Progress};
use rayon::prelude::*;
use rustc_hash::FxHashSet;

use super::counts::{TextCounts, Vocabulary, count_chunks, count_chunks_with_progress};
use super::{IdfWeighting, TfidfConfig, TfidfFitError, TfidfVectorizer};
use crate::matrix::CsrMatrix;
use crate::vectorize::WordAnalyzer;

impl TfidfVectorizer {
    /// Fits a vectorizer on texts analyzed by [`WordAnalyzer`].
    ///
    /// # Errors
    /// Returns [`TfidfFitError`] if there are no texts or no terms in them, or the configuration is
    /// invalid or drops every term.
    pub fn fit<T: AsRef<str> + Sync>(
        texts: &[T],
        config: &TfidfConfig,
    ) -> Result<Self, TfidfFitError> {
        fit(WordAnalyzer::default(), texts, config, None).map(|(fitted, _)| fitted)
    }

    /// Fits a vectorizer on texts analyzed by [`WordAnalyzer`] and returns their vectors.
    ///
    /// # Errors
    /// Returns [`TfidfFitError`] if there are no texts or no terms in them, or the configuration is
    /// invalid or drops every term.
    pub fn fit_transform<T: AsRef<str> + Sync>(
        texts: &[T],
        config: &TfidfConfig,
    ) -> Result<(Self, CsrMatrix), TfidfFitError> {
        let (fitted, chunks) = fit(WordAnalyzer::default(), texts, config, None)?;
        let rows = fitted.matrix(chunks);
        Ok((fitted, rows))
    }
}

impl<A: Analyzer> TfidfVectorizer<A> {
    /// Fits a vectorizer on texts with any analyzer and returns their vectors. Reports the number
    /// of counted texts.
    ///
    /// # Errors
    /// Returns [`TfidfFitError`] if there are no texts or no terms in them, the configuration is
    /// invalid or drops every term, or `progress` cancels.
    pub fn fit_transform_with<T: AsRef<str> + Sync>(
        analyzer: A,
        texts: &[T],
        config: &TfidfConfig,
        progress: &mut dyn Progress,
    ) -> Result<(Self, CsrMatrix), TfidfFitError> {
        let (fitted, chunks) = fit(analyzer, texts, config, Some(progress))?;
        let rows = fitted.matrix(chunks);
        Ok((fitted, rows))
    }
}

/// Returns the fitted vectorizer and the term counts of the texts by column. Without `progress`,
/// all texts are counted at once, which is faster on many threads.
fn fit<A: Analyzer, T: AsRef<str> + Sync>(
    analyzer: A,
    texts: &[T],
    config: &TfidfConfig,
    progress: Option<&mut dyn Progress>,
) -> Result<(TfidfVectorizer<A>, Vec<TextCounts>), TfidfFitError> {
    config.validate()?;
    if texts.is_empty() {
        return Err(TfidfFitError::NoTexts);
    }
    let (terms, df, chunks) = match &config.vocabulary {
        Some(vocabulary) => {
            let terms = Vocabulary::from_distinct(vocabulary)
                .map_err(|term| TfidfFitError::RepeatedTerm { term })?;
            if vocabulary.is_empty() {
                return Err(TfidfFitError::EmptyVocabulary);
            }
            let count =
                |texts: &[T]| TextCounts::new(&analyzer, config, texts, |term| terms.get(term));
            let chunks = counted(texts, count, progress)?;
            let df = TermFrequencies::new(&chunks, terms.len()).documents;
            (terms, df, chunks)
        }
        None => {
            let (vocabulary, mut chunks) = count_all(&analyzer, texts, config, progress)?;
            let frequencies = TermFrequencies::new(&chunks, vocabulary.len());
            let selected = select_terms(&vocabulary, &frequencies, texts.len(), config)?;
            let mut columns = vec![None; vocabulary.len()];
            for (column, &number) in (0..).zip(&selected) {
                columns[number] = Some(column);
            }
            let numbered = || {
                let mut terms = Vocabulary::default();
                for &number in &selected {
                    terms.insert(vocabulary.term(number).unwrap_or_default());
                }
                terms
            };
            let renumbered = || {
                let chunks = chunks.par_iter_mut();
                chunks.for_each(|chunk| renumber(chunk, &columns));
            };
            let (terms, ()) = rayon::join(numbered, renumbered);
            let df = selected.iter().map(|&number| frequencies.documents[number]);
            (terms, df.collect(), chunks)
        }
    };
    let idf = idf_weights(&terms, &df, texts.len(), config.idf)?;
    let fitted = TfidfVectorizer {
        analyzer,
        config: config.clone(),
        texts: texts.len(),
        terms: terms.into(),
        idf,
    };
    Ok((fitted, chunks))
}

/// Counts all terms, numbered in order of first occurrence.
fn count_all<A: Analyzer, T: AsRef<str> + Sync>(
    analyzer: &A,
    texts: &[T],
    config: &TfidfConfig,
    progress: Option<&mut dyn Progress>,
) -> Result<(Vocabulary, Vec<TextCounts>), TfidfFitError> {
    let count = |texts: &[T]| {
        let mut terms = Vocabulary::default();
        let chunk = TextCounts::new(analyzer, config, texts, |term| Some(terms.insert(term)));
        (terms, chunk)
    };
    let counted = counted(texts, count, progress)?;
    // Term numbers of each chunk are mapped to global ones, chunk by chunk.
    let mut all = Vocabulary::default();
    let numbers: Vec<Vec<u32>> = counted
        .iter()
        .map(|(terms, _)| terms.iter().map(|term| all.insert(term)).collect())
        .collect();
    let renumbered = counted.into_par_iter().zip(numbers);
    let chunks = renumbered.map(|((_, mut chunk), numbers)| {
        for (number, _) in &mut chunk.counts {
            *number = numbers[*number as usize];
        }
        chunk
    });
    Ok((all, chunks.collect()))
}

/// Counts texts, with progress if it is reported.
fn counted<T: Sync, C: Send>(
    texts: &[T],
    count: impl Fn(&[T]) -> C + Sync,
    progress: Option<&mut dyn Progress>,
) -> Result<Vec<C>, TfidfFitError> {
    match progress {
        None => Ok(count_chunks(texts, count)),
        Some(progress) => {
            count_chunks_with_progress(texts, count, progress).ok_or(TfidfFitError::Canceled)
        }
    }
}

/// Document frequency and collection frequency of each term.
struct TermFrequencies {
    documents: Vec<u64>,
    occurrences: Vec<u64>,
}

impl TermFrequencies {
    fn new(chunks: &[TextCounts], terms: usize) -> Self {
        let mut all = Self {
            documents: vec![0; terms],
            occurrences: vec![0; terms],
        };
        for &(number, count) in chunks.iter().flat_map(|chunk| &chunk.counts) {
            all.documents[number as usize] += 1;
            all.occurrences[number as usize] += u64::from(count);
        }
        all
    }
}

/// Selects the vocabulary by document frequency and size. Returns term numbers by column.
fn select_terms(
    vocabulary: &Vocabulary,
    frequencies: &TermFrequencies,
    texts: usize,
    config: &TfidfConfig,
) -> Result<Vec<usize>, TfidfFitError> {
    let terms = vocabulary.len();
    if terms == 0 {
        return Err(TfidfFitError::NoTerms { texts });
    }
    let (min_df, max_df) = (config.min_df.bound(texts), config.max_df.bound(texts));
    if max_df < min_df {
        return Err(TfidfFitError::DocFrequencyRange { min_df, max_df });
    }
    let in_range = |&number: &usize| {
        let df = frequencies.documents[number] as f64;
        df >= min_df && df <= max_df
    };
    let mut selected: Vec<usize> = (0..terms).filter(in_range).collect();
    if selected.is_empty() {
        return Err(TfidfFitError::NoTermsLeft {
            terms,
            min_df,
            max_df,
            texts,
        });
    }
    // Most comparisons are decided by the first eight bytes, compared as a number.
    let key = |&number: &usize| {
        let term = vocabulary.term(number).unwrap_or_default();
        let mut head = [0; 8];
        let length = term.len().min(8);
        head[..length].copy_from_slice(&term.as_bytes()[..length]);
        (u64::from_be_bytes(head), term, number)
    };
    let mut sorted: Vec<_> = selected.par_iter().map(key).collect();
    sorted.par_sort_unstable();
    selected = sorted
        .into_par_iter()
        .map(|(_, _, number)| number)
        .collect();
    if let Some(limit) = config.max_features.filter(|&limit| limit < selected.len()) {
        // Binary weights count a term once per text.
        let weight = |number: usize| match config.tf {
            super::TfWeighting::Binary => frequencies.documents[number],
            _ => frequencies.occurrences[number],
        };
        let mut frequent = selected.clone();
        frequent.sort_by_key(|&number| std::cmp::Reverse(weight(number)));
        let frequent: FxHashSet<usize> = frequent.into_iter().take(limit).collect();
        selected.retain(|number| frequent.contains(number));
    }
    Ok(selected)
}

/// Replaces term numbers by columns and drops terms without a column.
fn renumber(chunk: &mut TextCounts, columns: &[Option<u32>]) {
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

fn idf_weights(
    terms: &Vocabulary,
    df: &[u64],
    texts: usize,
    idf: IdfWeighting,
) -> Result<Vec<f64>, TfidfFitError> {
    let texts = texts as f64;
    let weight = |(column, &df): (usize, &u64)| match idf {
        IdfWeighting::None => Ok(1.0),
        IdfWeighting::Smooth => Ok(((1.0 + texts) / (1.0 + df as f64)).ln() + 1.0),
        IdfWeighting::Plain if df == 0 => Err(TfidfFitError::UnseenTerm {
            term: terms.term(column).unwrap_or_default().to_owned(),
        }),
        IdfWeighting::Plain => Ok((texts / df as f64).ln() + 1.0),
    };
    df.iter().enumerate().map(weight).collect()
}
