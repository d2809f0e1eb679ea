//! Sentence splitting of English and Chinese text, and of other scripts without upper case.
//!
//! The rules of English and Chinese are the rules of SOCO's published converter. Tests compare both
//! on invented papers. Text in Chinese, Japanese, Korean, Arabic or Hindi is also split without an
//! option ([`Language::English`]).
//! Sentences are exact substrings of the text, without surrounding white space, and everything
//! outside of them is white space. The time is linear in the length of the text.
//!
//! The splitters are here because the collection `squad/sentences` needs them; `ir-qa` re-exports
//! them.

mod caseless;
mod chinese;
mod citations;
mod english;
mod languages;

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Language of a text: the rules of its sentences and the context budget of its frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// English; serves other languages that end sentences with a period and white space.
    ///
    /// If more than a quarter of the letters of a text have no case (Chinese, Japanese, Korean,
    /// Arabic, Hindi and others), sentences also end after `。！？।۔؟`, with the closing quotes and
    /// brackets behind them, and between `.`, `!` or `?` and white space before such a letter.
    #[default]
    English,
    /// Chinese, with full-width punctuation, by the published rules: a full-width semicolon ends
    /// sentences, too.
    Chinese,
}

/// Abbreviations of scientific text that the published rules do not have, without their period:
/// `Fig. 3` and `et al. [12]` are cut without them. An abbreviation with ` #` counts only before a
/// number or a single upper-case letter: "in Sept. 2019", "App. B", but "for 5 min. Then".
pub const SCIENTIFIC_ABBREVIATIONS: [&str; 160] = [
    "Alg",
    "Algs",
    "Eq",
    "Eqn",
    "Eqns",
    "Eqs",
    "Fig",
    "Figs",
    "Ref",
    "Refs",
    "Sect",
    "Suppl",
    "Tab",
    "Thm",
    "al",
    "eq",
    "fig",
    "resp",
    "vol",
    "viz",
    "w.r.t",
    "s.t",
    "incl",
    "Feb #",
    "Mar #",
    "Apr #",
    "Jun #",
    "Jul #",
    "Sep #",
    "Sept #",
    "max #",
    "min #",
    "App #",
    "Apps #",
    "Ch #",
    "Chap #",
    "Conj #",
    "Def #",
    "Defs #",
    "Ex #",
    "Exs #",
    "Lem #",
    "Nos #",
    "nos #",
    "Prop #",
    "Props #",
    "Rem #",
    "Secs #",
    "Sects #",
    "Supp #",
    "Thms #",
    "Acad",
    "Adv",
    "Amer",
    "Ann",
    "Annu",
    "Appl",
    "Assoc",
    "Astron",
    "Astrophys",
    "Biochem",
    "Biol",
    "Biophys",
    "Bull",
    "Chem",
    "Clin",
    "Commun",
    "Comput",
    "Conf",
    "Dept",
    "Econ",
    "Eng",
    "Environ",
    "Exp #",
    "Genet",
    "Geophys",
    "Immunol",
    "Intl",
    "Lett",
    "Mater",
    "Math",
    "Mech",
    "Med",
    "Microbiol",
    "Mol",
    "Nat #",
    "Natl",
    "Neurosci",
    "Nucl",
    "Opt",
    "Pharmacol",
    "Philos",
    "Phys",
    "Physiol",
    "Proc",
    "Psychol",
    "Res #",
    "Sci",
    "Soc",
    "Stat",
    "Symp",
    "Technol",
    "Theor",
    "Trans",
    "Univ",
    "Am",
    "Br",
    "Can",
    "Eur",
    "Int",
    "Jpn",
    "Ed",
    "Eds",
    "ed",
    "eds",
    "edn",
    "Jr",
    "Sr",
    "Tabs",
    "Chaps",
    "Obs #",
    "fn #",
    "avg #",
    "hr #",
    "hrs #",
    "sec #",
    "conc",
    "calc",
    "cv",
    "ibid",
    "i.p",
    "i.v",
    "s.c",
    "obs",
    "para #",
    "pt #",
    "q.v",
    "ref #",
    "refs #",
    "Ser",
    "ser",
    "sp",
    "spp",
    "ssp",
    "subsp",
    "tab #",
    "var #",
    "a.u",
    "et seq",
    "loc. cit",
    "op. cit",
    "Cf",
    "Approx",
    "Vols",
    "vols",
    "Sup",
    "ext #",
    "pers. comm",
    "unpubl",
    "wt #",
];

/// Splitter of text into sentences.
///
/// ```
/// use ir_data::sentences::{Language, SentenceSplitter};
/// let splitter = SentenceSplitter::new(Language::English);
/// let text = "Mr. Smith drinks tea, e.g. Assam. It is strong.";
/// let sentences: Vec<&str> = splitter.split(text).map(|range| &text[range]).collect();
/// assert_eq!(sentences, ["Mr. Smith drinks tea, e.g. Assam.", "It is strong."]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SentenceSplitter {
    language: Language,
    abbreviations: Vec<String>,
    joins_citations: bool,
}

impl SentenceSplitter {
    /// Creates a splitter with the published rules of a language.
    #[must_use]
    pub fn new(language: Language) -> Self {
        Self {
            language,
            abbreviations: Vec::new(),
            joins_citations: false,
        }
    }

    /// Creates the splitter of scientific text: [`SCIENTIFIC_ABBREVIATIONS`] end no sentence, and
    /// citations belong to the sentence before them.
    ///
    /// ```
    /// use ir_data::sentences::{Language, SentenceSplitter};
    /// let splitter = SentenceSplitter::scientific(Language::English);
    /// let text = "Tea boils (Fig. 3). [1, 2] It is hot. (Roe, 2001). Cups break.";
    /// let sentences: Vec<&str> = splitter.split(text).map(|range| &text[range]).collect();
    /// let expected = ["Tea boils (Fig. 3). [1, 2]", "It is hot. (Roe, 2001).", "Cups break."];
    /// assert_eq!(sentences, expected);
    /// ```
    #[must_use]
    pub fn scientific(language: Language) -> Self {
        let splitter = Self::new(language).with_abbreviations(SCIENTIFIC_ABBREVIATIONS);
        Self {
            joins_citations: true,
            ..splitter
        }
    }

    /// Adds the abbreviations of a language, such as `German`, to a splitter of
    /// [scientific](SentenceSplitter::scientific) text. Without effect on others, and for languages
    /// without abbreviations here.
    ///
    /// ```
    /// use ir_data::sentences::{Language, SentenceSplitter};
    /// let text = "Der Tee ist heiß, vgl. Abb. 3 auf S. 5. Er kühlt z. B. Abends ab.";
    /// let splitter = SentenceSplitter::scientific(Language::English).with_language("German");
    /// assert_eq!(splitter.split(text).count(), 2);
    /// ```
    #[must_use]
    pub fn with_language(self, name: &str) -> Self {
        if self.joins_citations {
            self.with_abbreviations(languages::abbreviations(name).iter().copied())
        } else {
            self
        }
    }

    /// Adds abbreviations, without their period, that end no sentence. Case-sensitive. With ` #`
    /// after it, an abbreviation ends no sentence only before a number or a single letter, also in
    /// parentheses. [`Language::English`] only.
    ///
    /// ```
    /// use ir_data::sentences::{Language, SCIENTIFIC_ABBREVIATIONS, SentenceSplitter};
    /// let text = "Smith et al. [12] agree (Fig. 3).";
    /// let splitter = SentenceSplitter::new(Language::English);
    /// assert_eq!(splitter.split(text).count(), 3);
    /// let splitter = splitter.with_abbreviations(SCIENTIFIC_ABBREVIATIONS);
    /// assert_eq!(splitter.split(text).count(), 1);
    /// ```
    #[must_use]
    pub fn with_abbreviations<S: Into<String>>(
        mut self,
        abbreviations: impl IntoIterator<Item = S>,
    ) -> Self {
        self.abbreviations
            .extend(abbreviations.into_iter().map(Into::into));
        self
    }

    /// Language of the rules.
    #[must_use]
    pub fn language(&self) -> Language {
        self.language
    }

    /// Byte ranges of the sentences, in order.
    pub fn split(&self, text: &str) -> impl Iterator<Item = Range<usize>> + use<> {
        let cuts = match self.language {
            Language::English if caseless::is_caseless(text) => {
                caseless::cuts(text, &self.abbreviations)
            }
            Language::English => english::cuts(text, &self.abbreviations),
            Language::Chinese => chinese::cuts(text),
        };
        let pieces = trimmed_pieces(text, &cuts);
        if self.joins_citations {
            citations::joined(text, pieces).into_iter()
        } else {
            pieces.into_iter()
        }
    }
}

/// Returns `true` if more than a quarter of the letters of a text are in a script without upper
/// case, such as Chinese, Japanese, Korean, Arabic or Hindi.
#[must_use]
pub fn is_caseless(text: &str) -> bool {
    caseless::is_caseless(text)
}

/// Pieces between ascending cuts, without surrounding white space and without empty ones.
fn trimmed_pieces(text: &str, cuts: &[usize]) -> Vec<Range<usize>> {
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    let mut start = 0;
    for &end in cuts.iter().chain([&text.len()]) {
        let piece = &text[start..end];
        let trimmed = piece.trim_start();
        let first = end - trimmed.len();
        let length = trimmed.trim_end().len();
        if length > 0 {
            pieces.push(first..first + length);
        }
        start = end;
    }
    pieces
}
