"""Textbook retrieval in plain Python: analysis, inverted index, scoring models, feedback and measures.

Nothing here is fast, and nothing shares code with the libraries: the stemmer is NLTK's, the formulas
are those of the publications and of Lucene's documentation. `.ci/expected-values` compares the values
with those of the experiments.
"""
import io
import math
import os
from collections import Counter, defaultdict
from pathlib import Path

import regex
import zstandard
from nltk.stem.porter import PorterStemmer

def read(path):
    """Text of a file of `IR_DATA`."""
    path = Path(os.environ["IR_DATA"]) / path
    if path.suffix == ".zst":
        with open(path, "rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as text:
            return io.TextIOWrapper(text, encoding="utf-8").read()
    return path.read_text(encoding="utf-8")


# Lucene's EnglishAnalyzer: words of UAX #29, possessives, lower case, stop words, Porter's stemmer.
STOP_WORDS = set(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to "
    "was will with".split()
)
WORD = regex.compile(
    r"[\p{L}\p{N}\p{M}_]+(?:(?:(?<=\p{L})[:·.'’․](?=\p{L})|(?<=\p{N})[,;.'’․](?=\p{N}))[\p{L}\p{N}\p{M}_]+)*"
)
STEMMER = PorterStemmer(mode=PorterStemmer.MARTIN_EXTENSIONS)
STEMS = {}
# Terms that Anserini's RM3 accepts.
PLAIN = regex.compile(r"[a-z0-9]+")


def analyze(text):
    """Terms of a text, in its order."""
    terms = []
    for word in WORD.findall(text):
        if not any(c.isalnum() for c in word):
            continue
        if regex.search(r"['’＇][sS]$", word):
            word = word[:-2]
        word = word.lower()
        if word not in STOP_WORDS:
            if word not in STEMS:
                STEMS[word] = STEMMER.stem(word, to_lowercase=False)
            terms.append(STEMS[word])
    return terms


def lucene_length(length):
    """Length after Lucene's encoding in one byte (SmallFloat.intToByte4)."""
    free = 24
    if length < free:
        return length
    rest = length - free
    shift = max(rest.bit_length() - 4, 0)
    return free + (rest >> shift << shift)


class Index:
    """Documents as counts of terms. `documents` are pairs of id and text; equal scores are in their order."""

    def __init__(self, documents, by_id=True):
        documents = sorted(documents) if by_id else list(documents)
        self.ids = [name for name, _ in documents]
        terms = [analyze(text) for _, text in documents]
        self.counts = [Counter(words) for words in terms]
        self.lengths = [len(words) for words in terms]
        self.tokens = sum(self.lengths)
        # Lucene's statistics of a field count documents with at least one token.
        self.size = sum(length > 0 for length in self.lengths)
        self.average = self.tokens / self.size
        self.postings = defaultdict(list)
        for n, counts in enumerate(self.counts):
            for term, tf in counts.items():
                self.postings[term].append((n, tf))
        self.contributions = {}

    def contributions_of(self, term, model):
        """Documents and contributions of a term; computed once, as feedback repeats terms."""
        key = (model, term)
        if key not in self.contributions:
            postings = self.postings.get(term, ())
            df, cf = len(postings), sum(tf for _, tf in postings)
            self.contributions[key] = [(n, model.term(self, tf, self.lengths[n], df, cf)) for n, tf in postings]
        return self.contributions[key]

    def scores(self, query, model):
        """Scores of the documents with a term of the query, a mapping from terms to weights."""
        sums = defaultdict(float)
        for term, weight in query.items():
            for n, contribution in self.contributions_of(term, model):
                sums[n] += weight * contribution
        if hasattr(model, "document"):
            for n in sums:
                sums[n] += model.document(self, query, self.lengths[n])
        return sums

    def search(self, query, model, hits=1000, allows=lambda n: True):
        """The best documents as pairs of number and score; equal scores in the order of the documents."""
        # The scores of Lucene are single-precision numbers; sums that differ by rounding alone are equal.
        scored = [(-round(score, 9), n, score) for n, score in self.scores(query, model).items() if allows(n)]
        return [(n, score) for _, n, score in sorted(scored)[:hits]]


class BM25:
    """BM25 of Lucene."""

    def __init__(self, k1=0.9, b=0.4):
        self.k1, self.b = k1, b

    def term(self, index, tf, length, df, cf):
        idf = math.log(1 + (index.size - df + 0.5) / (df + 0.5))
        return idf * tf / (tf + self.k1 * (1 - self.b + self.b * lucene_length(length) / index.average))


class LuceneDirichlet:
    """LMDirichletSimilarity of Lucene: terms of a document that make it less probable count nothing."""

    def __init__(self, mu):
        self.mu = mu

    def term(self, index, tf, length, df, cf):
        p, length = (cf + 1) / (index.tokens + 1), lucene_length(length)
        return max(math.log(1 + tf / (self.mu * p)) + math.log(self.mu / (length + self.mu)), 0)


class LuceneJelinekMercer:
    """LMJelinekMercerSimilarity of Lucene."""

    def __init__(self, weight):
        self.weight = weight

    def term(self, index, tf, length, df, cf):
        p = (cf + 1) / (index.tokens + 1)
        return math.log(1 + (1 - self.weight) * tf / lucene_length(length) / (self.weight * p))


class IndriDirichlet:
    """Log-likelihood of the query, Dirichlet smoothing; a term without occurrences counts half of one."""

    def __init__(self, mu):
        self.mu = mu

    def term(self, index, tf, length, df, cf):
        p = cf / index.tokens
        return math.log((tf + self.mu * p) / (length + self.mu)) - self.absent(p, length)

    def absent(self, p, length):
        return math.log(self.mu * p / (length + self.mu))

    def document(self, index, query, length):
        def p(term):
            return max(sum(tf for _, tf in index.postings.get(term, ())), 0.5) / index.tokens

        return sum(weight * self.absent(p(term), length) for term, weight in query.items())


class PL2:
    """Divergence from randomness: Poisson, Laplace, normalization 2 (Amati and van Rijsbergen, 2002)."""

    def term(self, index, tf, length, df, cf):
        tfn, rate = tf * math.log2(1 + index.average / length), cf / index.size
        # -log2 of the Poisson probability of tfn by Stirling's formula.
        bits = tfn * math.log2(tfn / rate) + (rate - tfn) * math.log2(math.e) + 0.5 * math.log2(2 * math.pi * tfn)
        return bits / (tfn + 1)


class DPH:
    """Divergence from randomness: hypergeometric, Popper's normalization (Amati et al., 2007)."""

    def term(self, index, tf, length, df, cf):
        f = tf / length if tf < length else 0.99999
        bits = tf * math.log2(tf * index.average / length * index.size / cf) + 0.5 * math.log2(2 * math.pi * tf * (1 - f))
        return (1 - f) ** 2 / (tf + 1) * bits


def candidates(index, n, letters_and_digits):
    """Counts of the terms of a document that Anserini accepts in an expanded query."""

    def accepts(term):
        return (
            2 <= len(term) <= 20
            and (not letters_and_digits or PLAIN.fullmatch(term))
            and len(index.postings[term]) / len(index.ids) <= 0.1
        )

    return {term: tf for term, tf in index.counts[n].items() if accepts(term)}


def heaviest(weights, count):
    return dict(sorted(weights.items(), key=lambda entry: (-round(entry[1], 9), entry[0]))[:count])


def scaled(weights, norm):
    return {term: weight / norm for term, weight in weights.items()} if norm > 0 else weights


def l1(weights):
    return sum(weights.values())


def l2(weights):
    return math.sqrt(sum(weight * weight for weight in weights.values()))


def rm3(index, query, first, docs=10, terms=10, weight=0.5):
    """The expanded query of Anserini's RM3."""
    model = defaultdict(float)
    for n, score in first[:docs]:
        frequent = heaviest(candidates(index, n, True), terms)
        for term, tf in frequent.items():
            model[term] += tf / l1(frequent) * score
    model = heaviest(model, terms)
    if not model:
        return query
    model, query = scaled(model, l1(model)), scaled(query, l1(query))
    return {t: weight * query.get(t, 0) + (1 - weight) * model.get(t, 0) for t in {**query, **model}}


def rocchio(index, query, first, docs=10, terms=10, alpha=1.0, beta=0.75):
    """The expanded query of Anserini's Rocchio, without negative documents."""
    centroid = defaultdict(float)
    for n, _ in first[:docs]:
        counts = candidates(index, n, False)
        for term, tf in scaled(counts, l2(counts)).items():
            centroid[term] += tf / len(first[:docs])
    centroid = heaviest(centroid, terms)
    centroid, query = scaled(centroid, l2(centroid)), scaled(query, l2(query))
    return {t: alpha * query.get(t, 0) + beta * centroid.get(t, 0) for t in {**query, **centroid}}


def measures(ranking, grades):
    """Measures of a list of ids by their grades, with the measures' names in experiment files."""
    gains = [grades.get(name, 0) for name in ranking]
    relevant = sum(grade > 0 for grade in grades.values())
    ranks = [rank for rank, gain in enumerate(gains, 1) if gain > 0]

    def dcg(gains):
        return sum(max(gain, 0) / math.log2(rank + 1) for rank, gain in enumerate(gains[:10], 1))

    def recall(k):
        return sum(rank <= k for rank in ranks) / relevant if relevant else 0

    ideal = dcg(sorted(grades.values(), reverse=True))
    return {
        "nDCG@10": dcg(gains) / ideal if ideal else 0,
        "AP": sum(n / rank for n, rank in enumerate(ranks, 1)) / relevant if relevant else 0,
        "RR": 1 / ranks[0] if ranks else 0,
        "P@5": sum(rank <= 5 for rank in ranks) / 5,
        "R@5": recall(5),
        "R@100": recall(100),
    }


def mean(values):
    """Means of the measures of queries."""
    values = list(values)
    return {name: sum(value[name] for value in values) / len(values) for name in values[0]}
