//! Finds the words of one text.
//!
//! The text is copied once into a buffer, in lower case and normal form, and words are slices of that buffer. It ends
//! in at least 16 NULs, so that a word's first 16 bytes can be read without looking at its length; no word holds a NUL.
//!
//! ASCII text is read 64 bytes at a time: a bit for each byte says whether it belongs to a word, and words are found by
//! counting zeros. A loop over bytes mispredicts at nearly every end of a word, which made it six times slower.

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::classes::{Class, class, stacks};
use super::{Strip, Tokenizer, WordsParams};

/// How many NULs follow the text in the buffer, at least.
pub(super) const PADDING: usize = 16;

/// Finds words; holds the buffer, so each worker has its own.
pub(super) struct Scanner {
    tokenizer: Tokenizer,
    lowercase: bool,
    strip: Strip,
    buffer: String,
}

/// Bytes looked at together.
const BLOCK: usize = 64;

impl Scanner {
    pub(super) fn new(params: &WordsParams) -> Self {
        Scanner { tokenizer: params.tokenizer, lowercase: params.lowercase, strip: params.strip, buffer: String::new() }
    }

    /// Calls `emit(buffer, start, end)` for every word.
    pub(super) fn scan(&mut self, text: &str, mut emit: impl FnMut(&str, usize, usize)) {
        let text = self.strip.apply(text);
        // Letters beyond ASCII only separate, so that tokenizer never needs to know them.
        if text.is_ascii() || self.tokenizer == Tokenizer::Letters {
            self.buffer.clear();
            self.buffer.push_str(&text);
            if self.lowercase {
                self.buffer.make_ascii_lowercase();
            }
            self.pad();
            match self.tokenizer {
                Tokenizer::Unicode => scan_ascii::<true, true>(&self.buffer, 1, emit),
                Tokenizer::Sklearn => scan_ascii::<true, false>(&self.buffer, 2, emit),
                Tokenizer::Letters => scan_ascii::<false, false>(&self.buffer, 1, emit),
            }
            return;
        }
        match self.tokenizer {
            Tokenizer::Sklearn => {
                self.buffer = if self.lowercase { text.to_lowercase() } else { text.into_owned() };
                self.pad();
                scan_sklearn(&self.buffer, &mut emit);
            }
            _ => {
                self.normalise(&text);
                self.pad();
                scan_unicode(&self.buffer, &mut emit);
            }
        }
    }

    /// NFKC, lower case, straight apostrophes, no soft hyphens.
    fn normalise(&mut self, text: &str) {
        self.buffer.clear();
        match is_nfkc_quick(text.chars()) {
            IsNormalized::Yes => self.buffer.push_str(text),
            _ => self.buffer.extend(text.nfkc()),
        }
        if self.lowercase {
            self.buffer = self.buffer.to_lowercase();
        }
        if self.buffer.contains(['\u{2019}', '\u{AD}']) {
            let clean = self.buffer.chars().filter(|&c| c != '\u{AD}');
            self.buffer = clean.map(|c| if c == '\u{2019}' { '\'' } else { c }).collect();
        }
    }

    fn pad(&mut self) {
        let length = (self.buffer.len() + PADDING).next_multiple_of(BLOCK);
        self.buffer.extend(std::iter::repeat_n('\0', length - self.buffer.len()));
    }
}

/// Runs of ASCII letters (with `NUMBERS` also digits and `_`, with `APOSTROPHES` also those between letters) at least
/// `min` long. The buffer is whole blocks long and ends in NUL.
fn scan_ascii<const NUMBERS: bool, const APOSTROPHES: bool>(
    buffer: &str,
    min: usize,
    mut emit: impl FnMut(&str, usize, usize),
) {
    let bytes = buffer.as_bytes();
    let is_letter = |byte: u8| (byte | 0x20).wrapping_sub(b'a') < 26;
    let is_number = |byte: u8| byte.wrapping_sub(b'0') < 10 || byte == b'_';
    // Whether a word is under way, and where it began; whether the block before ended in a letter.
    let (mut open, mut start, mut after_letter) = (false, 0, false);
    for (number, block) in bytes.as_chunks::<BLOCK>().0.iter().enumerate() {
        let base = number * BLOCK;
        let mut words = bits(block, |byte| is_letter(byte) | (NUMBERS & is_number(byte)));
        if APOSTROPHES {
            let letters = bits(block, is_letter);
            let before_letter = bytes.get(base + BLOCK).is_some_and(|&byte| is_letter(byte));
            let between = (letters << 1 | u64::from(after_letter)) & (letters >> 1 | u64::from(before_letter) << 63);
            words |= bits(block, |byte| byte == b'\'') & between;
            after_letter = letters >> 63 != 0;
        }
        let shifted = words << 1 | u64::from(open);
        let (mut starts, mut ends) = (words & !shifted, !words & shifted);
        while ends != 0 {
            if !open {
                start = base + starts.trailing_zeros() as usize;
                starts &= starts - 1;
            }
            open = false;
            let end = base + ends.trailing_zeros() as usize;
            ends &= ends - 1;
            if end - start >= min {
                emit(buffer, start, end);
            }
        }
        if starts != 0 {
            open = true;
            start = base + starts.trailing_zeros() as usize;
        }
    }
}

/// One bit for each byte, the first lowest.
#[inline]
fn bits(block: &[u8; BLOCK], test: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0u8; BLOCK];
    flags.iter_mut().zip(block).for_each(|(flag, &byte)| *flag = u8::from(test(byte)));
    // Eight bytes of 0 or 1 become eight bits: the product moves byte i to bit 56 + i, and no two meet.
    let pack = |eight: &[u8; 8]| u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    flags.as_chunks::<8>().0.iter().rev().fold(0, |bits, eight| bits << 8 | pack(eight))
}

/// Runs of at least two letters, numbers or `_`.
fn scan_sklearn(buffer: &str, emit: &mut impl FnMut(&str, usize, usize)) {
    let (mut start, mut length) = (0, 0);
    for (at, c) in buffer.char_indices() {
        if matches!(class(c), Class::Letter | Class::Number | Class::Unspaced) {
            start = if length == 0 { at } else { start };
            length += 1;
        } else {
            if length >= 2 {
                emit(buffer, start, at);
            }
            length = 0;
        }
    }
}

/// Words of any script; see [`Tokenizer::Unicode`].
fn scan_unicode(buffer: &str, emit: &mut impl FnMut(&str, usize, usize)) {
    let mut characters = buffer.char_indices().map(|(at, c)| (at, at + c.len_utf8(), class(c))).peekable();
    while let Some((start, mut end, first)) = characters.next() {
        match first {
            Class::Letter | Class::Number => {
                let mut after_letter = first == Class::Letter;
                while let Some(&(_, next_end, class)) = characters.peek() {
                    match class {
                        Class::Letter | Class::Number => after_letter = class == Class::Letter,
                        Class::Mark => {}
                        // Part of the word only when more of it follows: `end` stays.
                        Class::Joiner => {
                            characters.next();
                            continue;
                        }
                        // An apostrophe is one byte, so `next_end` is where the character after it starts.
                        Class::Apostrophe if after_letter && letter_at(buffer, next_end) => {
                            characters.next();
                            continue;
                        }
                        _ => break,
                    }
                    end = next_end;
                    characters.next();
                }
                emit(buffer, start, end);
            }
            Class::Unspaced => {
                let (mut before, mut current) = (None, start);
                while let Some(&(at, next_end, class)) = characters.peek() {
                    match class {
                        Class::Unspaced if buffer[..at].ends_with(stacks) => end = next_end,
                        Class::Unspaced => {
                            if let Some(before) = before {
                                emit(buffer, before, end);
                            }
                            (before, current, end) = (Some(current), at, next_end);
                        }
                        Class::Mark => end = next_end,
                        Class::Joiner => {}
                        _ => break,
                    }
                    characters.next();
                }
                emit(buffer, before.unwrap_or(current), end);
            }
            _ => {}
        }
    }
}

fn letter_at(buffer: &str, at: usize) -> bool {
    buffer.get(at..).and_then(|rest| rest.chars().next()).is_some_and(|c| class(c) == Class::Letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(tokenizer: Tokenizer, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        let params = WordsParams { tokenizer, ..WordsParams::default() };
        Scanner::new(&params).scan(text, |buffer, start, end| words.push(buffer[start..end].to_string()));
        words
    }

    #[test]
    fn unicode_words() {
        for (text, expected) in [
            ("Don’t stop: it's O'Neil's 'quoted' rock'n'roll", "don't stop it's o'neil's quoted rock'n'roll"),
            ("1990's a''b x' 'y", "1990 s a b x y"),
            ("Ｆｕｌｌ ﬁne № ½", "full fine no 1⁄2"),
            ("cafe\u{301} CAFÉ a_b _x", "café café a_b _x"),
            ("हिन्दी भाषा", "हिन्दी भाषा"),
            ("می\u{200c}خواهم x\u{200d} \u{200d}y", "می\u{200c}خواهم x y"),
            ("東京都に行く。猫", "東京 京都 都に に行 行く 猫"),
            ("iPhone用ケース2024年", "iphone 用ケ ケー ース 2024 年"),
            ("안녕하세요 세계", "안녕하세요 세계"),
            // Thai: water, to eat; marks stay with the letter they stand above or below.
            ("น้ำ กิน", "น\u{e49}\u{e4d}า กิน"),
            ("ภาษาไทย 2567", "ภา าษ ษา าไ ไท ทย 2567"),
            // Lao: the Lao language.
            ("ພາສາລາວ", "ພາ າສ ສາ າລ ລາ າວ"),
            // Khmer: the Khmer language; a letter below another belongs to it.
            ("ភាសាខ្មែរ", "ភាសា សាខ្មែ ខ្មែរ"),
            // Burmese: the Burmese language; a school (two letters stacked).
            ("မြန်မာ", "မြန် န်မာ"),
            ("တက္ကသိုလ်", "တက္က က္ကသို သိုလ်"),
            ("\u{2764}\u{FE0F} love 👩\u{200d}💻", "love"),
            ("co\u{AD}operate ΟΔΟΣ İ", "cooperate οδος i\u{307}"),
            ("", ""),
        ] {
            // A fraction slash is a mathematical sign and splits.
            let expected: Vec<&str> = expected.split([' ', '⁄']).filter(|word| !word.is_empty()).collect();
            assert_eq!(words(Tokenizer::Unicode, text), expected, "{text}");
        }
    }

    #[test]
    fn words_of_the_other_tokenizers() {
        assert_eq!(
            words(Tokenizer::Sklearn, "A bc d_ é éa don't cafe\u{301}s x1"),
            ["bc", "d_", "éa", "don", "cafe", "x1"]
        );
        assert_eq!(words(Tokenizer::Letters, "It's naïve, x2y"), ["it", "s", "na", "ve", "x", "y"]);
    }

    proptest! {
        #[test]
        fn the_fast_path_finds_what_the_slow_path_finds(text in "[ -~\\n\\t]{0,200}|[a-c'_ 1]{0,200}") {
            for tokenizer in [Tokenizer::Unicode, Tokenizer::Sklearn] {
                let mut slow = Vec::new();
                let lower = text.to_lowercase() + "\0";
                let mut keep = |buffer: &str, start: usize, end: usize| slow.push(buffer[start..end].to_string());
                match tokenizer {
                    Tokenizer::Unicode => scan_unicode(&lower, &mut keep),
                    _ => scan_sklearn(&lower, &mut keep),
                }
                prop_assert_eq!(words(tokenizer, &text), slow);
            }
        }

        #[test]
        fn words_are_words_again(text in "\\PC{0,40}") {
            for tokenizer in [Tokenizer::Unicode, Tokenizer::Sklearn, Tokenizer::Letters] {
                for word in words(tokenizer, &text) {
                    prop_assert!(!word.is_empty() && !word.contains(['\0', ' ']));
                    if tokenizer == Tokenizer::Letters {
                        prop_assert_eq!(words(tokenizer, &word), [word]);
                    }
                }
            }
        }
    }
}
