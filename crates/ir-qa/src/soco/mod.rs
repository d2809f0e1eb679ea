//! Records of SOCO's interface: documents (`soco_doc`), questions with answers (`soco_faq`), and
//! frames.
//!
//! A record is an object with `doc_type`, `data` and `meta`. A file has one record after the other,
//! or an array of them.
//!
//! ```
//! use ir_qa::soco::{SocoContent, SocoReader};
//! let file = r#"
//! {"doc_type": "soco_doc", "meta": {"doc_id": "d1"},
//!  "data": [{"text": "On tea", "type": "title"}]}
//! {"doc_type": "soco_faq",
//!  "data": [{"answer": {"value": "A drink."}, "questions": ["What is tea?"]}]}"#;
//! let mut reader = SocoReader::new(file.as_bytes(), "tea.jsonl");
//! let Some(first) = reader.next().transpose()? else { panic!("a record") };
//! assert_eq!(first.meta.text("doc_id"), Some("d1"));
//! let Some(second) = reader.next().transpose()? else { panic!("a record") };
//! let SocoContent::Faq(entries) = second.content else { panic!("a FAQ") };
//! assert_eq!(entries[0].questions[0].text, "What is tea?");
//! assert!(reader.next().is_none());
//! # Ok::<(), ir_qa::soco::SocoError>(())
//! ```

mod read;
mod record;

pub use read::{SocoError, SocoReader};
pub use record::{FaqEntry, SocoContent, SocoDocument, SocoFrame, write_frames, write_records};
