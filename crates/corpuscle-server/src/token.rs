//! The token of one start: made of 192 random bits, compared without telling how much of it was right.

use crate::{Error, Result};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A new one, 32 characters that need no escaping in an address.
pub(crate) fn fresh() -> Result<String> {
    let mut bits = [0u8; 32];
    getrandom::fill(&mut bits).map_err(|e| Error::System {
        what: "no randomness for a token",
        cause: std::io::Error::other(e.to_string()),
    })?;
    Ok(bits.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 64)])).collect())
}

/// Whether a given token can stand in an address and a header as it is.
pub(crate) fn check(token: &str) -> Result<()> {
    match !token.is_empty()
        && token.len() <= 256
        && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
    {
        true => Ok(()),
        false => Err(Error::Wrong("a token is 1 to 256 letters, digits, or any of - _ . ~".into())),
    }
}

/// Whether they are equal, in a time that depends on the length of the offered one only.
pub(crate) fn same(expected: &str, offered: &str) -> bool {
    let (expected, offered) = (expected.as_bytes(), offered.as_bytes());
    let at = |place: usize| expected.get(place % expected.len().max(1)).copied().unwrap_or_default();
    let differs = offered.iter().enumerate().fold(0u8, |differs, (place, byte)| differs | (byte ^ at(place)));
    differs == 0 && expected.len() == offered.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_differ_and_compare() {
        let (one, other) = (fresh().unwrap(), fresh().unwrap());
        assert!(one.len() == 32 && check(&one).is_ok() && same(&one, &one) && !same(&one, &other));
        assert!(!same(&one, &one[..31]) && !same(&one, "") && !same("ab", "abab") && !same("", "a"));
        for bad in ["", "a b", "a&b", "é", &"x".repeat(257)] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
