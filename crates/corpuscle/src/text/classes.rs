//! What a character means to the tokenizers, looked up in pages that are filled when first needed.

use std::sync::OnceLock;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The part a character plays in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Separates words.
    Other,
    /// A letter of a script that puts spaces between words.
    Letter,
    /// A number or `_`.
    Number,
    /// A combining mark.
    Mark,
    /// Zero-width joiner or non-joiner.
    Joiner,
    /// The apostrophe.
    Apostrophe,
    /// A letter of a script that writes without spaces between words: Chinese characters, kana and their kin (their numbers too),
    /// Thai, Lao, Khmer and Burmese.
    Unspaced,
}

type Page = Box<[Class; 256]>;

/// One page for each 256 characters. Looking a category up is a binary search, far too slow for each character of a
/// text; the whole table would be 1.1 million searches, so only the pages in use are made.
static PAGES: [OnceLock<Page>; 0x1100] = [const { OnceLock::new() }; 0x1100];

/// The class of a character.
#[inline]
pub(super) fn class(c: char) -> Class {
    let code = c as usize;
    let page = PAGES[code >> 8].get_or_init(|| fill(code & !0xFF));
    page[code & 0xFF]
}

fn fill(first: usize) -> Page {
    let mut page = Box::new([Class::Other; 256]);
    for (slot, code) in page.iter_mut().zip(first as u32..) {
        *slot = char::from_u32(code).map_or(Class::Other, work_out);
    }
    page
}

fn work_out(c: char) -> Class {
    match c {
        '_' => return Class::Number,
        '\'' => return Class::Apostrophe,
        '\u{200C}' | '\u{200D}' => return Class::Joiner,
        _ => {}
    }
    match c.general_category_group() {
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number if is_unspaced(c) => Class::Unspaced,
        GeneralCategoryGroup::Letter if is_south_east_asian(c) => Class::Unspaced,
        GeneralCategoryGroup::Letter => Class::Letter,
        GeneralCategoryGroup::Number => Class::Number,
        GeneralCategoryGroup::Mark => Class::Mark,
        _ => Class::Other,
    }
}

/// Han, Hiragana, Katakana, Bopomofo, Yi, Tangut, Khitan and Nüshu, by their blocks. Hangul has spaces.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3031}'..='\u{3035}' | '\u{3038}'..='\u{303C}'
        | '\u{3041}'..='\u{30FF}' | '\u{3105}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{A4CF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9F}'
        | '\u{16FE0}'..='\u{18DFF}' | '\u{1AFF0}'..='\u{1B2FF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Thai, Lao, Burmese and Khmer, by their blocks. Their digits are numbers as everywhere.
fn is_south_east_asian(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{A9E0}'..='\u{A9FF}'
        | '\u{AA60}'..='\u{AA7F}')
}

/// Whether the letter after this mark stands below the one before it and so belongs to it: the Khmer coeng, the Burmese virama.
pub(super) fn stacks(c: char) -> bool {
    matches!(c, '\u{17D2}' | '\u{1039}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_have_their_classes() {
        for (c, expected) in [
            ('a', Class::Letter),
            ('é', Class::Letter),
            ('한', Class::Letter),
            ('٣', Class::Number),
            ('½', Class::Number),
            ('_', Class::Number),
            ('\u{301}', Class::Mark),
            ('漢', Class::Unspaced),
            ('カ', Class::Unspaced),
            ('ー', Class::Unspaced),
            ('ก', Class::Unspaced),
            ('ລ', Class::Unspaced),
            ('မ', Class::Unspaced),
            ('ខ', Class::Unspaced),
            ('๓', Class::Number),
            ('\u{0E31}', Class::Mark),
            ('\u{17D2}', Class::Mark),
            ('、', Class::Other),
            ('😀', Class::Other),
            ('\u{10FFFF}', Class::Other),
        ] {
            assert_eq!(class(c), expected, "{c:?}");
        }
    }
}
