//! Stemmers of English and of the languages of Snowball.

mod porter;

use serde::{Deserialize, Serialize};
use snowball_stemmers_rs::Algorithm;
use std::borrow::Cow;
use std::fmt;

/// Declares [`Stemmer`] with its stemmers of Snowball.
macro_rules! stemmers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal;)*) => {
        /// Stemming algorithm. All algorithms expect lowercase words.
        ///
        /// The stemmers of languages are the algorithms of Snowball 3.0; Lucene's `SnowballFilter`
        /// has an older revision. A later revision of an algorithm would be another variant, so
        /// that saved indexes keep their terms.
        ///
        /// None of them makes Lucene's analyzer of the language: the analyzers of French, German,
        /// Italian, Portuguese and Spanish have light stemmers, the analyzers of Arabic, Greek,
        /// Hindi, Indonesian and Polish stemmers of their own, and French, Italian, Catalan and
        /// Irish elisions are removed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum Stemmer {
            /// No stemming: tokens are unchanged.
            None,
            /// Porter stemmer of Lucene, and so of Anserini, Elasticsearch and Solr: the author's
            /// revised implementation, which keeps words of one or two letters and changes two of
            /// the published rules.
            #[default]
            Porter,
            /// Porter stemmer as published in 1980. Snowball's `porter` differs only in double
            /// consonants that are rare in English (`trekking` is `trek` here, `trekk` in
            /// Snowball).
            Porter1980,
            $($(#[$doc])* $variant,)*
        }

        impl Stemmer {
            /// All stemmers, with their names in saved indexes.
            pub const NAMED: &[(&str, Self)] = &[
                ("none", Self::None),
                ("porter", Self::Porter),
                ("porter1980", Self::Porter1980),
                $(($name, Self::$variant),)*
            ];

            /// The algorithm of Snowball.
            fn snowball(self) -> Option<Algorithm> {
                match self {
                    Self::None | Self::Porter | Self::Porter1980 => None,
                    $(Self::$variant => Some(Algorithm::$variant),)*
                }
            }
        }
    };
}

stemmers! {
    /// Snowball's `arabic`.
    Arabic = "arabic";
    /// Snowball's `armenian`.
    Armenian = "armenian";
    /// Snowball's `basque`.
    Basque = "basque";
    /// Snowball's `catalan`.
    Catalan = "catalan";
    /// Snowball's `danish`.
    Danish = "danish";
    /// Snowball's `dutch`: Kraaij and Pohlmann's algorithm since 3.0.
    Dutch = "dutch";
    /// Snowball's `english` (Porter2).
    English = "english";
    /// Snowball's `esperanto`.
    Esperanto = "esperanto";
    /// Snowball's `estonian`.
    Estonian = "estonian";
    /// Snowball's `finnish`.
    Finnish = "finnish";
    /// Snowball's `french`.
    French = "french";
    /// Snowball's `german`.
    German = "german";
    /// Snowball's `greek`.
    Greek = "greek";
    /// Snowball's `hindi`.
    Hindi = "hindi";
    /// Snowball's `hungarian`.
    Hungarian = "hungarian";
    /// Snowball's `indonesian`.
    Indonesian = "indonesian";
    /// Snowball's `irish`.
    Irish = "irish";
    /// Snowball's `italian`.
    Italian = "italian";
    /// Snowball's `lithuanian`.
    Lithuanian = "lithuanian";
    /// Snowball's `nepali`.
    Nepali = "nepali";
    /// Snowball's `norwegian`.
    Norwegian = "norwegian";
    /// Snowball's `polish`.
    Polish = "polish";
    /// Snowball's `portuguese`.
    Portuguese = "portuguese";
    /// Snowball's `romanian`.
    Romanian = "romanian";
    /// Snowball's `russian`.
    Russian = "russian";
    /// Snowball's `serbian`.
    Serbian = "serbian";
    /// Snowball's `spanish`.
    Spanish = "spanish";
    /// Snowball's `swedish`.
    Swedish = "swedish";
    /// Snowball's `tamil`.
    Tamil = "tamil";
    /// Snowball's `turkish`.
    Turkish = "turkish";
    /// Snowball's `yiddish`.
    Yiddish = "yiddish";
}

impl Stemmer {
    /// Stems a lowercase word.
    ///
    /// ```
    /// use ir_bm25::analysis::Stemmer;
    /// assert_eq!(Stemmer::Porter.stem("generalizations"), "gener");
    /// assert_eq!(Stemmer::English.stem("generalizations"), "general");
    /// assert_eq!(Stemmer::French.stem("généralisations"), "généralis");
    /// ```
    pub fn stem(self, word: &str) -> String {
        let mut term = word.to_owned();
        Stem::new(self).apply(&mut term);
        term
    }
}

/// The name in saved indexes.
impl fmt::Display for Stemmer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().find(|(_, stemmer)| stemmer == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

/// A stemmer with its buffers.
pub(super) struct Stem {
    stemmer: Stemmer,
    snowball: Option<snowball_stemmers_rs::Stemmer>,
    units: Vec<u16>,
}

impl Stem {
    pub(super) fn new(stemmer: Stemmer) -> Self {
        Self {
            stemmer,
            snowball: stemmer
                .snowball()
                .map(snowball_stemmers_rs::Stemmer::create),
            units: Vec::new(),
        }
    }

    /// Stems in place. The stem of `s` by the published Porter rules is empty.
    pub(super) fn apply(&mut self, word: &mut String) {
        match self.stemmer {
            Stemmer::None => {}
            Stemmer::Porter => porter::stem(word, &mut self.units, porter::PorterRules::Revised),
            Stemmer::Porter1980 => {
                porter::stem(word, &mut self.units, porter::PorterRules::Published)
            }
            _ => {
                if let Some(snowball) = &self.snowball
                    && let Cow::Owned(stem) = snowball.stem(word)
                {
                    *word = stem;
                }
            }
        }
    }
}
