//! Lists of stop words, and of function words of questions.

/// English words that say what kind of answer a question asks for, or how its words belong
/// together: interrogatives, auxiliaries, pronouns, determiners, prepositions. They say nothing
/// about the topic. Negations, words of time and place such as "before" and "between", and "may",
/// which is a month, too, are not among them.
#[rustfmt::skip]
pub const ENGLISH_FUNCTION_WORDS: [&str; 95] = [
    "what", "which", "who", "whom", "whose", "when", "where", "why", "how", "many", "much",
    "am", "is", "are", "was", "were", "be", "been", "being", "do", "does", "did", "doing", "done",
    "have", "has", "had", "having", "can", "could", "will", "would", "shall", "should",
    "might", "must",
    "a", "an", "the", "this", "that", "these", "those", "some", "any", "there",
    "i", "me", "my", "you", "your", "we", "us", "our", "he", "him", "his", "she", "her", "it",
    "its", "they", "them", "their",
    "of", "in", "on", "at", "by", "for", "with", "to", "from", "as", "into", "about",
    "and", "or", "if", "than", "then", "so",
    "what's", "who's", "where's", "when's", "how's", "that's", "it's", "there's", "i'm", "i've",
    "we're", "you're", "they're",
];

/// English stop words of NLTK in its order: 179 words, before the 2024 release added contractions.
/// Used by the DataFinder experiments.
#[rustfmt::skip]
pub const NLTK: [&str; 179] = [
    "i", "me", "my", "myself", "we", "our", "ours", "ourselves", "you", "you're", "you've",
    "you'll", "you'd", "your", "yours", "yourself", "yourselves", "he", "him", "his", "himself",
    "she", "she's", "her", "hers", "herself", "it", "it's", "its", "itself", "they", "them",
    "their", "theirs", "themselves", "what", "which", "who", "whom", "this", "that", "that'll",
    "these", "those", "am", "is", "are", "was", "were", "be", "been", "being", "have", "has",
    "had", "having", "do", "does", "did", "doing", "a", "an", "the", "and", "but", "if", "or",
    "because", "as", "until", "while", "of", "at", "by", "for", "with", "about", "against",
    "between", "into", "through", "during", "before", "after", "above", "below", "to", "from",
    "up", "down", "in", "out", "on", "off", "over", "under", "again", "further", "then", "once",
    "here", "there", "when", "where", "why", "how", "all", "any", "both", "each", "few", "more",
    "most", "other", "some", "such", "no", "nor", "not", "only", "own", "same", "so", "than",
    "too", "very", "s", "t", "can", "will", "just", "don", "don't", "should", "should've",
    "now", "d", "ll", "m", "o", "re", "ve", "y", "ain", "aren", "aren't", "couldn", "couldn't",
    "didn", "didn't", "doesn", "doesn't", "hadn", "hadn't", "hasn", "hasn't", "haven",
    "haven't", "isn", "isn't", "ma", "mightn", "mightn't", "mustn", "mustn't", "needn",
    "needn't", "shan", "shan't", "shouldn", "shouldn't", "wasn", "wasn't", "weren", "weren't",
    "won", "won't", "wouldn", "wouldn't",
];
