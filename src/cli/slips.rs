//! Words that are nearly the right ones.

/// Which of the known words was meant by one that is none of them: the only one that begins like it,
/// or one that it is a single slip away from: a letter that is missing, too many or another one, or two
/// that have changed places. Case does not matter.
pub(super) fn meant<'a>(word: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let word = word.to_lowercase();
    // Of what is shorter too much is near.
    if word.chars().count() < 3 {
        return None;
    }
    let known = || known.iter().map(AsRef::as_ref);
    let mut longer = known().filter(|known| known.to_lowercase().starts_with(&word));
    match (longer.next(), longer.next()) {
        (Some(only), None) => Some(only),
        _ => known().find(|known| strsim::osa_distance(&word, &known.to_lowercase()) <= 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &[&str] = &["none", "full", "equal", "decorrelated", "TERM", "TSTP"];

    #[test]
    fn one_slip_is_forgiven() {
        for (word, right) in [
            ("ful", "full"),
            ("fulll", "full"),
            ("fall", "full"),
            ("qeual", "equal"),
            ("TREM", "TERM"),
            ("term", "TERM"),
            ("trem", "TERM"),
            ("decor", "decorrelated"),
        ] {
            assert_eq!(meant(word, WORDS), Some(right), "{word}");
        }
    }

    #[test]
    fn what_is_further_away_is_not_guessed_at() {
        for word in ["", "f", "fu", "xyz", "flul1", "decorrr", "termterm"] {
            assert_eq!(meant(word, WORDS), None, "{word}");
        }
    }
}
