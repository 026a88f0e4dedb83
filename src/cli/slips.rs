//! Words that are nearly the right ones.

/// Which of the known words was meant by one that is none of them: the only one that begins like it,
/// or one that it is a single slip away from. Case does not matter.
pub(super) fn meant<'a>(word: &str, known: &'a [impl AsRef<str>]) -> Option<&'a str> {
    let word: Vec<char> = word.to_lowercase().chars().collect();
    // Of what is shorter too much is near.
    if word.len() < 3 {
        return None;
    }
    let known = || known.iter().map(AsRef::as_ref);
    let spelled = |known: &str| known.to_lowercase().chars().collect::<Vec<char>>();
    let mut longer = known().filter(|known| spelled(known).starts_with(&word));
    match (longer.next(), longer.next()) {
        (Some(only), None) => Some(only),
        _ => known().find(|known| is_a_slip(&word, &spelled(known))),
    }
}

/// Whether one letter is missing, too many or another one, or two have changed places.
fn is_a_slip(a: &[char], b: &[char]) -> bool {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match (a, b) {
        ([], []) => true,
        ([_, a @ ..], []) => a.is_empty(),
        ([], [_, b @ ..]) => b.is_empty(),
        ([first, rest @ ..], [other, behind @ ..]) => {
            rest == b
                || a == behind
                || rest == behind
                || matches!((rest, behind), ([second, rest @ ..], [another, behind @ ..])
                    if first == another && second == other && rest == behind)
        }
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
