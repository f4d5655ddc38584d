//! A mutator of a page: inputs that are nearly right, the same for the same seed.

/// What formats stumble over.
const PIECES: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\t",
    b"\"",
    b"\\",
    b",",
    b"|",
    b"(",
    b")",
    b"[",
    b"]",
    b"{",
    b"}",
    b"<",
    b">",
    b"&#x110000;",
    b"&lt",
    b"\xff",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\xf4\x8f\xbf\xbf",
    b"\xc3",
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b"inf",
    b"4294967296",
    b"18446744073709551615",
    b"-9223372036854775808",
    b"null",
    b"true",
    b"\"text\":",
    b"\"label\":[",
    b"__label__",
    b"</REUTERS>",
    b"<REUTERS",
    b"PAR1",
    b"\x1f\x8b\x08",
    b"\x28\xb5\x2f\xfd",
    b"PK\x03\x04",
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b" * 0",
    b" + ",
    b"; ",
    b"..",
    b" log",
    b"=",
];

/// Numbers by xorshift64*, inputs by changing seeds.
pub(crate) struct Mutator {
    state: u64,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        Mutator { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1 }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit.max(1)
    }

    /// One of the seeds with one to eight changes.
    pub(crate) fn input(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..1 + self.below(8) {
            self.change(&mut bytes, seeds);
        }
        bytes.truncate(1 << 16);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, seeds: &[Vec<u8>]) {
        // Half of the changes are near the beginning, where headers are.
        let reach = if self.below(2) == 0 { bytes.len().min(600) } else { bytes.len() };
        let at = self.below(reach + 1);
        let end = (at + 1 + self.below(32)).min(bytes.len());
        match self.below(9) {
            0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            1 if at < bytes.len() => bytes[at] = self.next() as u8,
            2 => drop(bytes.drain(at..end.max(at))),
            3 => {
                let piece = PIECES[self.below(PIECES.len())];
                drop(bytes.splice(at..at, piece.iter().copied()));
            }
            4 => {
                let piece = PIECES[self.below(PIECES.len())];
                let end = (at + piece.len()).min(bytes.len());
                drop(bytes.splice(at..end.max(at), piece.iter().copied()));
            }
            5 => {
                let copy = bytes[at..end.max(at)].repeat(1 + self.below(40));
                drop(bytes.splice(at..at, copy));
            }
            6 => {
                // The beginning of one seed, the end of another.
                let other = &seeds[self.below(seeds.len())];
                let from = self.below(other.len() + 1);
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            7 => {
                let digits = bytes.iter().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(place, _)| place);
                let digits: Vec<usize> = digits.take(2000).collect();
                if let Some(&place) = digits.get(self.below(digits.len())) {
                    bytes[place] = b'0' + self.below(10) as u8;
                }
            }
            _ => bytes.truncate(at),
        }
    }
}
