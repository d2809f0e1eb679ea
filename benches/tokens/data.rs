//! Generated token vectors of documents and queries.

use bench_common::{Random, normalized};
use ir_core::{DocNum, TokenVectors};

const WORDS: usize = 2000;
const QUERY_TOKENS: usize = 32;
const TOPIC: f64 = 0.5;
/// Candidates with the highest exact scores.
const BEST: usize = 50;

/// Token vectors of documents and queries.
pub(crate) struct Collection {
    pub(crate) dim: usize,
    /// Row-major `[tokens, dim]`.
    pub(crate) documents: Vec<Vec<f32>>,
    pub(crate) queries: Vec<TokenVectors>,
}

fn direction(random: &mut Random, dim: usize) -> Vec<f64> {
    normalized((0..dim).map(|_| random.normal()).collect())
}

impl Collection {
    pub(crate) fn generate(
        count: usize,
        tokens: usize,
        dim: usize,
        queries: usize,
        noise: f64,
    ) -> Self {
        let mut random = Random(7);
        let words: Vec<Vec<f64>> = (0..WORDS).map(|_| direction(&mut random, dim)).collect();
        // Frequent words are in many documents.
        let word = |random: &mut Random| (random.uniform().powi(2) * WORDS as f64) as usize;
        let token = |random: &mut Random, word: usize, topic: &[f64]| -> Vec<f32> {
            let scale = noise / (dim as f64).sqrt();
            let pairs = words[word].iter().zip(topic);
            let row = pairs.map(|(word, topic)| word + TOPIC * topic + scale * random.normal());
            let row = normalized(row.collect());
            row.into_iter().map(|value| value as f32).collect()
        };
        let (mut documents, mut texts) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let topic = direction(&mut random, dim);
            let picked: Vec<usize> = (0..tokens).map(|_| word(&mut random)).collect();
            let rows = picked.iter().map(|&word| token(&mut random, word, &topic));
            documents.push(rows.collect::<Vec<_>>().concat());
            texts.push((picked, topic));
        }
        let query = |random: &mut Random| {
            let (picked, topic) = &texts[random.below(count as u64) as usize];
            let rows = (0..QUERY_TOKENS).map(|_| {
                let word = picked[random.below(tokens as u64) as usize];
                token(random, word, topic)
            });
            let values = rows.collect::<Vec<_>>().concat();
            TokenVectors::new(dim, values, vec![0..0; QUERY_TOKENS])
        };
        let queries = (0..queries).map(|_| query(&mut random)).collect();
        Self {
            dim,
            documents,
            queries,
        }
    }

    pub(crate) fn vectors(&self, values: &[f32]) -> TokenVectors {
        TokenVectors::new(
            self.dim,
            values.to_vec(),
            vec![0..0; values.len() / self.dim],
        )
    }
}

/// The documents with the highest scores and random others, in random order.
pub(crate) fn candidates(seed: usize, scores: &[f32], count: usize) -> Vec<DocNum> {
    let mut random = Random(seed as u64);
    let mut order: Vec<u32> = (0..scores.len() as u32).collect();
    order.sort_by(|&a, &b| scores[b as usize].total_cmp(&scores[a as usize]));
    let shuffle = |random: &mut Random, items: &mut [u32]| {
        for at in (1..items.len()).rev() {
            items.swap(at, random.below(at as u64 + 1) as usize);
        }
    };
    shuffle(&mut random, &mut order[BEST..]);
    order.truncate(count);
    shuffle(&mut random, &mut order);
    order.into_iter().map(DocNum::new).collect()
}
