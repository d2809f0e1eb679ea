//! kNN classification, its accuracy over stratified folds, and classes from keywords.

mod classes;
mod keyword_classes;
mod knn;

pub use classes::{Classes, SmallClass, StratifiedFolds, StratifiedFoldsError};
pub use keyword_classes::{IclrVersion, KeywordClasses, KeywordTableError};
pub use knn::{KnnAccuracy, KnnClassifier, KnnError};
