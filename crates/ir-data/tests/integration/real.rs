//! Published counts and contents of the catalog's collections. Skipped if `IR_DATA` lacks them.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use ir_core::training::TrainingSet;
use ir_core::{Corpus, Document, NoProgress, Qrels};
use ir_data::attribute;
use ir_data::biocaddie::{BioCaddieCorpus, BioCaddieTopics, Record, TextRule};
use ir_data::catalog::{Catalog, entries};
use ir_data::datafinder::{self, HeaderLine, Quoting};
use ir_data::squad::Squad;
use ir_data::training::{
    DocumentTexts, JudgedTrainingSet, OnInvalidExample, TrainingFile, TrainingFormat,
};
use ir_data::{DocTemplate, FieldNames, JsonlCorpus, JudgedQueries, indri, open};

/// The catalog, if the files of a collection exist.
fn catalog(collection: &str) -> Option<Catalog> {
    let catalog = Catalog::from_env();
    let found = catalog.has(collection).unwrap();
    if !found {
        skipped(&format!("{collection} is not in IR_DATA"));
    }
    found.then_some(catalog)
}

/// Prints what a skipped test lacks.
fn skipped(missing: &str) {
    eprintln!("SKIPPED: {missing}");
}

fn file(path: &str) -> Option<PathBuf> {
    let found = Catalog::from_env().root().map(|root| root.join(path));
    let found = found.filter(|path| path.exists());
    if found.is_none() {
        skipped(&format!("{path} is not in IR_DATA"));
    }
    found
}

fn docs(catalog: &Catalog, name: &str) -> Vec<Document> {
    let collection = catalog.open(name).unwrap();
    let docs: Result<Vec<Document>, _> = collection.corpus().docs().unwrap().collect();
    docs.unwrap()
}

/// Number of items that a condition holds for.
fn count<T>(items: &[T], condition: impl Fn(&T) -> bool) -> usize {
    items.iter().filter(|item| condition(item)).count()
}

fn ids(docs: &[Document]) -> HashSet<&str> {
    docs.iter().map(|doc| doc.id.as_str()).collect()
}

/// Number of judgments with a grade.
fn with_grade(qrels: &Qrels, grade: i64) -> usize {
    let grades = qrels.iter().flat_map(|(_, judged)| judged.grades());
    grades.filter(|&found| found == grade).count()
}

/// Number of judgments of documents with an id in a set.
fn judged_in(qrels: &Qrels, ids: &HashSet<&str>) -> usize {
    let judged = qrels.iter().flat_map(|(_, judged)| judged.iter());
    judged.filter(|(doc, _)| ids.contains(*doc)).count()
}

#[test]
fn every_collection_matches_the_catalog() {
    let catalog = Catalog::from_env();
    for entry in entries() {
        // Too slow without optimization.
        if entry.documents > 100_000 && cfg!(debug_assertions) {
            skipped(&format!("{} in a debug build", entry.name));
            continue;
        }
        if entry.name != "bundled" && !catalog.has(&entry.name).unwrap() {
            skipped(&format!("{} is not in IR_DATA", entry.name));
            continue;
        }
        let verified = catalog.verify(&entry.name, &mut NoProgress).unwrap();
        assert_eq!(verified.documents, entry.documents, "{}", entry.name);
        assert_eq!(verified.distinct_ids, entry.distinct_ids, "{}", entry.name);
    }
}

#[test]
fn datafinder_corpus_queries_and_judgments() {
    let Some(catalog) = catalog("datafinder") else {
        return;
    };
    let collection = catalog.open("datafinder").unwrap();
    let docs = docs(&catalog, "datafinder");
    assert_eq!(docs.len(), 7602);
    let first = &docs[0];
    assert_eq!((&*first.id, first.attributes.year()), ("MuMu", Some(2017)));
    let start = "MuMu is a new dataset of more than 31k albums";
    assert!(first.text.starts_with(start));
    assert!(first.text.contains("\r\n\r\nSource: "));
    assert_eq!(count(&docs, |doc| doc.attributes.year().is_none()), 1499);
    assert_eq!(count(&docs, |doc| doc.title.is_empty()), 1902);
    let small = self::docs(&catalog, "datafinder/3327");
    let empty = count(&small, |doc| doc.text.trim().is_empty());
    assert_eq!((small.len(), empty), (3327, 8));
    let ids = ids(&docs);
    assert_eq!(ids.len(), 7564);
    assert!(docs.iter().all(|doc| !doc.id.contains(char::is_whitespace)));

    let queries = collection.queries("test").unwrap();
    assert_eq!(queries.len(), 392);
    let qrels = collection.qrels("test").unwrap();
    assert_eq!((qrels.len(), qrels.judgments()), (392, 1043));
    assert_eq!(queries[0].id, "t000");
    assert_eq!(queries[391].id, "x004");
    let attributes = &queries[0].attributes;
    assert_eq!(attributes.year(), Some(2017));
    let keyphrases = "semantic image segmentation autonomous driving";
    assert_eq!(attributes.text(attribute::KEYPHRASES), Some(keyphrases));
    assert_eq!(judged_in(&qrels, &ids), 1038);

    let train = collection.qrels("train").unwrap();
    assert_eq!((train.len(), train.judgments()), (597, 663));
    assert_eq!(collection.queries("train").unwrap()[0].id, "train-0");
}

#[test]
fn one_training_query_equals_a_test_query() {
    let (Some(catalog), Some(path)) = (
        catalog("datafinder"),
        file("datafinder/train_queries.jsonl.zst"),
    ) else {
        return;
    };
    let training = datafinder::read_training_queries(open(&path).unwrap(), "train", "").unwrap();
    assert_eq!(training.len(), 17_495);
    let test = catalog.open("datafinder").unwrap().queries("test").unwrap();
    let test = test.iter().map(|query| query.text.as_str());
    let (kept, equal) = datafinder::without_test_queries(training, test);
    let equal: Vec<&str> = equal.iter().map(|row| row.query.id.as_str()).collect();
    assert_eq!((kept.len(), equal), (17_494, vec!["1002"]));
}

#[test]
fn datafinder_with_tagged_papers() {
    let Some(catalog) = catalog("datafinder/tagged") else {
        return;
    };
    let tagged = docs(&catalog, "datafinder/tagged");
    let plain = docs(&catalog, "datafinder");
    assert_eq!(tagged.len(), 7602);
    let mut papers = 0;
    let mut seen = HashSet::new();
    for (doc, plain) in tagged.iter().zip(&plain) {
        let fields = |doc: &Document| [&doc.id, &doc.text, &doc.title].map(String::clone);
        assert_eq!(fields(doc), fields(plain));
        let citances = doc.attributes.text(datafinder::CITANCES).unwrap();
        let count = doc.attributes.int("num_papers").unwrap();
        assert!(citances.lines().count() <= datafinder::MAX_CITANCES);
        assert!(count > 0 || citances.is_empty());
        let sentences = doc.attributes.text(datafinder::STRUCTURED_INFO).unwrap();
        assert!(sentences.ends_with(&format!("having been used {count} times.\n")));
        if seen.insert(&doc.id) {
            papers += count;
        }
    }
    // 1,802 pairs, less those of datasets that are not in the corpus.
    assert!((1_700..=1_802).contains(&papers), "{papers}");
    let hpatches = tagged.iter().find(|doc| doc.id == "HPatches").unwrap();
    let citances = hpatches.attributes.text(datafinder::CITANCES).unwrap();
    assert!(citances.contains("HPatches"), "{citances}");
}

#[test]
fn datafinder_qrels_raw_and_csv() {
    let Some(path) = file("datafinder/test_dataset_collection.qrels") else {
        return;
    };
    let read = |quoting, header| {
        let name = path.display().to_string();
        datafinder::read_qrels(open(&path).unwrap(), &name, quoting, header).unwrap()
    };
    let raw = read(Quoting::Raw, HeaderLine::Skip).data;
    assert_eq!((raw.len(), raw.judgments()), (392, 1043));
    assert!(read(Quoting::Raw, HeaderLine::Skip).warnings.is_empty());
    let with_header = read(Quoting::Raw, HeaderLine::AsData);
    assert_eq!(with_header.data.len(), 393);
    assert_eq!(with_header.data.grade("QueryID", "DocID"), Some(0));
    assert_eq!(with_header.warnings.len(), 1);
    let quoted = raw.iter().filter(|(query, _)| query.starts_with('"'));
    assert_eq!(quoted.count(), 3);

    // Equal to the cleaned judgments under the published ids.
    let csv = read(Quoting::Csv, HeaderLine::Skip).data;
    let Some(catalog) = catalog("datafinder") else {
        return;
    };
    let collection = catalog.open("datafinder").unwrap();
    let clean = collection.qrels("test").unwrap();
    for query in collection.queries("test").unwrap() {
        let published = query.attributes.text(datafinder::PUBLISHED_ID).unwrap();
        assert_eq!(csv.get(published), clean.get(&query.id), "{}", query.id);
    }
    // The TREC reader agrees with the raw reader.
    let trec = ir_data::read_qrels(&path, HeaderLine::Skip).unwrap().data;
    assert_eq!(trec, raw);

    let keyword = file("datafinder/test_dataset_collection_keyword.qrels").unwrap();
    let keyword = open(keyword).unwrap();
    let keyword = datafinder::read_qrels(keyword, "k", Quoting::Csv, HeaderLine::Skip);
    let keyword = keyword.unwrap().data;
    assert_eq!((keyword.len(), keyword.judgments()), (271, 809));
}

#[test]
fn datafinder_runs() {
    for (path, lines, queries) in [
        ("datafinder/runs/tevatron_full_sentence.trec", 2030, 406),
        ("datafinder/runs/tevatron_keyphrase.trec", 1525, 305),
        ("makg/tevatron.trec", 1415, 283),
    ] {
        let Some(path) = file(path) else { return };
        let reader = open(&path).unwrap();
        let run = datafinder::read_run(reader, "run", Quoting::Raw, HeaderLine::Skip);
        let run = run.unwrap().data;
        let found: usize = run.iter().map(|(_, list)| list.len()).sum();
        assert_eq!((found, run.len()), (lines, queries), "{}", path.display());
        assert_eq!(run.tag, "run-1");
        let trec = ir_data::read_run(&path, HeaderLine::Skip).unwrap();
        assert_eq!(trec.data, run);
    }
}

#[test]
fn datafinder_training_queries() {
    let Some(path) = file("datafinder/train_queries.jsonl.zst") else {
        return;
    };
    let rows = datafinder::read_training_queries(open(path).unwrap(), "train", "").unwrap();
    assert_eq!(rows.len(), 17_495);
    assert_eq!(rows[17_494].query.id, "17494");
    let keyphrases = |row: &datafinder::DatasetQuery| {
        let found = row.query.attributes.get(attribute::KEYPHRASES);
        found.is_some()
    };
    assert_eq!(count(&rows, keyphrases), 17_397);
}

#[test]
fn training_examples_of_published_files() {
    let texts = |catalog: &Catalog, name: &str| {
        let collection = catalog.open(name).unwrap();
        DocumentTexts::from_corpus(collection.corpus(), &DocTemplate::default()).unwrap()
    };
    let format = |texts: DocumentTexts| TrainingFormat::default().with_texts(texts);
    let count = |set: &dyn TrainingSet| {
        let all = (0..set.len()).map(|n| set.get(n).unwrap());
        let sizes = all.map(|e| (e.positives.len(), e.negatives.len()));
        sizes.fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1))
    };
    if let Some(catalog) = catalog("makg") {
        let path = file("makg/train.jsonl.zst").unwrap();
        let set = TrainingFile::open_with(path, format(texts(&catalog, "makg"))).unwrap();
        assert_eq!((set.len(), count(&set)), (1132, (1226, 11_261)));
    }
    if let Some(catalog) = catalog("datafinder") {
        let path = file("datafinder/train_labelled.jsonl").unwrap(); // language: allow
        let format = format(texts(&catalog, "datafinder"));
        let error = TrainingFile::open_with(&path, format.clone()).unwrap_err();
        assert!(error.to_string().ends_with("found \"UCSD\""), "{error}");
        // 597 queries and 663 pairs; the only positive of one query is in no corpus.
        let format = format.on_invalid_example(OnInvalidExample::Skip);
        let set = TrainingFile::open_with(&path, format.clone()).unwrap();
        assert_eq!((set.len(), count(&set)), (596, (662, 0)));
        assert_eq!(set.skipped().len(), 2);
        // That query is also the only one without keyphrases.
        let keyphrases = format.with_query_field("keyphrase_query");
        let set = TrainingFile::open_with(&path, keyphrases).unwrap();
        assert_eq!((set.len(), set.skipped().len()), (596, 1));
    }
    if let Some(catalog) = catalog("beir/nfcorpus") {
        let all = Arc::new(texts(&catalog, "beir/nfcorpus"));
        let collection = catalog.open("beir/nfcorpus").unwrap();
        let reject = OnInvalidExample::Reject;
        let set = JudgedTrainingSet::from_split(&collection, "train", all, reject).unwrap();
        assert_eq!((set.len(), count(&set)), (2590, (110_575, 0)));
    }
}

#[test]
fn makg_corpus_and_judgments() {
    let Some(path) = file("makg/qrels.tsv") else {
        return;
    };
    let read = datafinder::read_qrels(open(path).unwrap(), "q", Quoting::Raw, HeaderLine::Skip);
    let read = read.unwrap();
    assert_eq!((read.data.len(), read.data.judgments()), (1413, 1529));
    assert_eq!(read.warnings.len(), 2, "two pairs are there twice");
    let catalog = catalog("makg").unwrap();
    let docs = docs(&catalog, "makg");
    let ids = ids(&docs);
    assert_eq!(ids.len(), 257);
    let qrels = catalog.open("makg").unwrap().qrels("test").unwrap();
    assert_eq!(judged_in(&qrels, &ids), qrels.judgments());
    assert_eq!(count(&docs, |doc| doc.attributes.year().is_some()), 0);
}

#[test]
fn beir_corpora_and_judgments() {
    let Some(catalog) = catalog("beir/nfcorpus") else {
        return;
    };
    let collection = catalog.open("beir/nfcorpus").unwrap();
    assert_eq!(collection.splits(), ["dev", "test", "train"]);
    let docs = docs(&catalog, "beir/nfcorpus");
    assert_eq!((docs.len(), docs[0].id.as_str()), (3633, "MED-10"));
    let title = "Statin Use and Breast Cancer Survival: A Nationwide Cohort Study from Finland";
    assert_eq!(docs[0].title, title);
    assert!(docs[0].attributes.text("url").is_some());
    assert_eq!(collection.queries("test").unwrap().len(), 323);
    let test = collection.qrels("test").unwrap();
    assert_eq!(with_grade(&test, 2), 576);

    let arguana = catalog.open("beir/arguana").unwrap();
    let docs = self::docs(&catalog, "beir/arguana");
    assert_eq!(count(&docs, |doc| doc.title.is_empty()), 5975);
    let qrels = arguana.qrels("test").unwrap();
    assert_eq!(qrels.judgments() - judged_in(&qrels, &ids(&docs)), 5);
}

#[test]
fn cranfield_and_cisi() {
    let Some(catalog) = catalog("cranfield") else {
        return;
    };
    let cranfield = catalog.open("cranfield").unwrap();
    let docs = docs(&catalog, "cranfield");
    assert_eq!(docs.len(), 1400);
    let title = "experimental investigation of the aerodynamics of a wing in a slipstream .";
    assert_eq!(docs[0].title, title);
    assert_eq!(docs[0].attributes.text("author"), Some("brenckman,m."));
    let end = "the specific configuration of the experiment .";
    assert!(docs[0].text.ends_with(end));
    let empty = docs.iter().filter(|doc| doc.text.is_empty());
    let empty: Vec<&str> = empty.map(|doc| doc.id.as_str()).collect();
    assert_eq!(empty, ["471", "995"]);
    // Documents 240, 576 and 578 have markers inside their text.
    let marked = &docs[239];
    assert!(marked.text.contains("application to turbulent separations"));
    assert!(marked.text.ends_with("."));
    assert_eq!(marked.attributes.text("author"), Some("dean r. chapman"));
    let queries = cranfield.queries("test").unwrap();
    assert_eq!((queries.len(), &*queries[3].id), (225, "4"));
    assert_eq!(queries[3].attributes.text("number"), Some("008"));
    let qrels = cranfield.qrels("test").unwrap();
    assert_eq!(qrels.judgments(), 1837);
    assert_eq!(qrels.grade("1", "184"), Some(3));
    assert_eq!(qrels.grade("225", "1188"), Some(1));

    let cisi = catalog.open("cisi").unwrap();
    let docs = self::docs(&catalog, "cisi");
    assert_eq!(docs.len(), 1460);
    let title = "18 Editions of the Dewey Decimal Classifications";
    assert_eq!(docs[0].title, title);
    assert_eq!(docs[1].title, "Use Made of Technical Libraries");
    assert_eq!(cisi.all_queries().unwrap().len(), 112);
    assert_eq!(cisi.queries("test").unwrap().len(), 76);
    let qrels = cisi.qrels("test").unwrap();
    assert_eq!((qrels.len(), qrels.judgments()), (76, 3114));
    assert_eq!(qrels.grade("1", "28"), Some(1));
}

#[test]
fn biocaddie_topics_and_judgments() {
    let Some(folder) = file("biocaddie") else {
        return;
    };
    let read = |name: &str| {
        let path = folder.join("queries").join(name);
        indri::read_queries(open(path).unwrap(), name).unwrap()
    };
    for (name, count) in [("combined", 21), ("test", 15), ("train", 6)] {
        for variant in ["orig", "short", "stopped"] {
            let name = format!("queries.{name}.{variant}");
            assert_eq!(read(&name).len(), count, "{name}");
        }
    }
    let queries = read("queries.combined.orig");
    assert_eq!(queries[0].id, "EA1");
    let start = "Find data of all types related to TGF-β signaling";
    assert!(queries[0].text.starts_with(start));
    for variant in ["boolqueries.combined.short", "queries.combined.idf"] {
        assert_eq!(read(variant).len(), 21);
    }
    let path = folder.join("qrels/biocaddie.qrels.test");
    let qrels = ir_data::read_qrels(path, HeaderLine::AsData).unwrap().data;
    assert_eq!(qrels.judgments(), 20_184);
    assert_eq!(
        [2, 1, 0].map(|grade| with_grade(&qrels, grade)),
        [812, 3069, 16_303]
    );
}

#[test]
fn biocaddie_counts_by_topic() {
    let Some(folder) = file("biocaddie") else {
        return;
    };
    let qrels = |split: &str| {
        let path = folder.join(format!("qrels/biocaddie.qrels.{split}"));
        ir_data::read_qrels(path, HeaderLine::AsData).unwrap().data
    };
    let counts = |qrels: &Qrels, least: i64| -> BTreeMap<String, usize> {
        let counts = qrels.iter().map(|(topic, judged)| {
            let count = judged.grades().filter(|&grade| grade >= least).count();
            (topic.to_owned(), count)
        });
        counts.collect()
    };
    let numbered = |prefix: &str, counts: &[usize]| -> BTreeMap<String, usize> {
        let counts = (1..).zip(counts);
        let named = counts.map(|(n, &count)| (format!("{prefix}{n}"), count));
        named.collect()
    };
    let (test, train, combined) = (qrels("test"), qrels("train"), qrels("combined"));
    let judged = [
        1631, 1068, 1252, 1406, 1460, 1264, 1716, 1734, 1223, 1237, 1754, 858, 1353, 836, 1392,
    ];
    assert_eq!(counts(&test, 0), numbered("T", &judged));
    let relevant = [
        637, 39, 595, 279, 84, 392, 94, 77, 139, 244, 234, 126, 207, 250, 484,
    ];
    assert_eq!(counts(&test, 1), numbered("T", &relevant));
    assert_eq!(counts(&train, 0), numbered("EA", &[58, 80, 87, 77, 94, 87]));
    assert_eq!(train.judgments(), 483);
    assert_eq!(
        [0, 1, 2].map(|grade| with_grade(&train, grade)),
        [189, 159, 135]
    );
    assert_eq!((combined.judgments(), combined.len()), (20_667, 21));
    let mut both = counts(&test, 1);
    both.extend(counts(&train, 1));
    assert_eq!(counts(&combined, 1), both);
    let topics = BioCaddieTopics::new(&folder);
    let queries = topics.all_queries().unwrap();
    assert_eq!(queries.len(), 21);
    for query in &queries {
        for form in ["short", "stopped", "weighted", "structured"] {
            assert!(query.attributes.get(form).is_some(), "{}: {form}", query.id);
        }
    }
    assert_eq!(topics.qrels("test").unwrap().judgments(), 20_184);
    assert_eq!(topics.qrels("train").unwrap().judgments(), 483);
}

#[test]
fn biocaddie_sample_records() {
    let Some(folder) = file("biocaddie") else {
        return;
    };
    let xml = Record::read_xml(open(folder.join("sample_record.xml")).unwrap(), "sample").unwrap();
    assert_eq!((&*xml.id, xml.repository_key()), ("6408", "arrayexpress"));
    assert_eq!(xml.texts("organism.experiment.species"), ["Homo sapiens"]);
    let doc = xml.into_document(TextRule::Paths);
    let title = "Vitamin D receptor (VDR) target genes in THP-1 monocytic leucemia cells";
    assert_eq!(doc.title, title);
    let start = "The biologically active form of vitamin D";
    assert!(doc.text.starts_with(start));
    assert!(doc.text.contains("(p < 0.05)") && doc.text.ends_with("Homo sapiens"));
    assert_eq!(doc.attributes.year(), Some(2015));
    let corpus = BioCaddieCorpus::new(folder.join("sample_records.jsonl"));
    let docs: Vec<Document> = corpus.docs().unwrap().map(Result::unwrap).collect();
    let ids: Vec<&str> = docs.iter().map(|doc| doc.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "4", "5"]);
    let start = "Mutations in methyl-CpG-binding protein 2 (MeCP2)";
    assert!(docs[4].text.starts_with(start));
    for doc in &docs {
        assert!(!doc.title.is_empty() && !doc.text.contains(&doc.title));
    }
}

#[test]
fn squad_counts() {
    let Some(path) = file("squad/dev-v1.1.json.zst") else {
        return;
    };
    let squad = Squad::read(open(path).unwrap(), "dev").unwrap();
    let docs = squad.documents();
    let counts = [squad.articles.len(), docs.len(), ids(&docs).len()];
    assert_eq!(counts, [48, 2067, 2067]);
    let queries = squad.queries();
    assert_eq!((queries.len(), squad.qrels().len()), (10_570, 10_570));
    let paragraphs = squad
        .articles
        .iter()
        .flat_map(|article| &article.paragraphs);
    let questions = paragraphs.flat_map(|paragraph| &paragraph.questions);
    let answers = questions.map(|question| question.answers.len());
    assert_eq!(answers.sum::<usize>(), 34_726);
}

/// "Talk to Papers" counts 10,250 sentences and 11,426 queries.
#[test]
fn squad_sentence_counts() {
    let Some(path) = file("squad/dev-v1.1.json.zst") else {
        return;
    };
    let squad = Squad::read(open(path).unwrap(), "dev").unwrap();
    let sentences = squad.answer_sentences();
    let documents = &sentences.documents;
    assert_eq!([documents.len(), ids(documents).len()], [10_253; 2]);
    let pairs = &sentences.pairs;
    let counts = [sentences.queries.len(), pairs.len(), pairs.judgments()];
    assert_eq!(counts, [11_426; 3]);
    let questions = &sentences.questions;
    assert_eq!((questions.len(), questions.judgments()), (10_570, 11_426));
    let count = |split: &str| {
        let articles = squad.articles_of(split).articles.len();
        (articles, sentences.by_article[split].len())
    };
    assert_eq!(
        [count("train"), count("validation"), count("test")],
        [(30, 7364), (6, 1209), (12, 2853)]
    );
}

/// Field names are sufficient to read another JSON collection.
#[test]
fn iclr_as_json_lines() {
    let Some(path) = file("iclr/abstracts_2017_2018_2021.jsonl.zst") else {
        return;
    };
    let fields = FieldNames {
        text: "abstract".into(),
        ..FieldNames::anserini()
    };
    let corpus = JsonlCorpus::new(path).with_fields(fields);
    let docs: Vec<Document> = corpus.docs().unwrap().map(Result::unwrap).collect();
    assert_eq!(docs.len(), 4444);
    assert_eq!(docs[0].title, "Prototypical Networks for Few-shot Learning");
    assert_eq!(
        count(&docs, |doc| doc.attributes.int("row").is_some()),
        3449
    );
}
