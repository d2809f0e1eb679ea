//! Readers: the span of a context that answers a question.
//!
//! A [`Reader`] gets pairs of a question and a context, and returns spans of the context with
//! scores. [`LexicalReader`] needs no model; `ir_dense::ExtractiveReader` is a transformer with a
//! span head. [`exact_match`] and [`token_f1`] are the measures of SQuAD.
//!
//! ```
//! use ir_qa::reader::{LexicalReader, Reader, ReaderInput};
//! let context = "The bridge was built in 1890. It is made of steel.";
//! let input = ReaderInput::new("When was the bridge built?", context);
//! let spans = LexicalReader::default().read(&[input], 1)?;
//! assert_eq!(spans[0][0].text(context), "1890");
//! assert_eq!(spans[0][0].characters, 24..28);
//! # Ok::<(), ir_qa::reader::ReaderError>(())
//! ```
//!
//! Measured on the 10,570 questions of SQuAD's development set (`IR_DATA=... cargo test -p ir-qa
//! --test integration -- --nocapture reader::squad` prints them), in percent:
//!
//! | reader | context | exact match | F1 |
//! |---|---|---|---|
//! | `LexicalReader` | paragraph | 20.8 | 30.4 |
//! | `LexicalReader` | sentence with the answer | 24.9 | 38.0 |

mod lexical;
mod measures;

pub use ir_core::{AnswerSpan, Reader, ReaderError, ReaderInput};
pub use lexical::LexicalReader;
pub use measures::{exact_match, normalized_answer, token_f1};
