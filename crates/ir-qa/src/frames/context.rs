//! Contexts of the pieces of a document.

use std::collections::VecDeque;

use crate::frame::ChunkKind;
use ir_core::character_count;

/// Sentence, title or heading that becomes a frame.
pub(super) struct Piece {
    /// Number of the chunk.
    pub(super) chunk: usize,
    /// Number of the sentence in the chunk.
    pub(super) sentence: usize,
    pub(super) kind: ChunkKind,
    pub(super) text: String,
    /// Number of characters, at least 1.
    pub(super) length: usize,
}

/// Contexts of consecutive pieces, in time proportional to their lengths.
pub(super) struct Contexts<'a> {
    pieces: &'a [Piece],
    budget: usize,
    title: Option<&'a str>,
    section: Option<&'a str>,
    /// Numbers of the distinct sentences since the last title or heading, the latest first. The
    /// budget covers at most `budget` of them, since each has a character.
    recent: VecDeque<usize>,
}

impl<'a> Contexts<'a> {
    pub(super) fn new(pieces: &'a [Piece], budget: usize) -> Self {
        Self {
            pieces,
            budget,
            title: None,
            section: None,
            recent: VecDeque::new(),
        }
    }

    /// Context of a piece, and the offset of its text in characters. To be called for every piece,
    /// in order.
    pub(super) fn next(&mut self, at: usize) -> (String, usize) {
        let pieces = self.pieces;
        let piece = &pieces[at];
        let answer = piece.text.as_str();
        match piece.kind {
            ChunkKind::Title => self.title = Some(answer),
            ChunkKind::Section => self.section = Some(answer),
            ChunkKind::Content | ChunkKind::Row | ChunkKind::Formula => {}
        }
        let mut before = Vec::new();
        if piece.kind == ChunkKind::Content {
            let recent = self.recent.iter().map(|&earlier| &pieces[earlier]);
            before.extend(within_budget(recent, self.budget));
        }
        let heads = [self.section, self.title].into_iter().flatten();
        before.extend(heads.filter(|&head| head != answer));
        before.reverse();

        // The next piece that is no row may be far.
        let after = if piece.kind == ChunkKind::Row {
            &[]
        } else {
            &pieces[at + 1..]
        };
        let after = after.iter();
        let after = after.take_while(|later| later.kind != ChunkKind::Title);
        let after = after.filter(|later| later.kind != ChunkKind::Row);
        let after = within_budget(after, self.budget);

        let mut context = before.join(" ");
        if !before.is_empty() {
            context.push(' ');
        }
        let start = character_count(&context);
        context.push_str(answer);
        for text in after {
            context.push(' ');
            context.push_str(text);
        }
        self.remember(at);
        (context, start)
    }

    fn remember(&mut self, at: usize) {
        if self.pieces[at].kind.is_heading() {
            self.recent.clear();
        }
        if self.pieces[at].kind != ChunkKind::Content {
            return;
        }
        let text = &self.pieces[at].text;
        self.recent
            .retain(|&earlier| &self.pieces[earlier].text != text);
        self.recent.push_front(at);
        self.recent.truncate(self.budget);
    }
}

/// Texts until the budget is used up; the last one may exceed it.
fn within_budget<'a>(
    pieces: impl Iterator<Item = &'a Piece>,
    budget: usize,
) -> impl Iterator<Item = &'a str> {
    let mut left = budget;
    pieces
        .take_while(move |piece| {
            let has_room = left > 0;
            left = left.saturating_sub(piece.length);
            has_room
        })
        .map(|piece| piece.text.as_str())
}
