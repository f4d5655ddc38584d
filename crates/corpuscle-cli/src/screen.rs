//! The terminal: how wide it is, and whether it shows colours. Colour only ever repeats what a word says already.

use std::io::{self, IsTerminal};

use terminal_size::{Width, terminal_size_of};

/// The columns of standard output; `None` when it is no terminal, where nothing needs to fit.
pub(crate) fn width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size_of(io::stdout()).map(|(Width(columns), _)| usize::from(columns)).filter(|&columns| columns > 0)
}

/// The columns of standard error, where progress is shown.
pub(crate) fn progress_width() -> Option<usize> {
    if !io::stderr().is_terminal() {
        return None;
    }
    terminal_size_of(io::stderr()).map(|(Width(columns), _)| usize::from(columns)).filter(|&columns| columns > 0)
}

/// Whether messages may be coloured: on a terminal that can, unless `NO_COLOR` is set (no-color.org).
pub(crate) fn has_colours() -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    io::stderr().is_terminal() && !refused && !dumb
}

/// Colours of messages.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Colour {
    Red = 31,
    Yellow = 33,
}

/// A word of a message in colour, where that may be.
pub(crate) fn painted(word: &str, colour: Colour) -> String {
    if has_colours() { format!("\x1b[1;{}m{word}\x1b[0m", colour as u8) } else { word.to_string() }
}

/// A text of at most `width` characters: its middle gives way to `…`.
pub(crate) fn cut(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width {
        return text.to_string();
    }
    let kept = width.saturating_sub(1);
    // The end of a recipe says more than its middle.
    let (front, back) = (kept - kept / 2, kept / 2);
    let head: String = text.chars().take(front).collect();
    let tail: String = text.chars().skip(length - back).collect();
    format!("{head}…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_lose_their_middle() {
        assert_eq!(cut("tfidf | svm", 11), "tfidf | svm");
        assert_eq!(cut("words | tfidf | svm", 11), "words…| svm");
        assert_eq!(cut("ä|ö|ü|ß", 4), "ä|…ß");
        assert_eq!(cut("abc", 1), "…");
        assert_eq!(cut("abc", 0), "…");
    }
}
