use ir_core::{AttributeValue, Attributes};

/// Name of the attribute with the verbalized metadata of a dataset.
pub const STRUCTURED_INFO: &str = "structured_info";

/// Metadata of a dataset in Papers with Code, and their verbalization.
///
/// ```
/// use ir_data::datafinder::DatasetMetadata;
/// let metadata = DatasetMetadata {
///     tasks: vec!["Parsing".into(), "Tagging".into(), "Chunking".into()],
///     modalities: vec!["Texts".into()],
///     languages: Vec::new(),
///     papers: Some(31),
/// };
/// assert_eq!(
///     metadata.verbalize(),
///     "This dataset can be used to study the task of Parsing, Tagging, and Chunking.\n\
///      The modality of data contained are texts.\n\
///      This dataset is used moderately often, having been used 31 times.\n"
/// );
/// ```
/// # Source
/// Viswanathan et al., "DataFinder: Scientific Dataset Recommendation from Natural Language
/// Descriptions", ACL 2023, Section 3.1, and the collection published with it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DatasetMetadata {
    /// Names of the tasks that the dataset is used for.
    pub tasks: Vec<String>,
    /// Modalities of the data, such as `Images`.
    pub modalities: Vec<String>,
    /// Languages of the data.
    pub languages: Vec<String>,
    /// Number of papers that use the dataset.
    pub papers: Option<u64>,
}

impl DatasetMetadata {
    /// Reads the fields of a record of Papers with Code: `tasks` (names, or objects with the name
    /// as `task`), `modalities`, `languages` and `num_papers`. Values of other types are ignored.
    #[must_use]
    pub fn from_attributes(attributes: &Attributes) -> Self {
        let names = |field: &str| match attributes.get(field) {
            Some(AttributeValue::List(values)) => values.iter().filter_map(name).collect(),
            _ => Vec::new(),
        };
        let papers = match attributes.get("num_papers") {
            Some(AttributeValue::Int(count)) => u64::try_from(*count).ok(),
            _ => None,
        };
        Self {
            tasks: names("tasks"),
            modalities: names("modalities"),
            languages: names("languages"),
            papers,
        }
    }

    /// Verbalizes the metadata: up to four sentences (tasks, modalities, languages, number of
    /// papers), each followed by a line break. A sentence without a value is left out.
    #[must_use]
    pub fn verbalize(&self) -> String {
        let mut text = String::new();
        let mut sentence = |start: &str, list: Option<String>| {
            if let Some(list) = list {
                text.push_str(start);
                text.push_str(&list);
                text.push_str(".\n");
            }
        };
        sentence(
            "This dataset can be used to study the task of ",
            enumeration(&self.tasks),
        );
        sentence(
            "The modality of data contained are ",
            enumeration(&self.modalities).map(|list| list.to_lowercase()),
        );
        sentence(
            "This dataset contains examples in ",
            enumeration(&self.languages),
        );
        let papers = self.papers.map(|papers| {
            let band = popularity_band(papers);
            format!("{band}, having been used {papers} times")
        });
        sentence("This dataset is ", papers);
        text
    }
}

/// Popularity of a dataset by the number of papers that use it, in words.
const fn popularity_band(papers: u64) -> &'static str {
    match papers {
        0..=10 => "very rarely used",
        11..=30 => "somewhat rarely used",
        31..=60 => "used moderately often",
        61..=120 => "quite popular",
        _ => "extremely popular",
    }
}

/// Name of a list item: a text, or the member `task` of an object.
fn name(value: &AttributeValue) -> Option<String> {
    match value {
        AttributeValue::Text(text) => Some(text.clone()),
        AttributeValue::Map(members) => match members.get("task") {
            Some(AttributeValue::Text(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Joins items as in a sentence: `a`, `a and b`, `a, b, and c`; [`None`] without items.
fn enumeration(items: &[String]) -> Option<String> {
    match items {
        [] => None,
        [one] => Some(one.clone()),
        [first, second] => Some(format!("{first} and {second}")),
        [first @ .., last] => Some(format!("{}, and {last}", first.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(items: &[&str]) -> Vec<String> {
        items.iter().map(|&item| item.to_owned()).collect()
    }

    #[test]
    fn bands_at_their_boundaries() {
        for (papers, phrase) in [
            (0, "very rarely used"),
            (10, "very rarely used"),
            (11, "somewhat rarely used"),
            (30, "somewhat rarely used"),
            (31, "used moderately often"),
            (60, "used moderately often"),
            (61, "quite popular"),
            (120, "quite popular"),
            (121, "extremely popular"),
        ] {
            let metadata = DatasetMetadata {
                papers: Some(papers),
                ..DatasetMetadata::default()
            };
            let expected = format!("This dataset is {phrase}, having been used {papers} times.\n");
            assert_eq!(metadata.verbalize(), expected);
        }
    }

    #[test]
    fn four_sentences_and_lists_of_one_two_three() {
        let metadata = DatasetMetadata {
            tasks: list(&["Question Answering", "Parsing", "NLI"]),
            modalities: list(&["Texts", "RGB Video"]),
            languages: list(&["English"]),
            papers: Some(121),
        };
        let sentences = [
            "This dataset can be used to study the task of Question Answering, Parsing, and NLI.\n",
            "The modality of data contained are texts and rgb video.\n",
            "This dataset contains examples in English.\n",
            "This dataset is extremely popular, having been used 121 times.\n",
        ];
        assert_eq!(metadata.verbalize(), sentences.concat());
        assert_eq!(DatasetMetadata::default().verbalize(), "");
    }

    #[test]
    fn fields_of_papers_with_code() {
        let mut attributes = Attributes::default();
        attributes.set("modalities", vec!["Images"]);
        attributes.set("num_papers", 12_i64);
        let task = AttributeValue::Map(
            [("task".to_owned(), AttributeValue::from("Tagging"))]
                .into_iter()
                .collect(),
        );
        attributes.set("tasks", AttributeValue::List(vec![task]));
        attributes.set("languages", "English");
        let metadata = DatasetMetadata::from_attributes(&attributes);
        assert_eq!(metadata.tasks, ["Tagging"]);
        assert_eq!(metadata.modalities, ["Images"]);
        assert_eq!((metadata.languages.len(), metadata.papers), (0, Some(12)));
    }
}
