"""Textbook versions of the experiments on dataset recommendation. See `.ci/expected-values`."""
import json
import os
import re
import string
from collections import Counter, defaultdict
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer

import textbook_retrieval as textbook
from textbook_retrieval import read

BM25 = textbook.BM25(0.8, 0.4)


def json_lines(text):
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def underscored(name):
    return "_".join(name.split())


def nltk_stop_words():
    """NLTK's English stop words before 2024; NLTK itself downloads a later list."""
    source = Path("crates/ir-core/src/stop_words.rs").read_text(encoding="utf-8")
    return re.findall(r'"([^"]+)"', source.split("pub const NLTK", 1)[1].split("];", 1)[0].split("=", 1)[1])


STOP_WORDS = nltk_stop_words()


class Datasets:
    """Records of datasets in the lexicographic order of their row numbers, with their years."""

    def __init__(self, records):
        self.records = [records[row] for row in sorted(range(len(records)), key=str)]
        self.ids = [underscored(record["id"]) for record in self.records]
        self.years = [record.get("year") or None for record in self.records]
        self.first = {}
        for n, name in enumerate(self.ids):
            self.first.setdefault(name, n)

    def index(self, text):
        """Index of the records with a text, and their numbers."""
        texts = [(n, text(record)) for n, record in enumerate(self.records)]
        return textbook.Index([(n, text) for n, text in texts if text.strip()], by_id=False)

    def is_known(self, n, year):
        return self.years[n] is None or year is None or self.years[n] <= year

    def filtered(self, ranking, year, time, hits=5):
        """The first hits of distinct datasets. `ranking` has numbers of records, `time` is a time filter."""
        names, seen = [], set()
        if time == "published-year":
            # Of 25 hits, skips the ones that fail, and stops only at a returned hit at position 5.
            for position, n in enumerate(ranking[: 5 * hits], 1):
                if self.ids[n] not in seen and self.is_known(n, year):
                    seen.add(self.ids[n])
                    names.append(self.ids[n])
                    if position == hits:
                        break
            return names
        for n in ranking:
            name = self.ids[n]
            if name in seen:
                continue
            seen.add(name)
            record = self.first[name] if time == "year" else n
            if time == "none" or self.is_known(record, year):
                names.append(name)
        return names[:hits]


def bm25(indexes, text, model=BM25):
    """Numbers of records by the sum of their scores in the fields."""
    sums = defaultdict(float)
    query = Counter(textbook.analyze(text))
    for index in indexes:
        for n, score in index.scores(query, model).items():
            sums[index.ids[n]] += score
    return sorted(sums, key=lambda n: (-round(sums[n], 9), n))


def evaluate(datasets, queries, qrels, rank, time):
    """Means over the judged queries. `queries`: text and year by id."""
    values = []
    for query, grades in qrels.items():
        text, year = queries.get(query, ("", None))
        values.append(textbook.measures(datasets.filtered(rank(text), year, time), grades))
    return textbook.mean(values)


def qrels_of(text):
    qrels = {}
    for line in text.splitlines():
        query, _, doc, grade = line.split()
        qrels.setdefault(query, {})[doc] = int(grade)
    return qrels


def datafinder():
    """Records, queries with their fields, and judgments of the cleaned test set."""
    datasets = Datasets(json_lines(read("datafinder/corpus_7602.jsonl.zst")))
    fields = {row["query"]: row for row in json.loads(read("datafinder/test_data_411.json"))}
    queries = {row["_id"]: {**fields[row["text"]], **row} for row in json_lines(read("datafinder/test_clean/queries.jsonl"))}
    return datasets, queries, qrels_of(read("datafinder/test_clean/qrels.trec"))


def keyphrases(fields):
    """A keyphrase query of fields, as published: no stop word, no word that is a part of the text before it."""
    text = ""
    for field in fields:
        field = field.strip()
        if field and field.lower() not in ("none", "n/a"):
            for word in field.lower().split():
                if word not in STOP_WORDS and word not in text:
                    text = f"{text} {word}".strip()
    return text


def concealed_fields():
    datasets, queries, qrels = datafinder()
    tasks = {"all fields": ["task", "modality", "domain", "language"]}
    for name in list(tasks["all fields"]):
        tasks[f"without {name}"] = [field for field in tasks["all fields"] if field != name]
    systems = {"description": ["{contents}"], "+ title": ["{name} {contents} {title}"]}
    values = {}
    for system, templates in systems.items():
        indexes = [datasets.index(renderer(template)) for template in templates]
        for task, names in tasks.items():
            texts = {
                query: (keyphrases(row.get(name) or "" for name in names), row.get("year")) for query, row in queries.items()
            }
            means = evaluate(datasets, texts, qrels, lambda text: bm25(indexes, text), "year")
            values |= {(task, system, measure): value for measure, value in means.items()}
    return values


def renderer(template):
    """Text of a record by a template; missing values are empty."""

    def text(record):
        return template.format_map(defaultdict(str, {name: value or "" for name, value in record.items()}, name=record["id"]))

    return text


def encoder():
    """Cosines of the vectors of sentence-transformers, of one record after the other."""
    from sentence_transformers import SentenceTransformer

    datasets, queries, qrels = datafinder()
    model = SentenceTransformer(os.environ["IR_MODEL"], device="cpu")
    model.max_seq_length = 256
    vectors = model.encode([renderer("{contents} [SEP] {title}")(record) for record in datasets.records], normalize_embeddings=True)

    def rank(text):
        cosines = vectors @ model.encode(text, normalize_embeddings=True)
        return sorted(range(len(cosines)), key=lambda n: (-cosines[n], n))

    values = {}
    for task, form in (("sentences", "text"), ("keyphrases", "keyphrase")):
        texts = {query: (row.get(form) or "", row.get("year")) for query, row in queries.items()}
        means = evaluate(datasets, texts, qrels, rank, "year")
        values |= {(task, "off-the-shelf encoder", measure): value for measure, value in means.items()}
    return values


def sentence_count(text):
    return 1 + sum(match[1].isupper() for match in re.finditer(r"[.!?]\s+(\S)", text))


def tag(datasets, papers):
    """Adds to the records what papers say about them: their number, and a passage of up to five."""
    by_dataset = defaultdict(list)
    for paper in papers:
        for name in paper["datasets"]:
            by_dataset[underscored(name)].append(paper)
    for record in datasets.records:
        used = by_dataset[underscored(record["id"])]
        names = [record["id"]] + [name for name in record.get("variants") or [] if name]
        chosen = []
        for paper in used:
            passages = [(any(name in text for name in names), text) for text in paper.get("snippets") or []]
            passages = [passage for passage in passages if passage[0] or len(paper["datasets"]) == 1]
            if passages:
                chosen.append(next((passage for passage in passages if passage[0]), passages[0]))
        chosen.sort(key=lambda passage: (passage[0], sentence_count(passage[1])))
        record["citances"] = "\n".join(text for _, text in chosen[:5])
        bands = [(10, "very rarely used"), (30, "somewhat rarely used"), (60, "used moderately often")]
        bands += [(120, "quite popular"), (10**9, "extremely popular")]
        band = next(band for most, band in bands if len(used) <= most)
        record["structured_info"] = f"This dataset is {band}, having been used {len(used)} times.\n"


def representations():
    datasets, queries, qrels = datafinder()
    tag(datasets, json_lines(read("datafinder/paper_dataset_pairs.jsonl.zst")))
    systems = {
        "description": ["{contents}"],
        "name + description": ["{name} {contents}"],
        "+ title": ["{name} {contents} {title}"],
        "+ title (first record)": ["{name} {contents} {title}"],
        "+ structured": ["{name} {contents} {title} {structured_info}"],
        "+ citances": ["{name} {contents} {title} {structured_info} {citances}"],
        "fields": ["{name}", "{contents}", "{title}", "{structured_info}", "{citances}"],
    }
    values = {}
    for system, templates in systems.items():
        indexes = [datasets.index(renderer(template)) for template in templates]
        time = "year" if "first record" in system else "year-of-best-record"
        for task, form in (("sentences", "text"), ("keyphrases", "keyphrase")):
            texts = {query: (row.get(form) or "", row.get("year")) for query, row in queries.items()}
            means = evaluate(datasets, texts, qrels, lambda text: bm25(indexes, text), time)
            values |= {(task, system, measure): value for measure, value in means.items()}
    return values


def without_stop_words(text):
    """The published cleaning of kNN: no punctuation, no stop words."""
    words = text.translate(str.maketrans(string.punctuation, " " * len(string.punctuation))).split()
    return " ".join(word for word in words if word.lower() not in STOP_WORDS)


def nearest(datasets, training, form, clean, stop_words):
    """Ranks the datasets of the nearest training queries by TF-IDF of scikit-learn."""
    vectorizer = TfidfVectorizer(min_df=2, stop_words=stop_words)
    vectors = vectorizer.fit_transform(clean(row[form]) for row in training)

    def rank(text):
        similarities = vectors @ vectorizer.transform([clean(text)]).toarray()[0]
        best = {}
        for row, similarity in zip(training, similarities):
            for name in row["positives"]:
                n = datasets.first[underscored(name)]
                best[n] = max(best.get(n, similarity), similarity)
        return sorted(best, key=lambda n: (-round(best[n], 9), n))

    return rank


def bundled_data():
    folder = Path("crates/ir-data/bundled")
    corpus, test, training = (
        json_lines((folder / name).read_text(encoding="utf-8"))
        for name in ("corpus.jsonl", "test_queries.jsonl", "train_queries.jsonl")
    )
    return corpus, test, training, qrels_of((folder / "qrels.tsv").read_text(encoding="utf-8"))


FORMS = {"sentences": "query", "keyphrases": "keyphrase_query"}


def bundled_table():
    corpus, test, training, qrels = bundled_data()
    datasets = Datasets(corpus)
    index = datasets.index(renderer("{contents}"))
    filters = {"no time filter": "none", "published filter": "published-year", "exact time filter": "year"}
    values = {}
    for form, field in FORMS.items():
        texts = {row["id"]: (row[field], row["year"]) for row in test}
        systems = {
            "BM25": lambda text: bm25([index], text),
            "kNN (TF-IDF)": nearest(datasets, training, field, without_stop_words, None),
        }
        for name, time in filters.items():
            for system, rank in systems.items():
                means = evaluate(datasets, texts, qrels, rank, time)
                values |= {(f"{form}, {name}", system, measure): value for measure, value in means.items()}
    return values


def bundled():
    """BM25 over one field of title and text, and kNN without cleaning; both with the exact time filter."""
    corpus, test, training, qrels = bundled_data()
    datasets = Datasets(corpus)
    index = textbook.Index([(record["id"], f"{record.get('title') or ''}\n{record['contents']}") for record in corpus])
    values = {}
    for form, field in FORMS.items():
        texts = {row["id"]: (row[field], row["year"]) for row in test}
        model = textbook.BM25()

        def search(text):
            hits = index.search(Counter(textbook.analyze(text)), model)
            return [datasets.first[index.ids[n]] for n, _ in hits]

        for system, rank in (("BM25", search), ("kNN", nearest(datasets, training, field, str, STOP_WORDS))):
            means = evaluate(datasets, texts, qrels, rank, "year")
            values |= {(form, system, measure): value for measure, value in means.items()}
    return values
