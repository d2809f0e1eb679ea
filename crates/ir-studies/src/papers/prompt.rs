use super::answer::{LABELS, QueryAnswer, SEPARATOR};

/// Worked example of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptExample {
    /// Abstract of a paper.
    pub abstract_text: String,
    /// Answer that the model is to imitate.
    pub answer: QueryAnswer,
}

/// Few-shot prompt for a query: instruction, worked examples and the new abstract, separated by
/// lines `--`. The prompt ends with `Task:`, which the model continues.
///
/// DataFinder has the same layout (Viswanathan et al., ACL 2023, Appendix A). The instruction and
/// the three examples are written for this library.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryPrompt {
    /// Instruction: extraction of keyphrases in seven fields, and a summary in one sentence.
    pub instruction: String,
    /// Worked examples. Default: three.
    pub examples: Vec<PromptExample>,
    /// Maximum number of words of the new abstract; further words are left out. Default: 600. The
    /// published program truncates the prompt to 1500 tokens and keeps its end.
    pub max_words: usize,
}

impl Default for QueryPrompt {
    fn default() -> Self {
        Self {
            instruction: INSTRUCTION.to_owned(),
            examples: EXAMPLES.iter().map(example).collect(),
            max_words: 600,
        }
    }
}

impl QueryPrompt {
    /// Renders the prompt for an abstract. Lines `--` in the abstract are joined with their
    /// neighbors.
    ///
    /// ```
    /// use ir_studies::papers::QueryPrompt;
    /// let prompt = QueryPrompt::default().render("We parse sentences.");
    /// assert!(prompt.ends_with("Abstract: We parse sentences.\n\nOutput:\nTask:"));
    /// ```
    #[must_use]
    pub fn render(&self, abstract_text: &str) -> String {
        let mut text = self.instruction.trim_end().to_owned();
        for PromptExample {
            abstract_text,
            answer,
        } in &self.examples
        {
            let abstract_text = words(abstract_text, usize::MAX);
            text += &format!("\n{SEPARATOR}\nAbstract: {abstract_text}\n\nOutput:\n{answer}");
        }
        let abstract_text = words(abstract_text, self.max_words);
        text += &format!(
            "\n{SEPARATOR}\nAbstract: {abstract_text}\n\nOutput:\n{}:",
            LABELS[0]
        );
        text
    }
}

/// First words of a text, in one line.
fn words(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(limit).collect();
    words.join(" ")
}

const INSTRUCTION: &str = "\
Read the abstract of a scientific paper and answer two requests.
(1) Extract keyphrases that describe the data that the paper needs: the task, the modality of the \
data, the application domain, the training style, the length of the texts and the language. Write \
N/A if the abstract does not say.
(2) Summarize in one sentence what the paper does. Do not name datasets.";

/// Abstract and the seven fields of the answer.
const EXAMPLES: [(&str, [&str; 7]); 3] = [
    (
        "Reading long reports takes time. We present a network that answers questions about \
         financial reports by selecting a passage of the report and copying words from it. It is \
         trained on pairs of questions and answers and needs no other annotation. On English \
         annual reports it answers a third more questions than a pipeline of separate models.",
        [
            "Question answering, passage retrieval",
            "Text",
            "Finance",
            "Supervised",
            "Paragraph-level",
            "English",
            "A network that answers questions about financial reports by selecting a passage and \
             copying words from it.",
        ],
    ),
    (
        "Leaves of diseased plants look different from those of healthy ones long before the \
         harvest is lost. We learn to recognize diseases from photographs taken with a phone, \
         without labels, by predicting the rotation of image parts. A linear classifier on top of \
         the learned features is as accurate as a network that was trained on labeled photographs.",
        [
            "Image classification",
            "Images",
            "Agriculture",
            "Self-supervised",
            "N/A",
            "N/A",
            "We recognize plant diseases in photographs with features learned by predicting the \
             rotation of image parts.",
        ],
    ),
    (
        "Subtitles must be short. This paper compresses transcribed speech for subtitles in German \
         and Finnish. A model that was trained to translate is adapted with few compressed \
         sentences, and deletes or replaces words until a sentence fits. Viewers prefer the result \
         to that of rules.",
        [
            "Sentence compression",
            "Text, speech",
            "Television",
            "Transfer learning",
            "Sentence-level",
            "German, Finnish",
            "A translation model is adapted to compress transcribed speech for subtitles.",
        ],
    ),
];

fn example((text, fields): &(&str, [&str; 7])) -> PromptExample {
    let fields = fields.map(|field| match field {
        "N/A" => String::new(),
        field => field.to_owned(),
    });
    PromptExample {
        abstract_text: (*text).to_owned(),
        answer: QueryAnswer::from_values(fields),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layout() {
        let prompt = QueryPrompt::default().render("One\n--\ntwo  three.");
        let parts: Vec<&str> = prompt.split("\n--\n").collect();
        assert_eq!(parts.len(), 5);
        assert!(parts[0].contains("(1)") && parts[0].contains("(2)"));
        for part in &parts[1..4] {
            let (text, output) = part.split_once("\n\nOutput:\n").unwrap();
            assert!(text.starts_with("Abstract: ") && !text.contains('\n'));
            let labels = output.lines().map(|line| line.split_once(": ").unwrap().0);
            assert_eq!(Vec::from_iter(labels), LABELS);
        }
        assert_eq!(parts[4], "Abstract: One -- two three.\n\nOutput:\nTask:");
    }

    #[test]
    fn long_abstracts_keep_the_end_of_the_prompt() {
        let prompt = QueryPrompt {
            max_words: 2,
            ..QueryPrompt::default()
        };
        let text = prompt.render("one two three four");
        assert!(
            text.ends_with("\nAbstract: one two\n\nOutput:\nTask:"),
            "{text}"
        );
        assert!(text.starts_with(INSTRUCTION));
    }
}
