//! Foreign text made safe and short enough to be put into a page.

use std::borrow::Cow;

/// The text with everything that HTML or XML would take for markup replaced, in elements and in quoted attributes.
/// Characters that XML does not allow (control codes of damaged mails, say) become U+FFFD.
///
/// ```
/// assert_eq!(corpuscle::report::escape("a <b> & \"c\""), "a &lt;b&gt; &amp; &quot;c&quot;");
/// ```
pub fn escape(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| replacement(c).is_none()) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match replacement(c) {
            Some(other) => safe.push_str(other),
            None => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

fn replacement(c: char) -> Option<&'static str> {
    match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' | '\n' | '\r' => None,
        '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
        _ => None,
    }
}

/// A name of at most `most` characters (at least 3): a longer one keeps its beginning and its end, which tell names
/// such as `comp.sys.ibm.pc.hardware` and `comp.sys.mac.hardware` apart better than the beginning alone.
pub fn shorten(name: &str, most: usize) -> Cow<'_, str> {
    let length = name.chars().count();
    let most = most.max(3);
    if length <= most {
        return Cow::Borrowed(name);
    }
    let tail = (most - 1) / 3;
    let head = most - 1 - tail;
    Cow::Owned(name.chars().take(head).chain(['…']).chain(name.chars().skip(length - tail)).collect())
}

/// The beginning of a text on one line: white space runs become one blank, and a cut falls between words.
pub fn snippet(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if length + size + 1 > most {
            if line.is_empty() {
                line.extend(word.chars().take(most));
            }
            line.push_str(" …");
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        length += size + 1;
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_and_control_codes_are_taken_apart() {
        assert_eq!(escape("<script>alert('x')</script>"), "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
        assert_eq!(escape("bell\u{7} and\nline"), "bell\u{fffd} and\nline");
        assert!(matches!(escape("plain text, 文字"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("short", 8), "short");
        assert_eq!(shorten("comp.sys.ibm.pc.hardware", 13), "comp.sys…ware");
        assert_eq!(shorten("ééééééééé", 0).chars().count(), 3);
    }

    #[test]
    fn snippets_end_between_words() {
        assert_eq!(snippet("one  two\n three four", 15), "one two three …");
        assert_eq!(snippet("one two", 15), "one two");
        assert_eq!(snippet("abcdefghij", 4), "abcd …");
        assert_eq!(snippet("", 4), "");
    }
}
