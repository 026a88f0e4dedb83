//! The recognition of a response head by its lines.

use memchr::{memchr, memmem};

use super::fields::{Line, VERSION, is_number};

/// The mark of `curl -v` on lines that it received.
const CURL_MARK: &[u8] = b"< ";

/// A response head.
#[derive(Debug)]
pub(super) struct Head {
    /// The prefix of each of its lines: none, the mark of `curl -v`, or blanks.
    prefix: Vec<u8>,
    /// Its status, 0 to 999.
    pub(super) status: u16,
}

impl Head {
    /// Parses a status line, such as `HTTP/1.1 503 Service Unavailable` or `< HTTP/2 429 `.
    pub(super) fn open(line: &Line) -> Option<Self> {
        if let Some(marked) = marked(line) {
            return Self::with_prefix(CURL_MARK, marked.strip_prefix(CURL_MARK)?);
        }
        let (blanks, status) = split_blanks(line.text());
        Self::with_prefix(blanks, status).filter(|_| !line.is_cut())
    }

    /// Parses a status line after unfinished text, or one that is merely quoted: the first field
    /// will show which. Until then all blanks before it count as its prefix.
    pub(super) fn quoted(line: &Line) -> Option<Self> {
        let text = line.text();
        let mut places = memmem::rfind_iter(text, VERSION);
        places.find_map(|at| {
            let (before, status) = text.split_at(at);
            let end = before.iter().rposition(|byte| !is_blank(*byte))?;
            let (before, blanks) = before.split_at(end + 1);
            // A head after a mark of curl's would have that mark on each line.
            let is_marked = matches!(before, [before @ .., b'<' | b'>' | b'*'] if is_empty(before));
            Self::with_prefix(blanks, status).filter(|_| !is_marked)
        })
    }

    fn with_prefix(prefix: &[u8], status_line: &[u8]) -> Option<Self> {
        let mut words = status_line.split(|byte| *byte == b' ');
        let version = words.next()?.strip_prefix(VERSION)?;
        let mut numbers = version.splitn(2, |byte| *byte == b'.');
        let status = words.find(|word| !word.is_empty())?;
        let valid = numbers.all(is_number) && is_number(status) && status.len() == 3;
        valid.then(|| Self {
            prefix: prefix.to_vec(),
            status: status
                .iter()
                .fold(0, |status, digit| status * 10 + u16::from(digit - b'0')),
        })
    }

    /// Returns this head, found after other text, if the next line is a field of it; some of the
    /// blanks before it may belong to the text.
    pub(super) fn confirmed_by(self, line: &Line) -> Option<Self> {
        let (blanks, field) = split_blanks(line.text());
        let fits = !line.is_cut() && self.prefix.ends_with(blanks) && is_field(field);
        fits.then(|| Self {
            prefix: blanks.to_vec(),
            ..self
        })
    }

    /// Returns the content of a line of this head; none if the line does not belong to it.
    pub(super) fn after_prefix<'a>(&self, line: &'a Line) -> Option<&'a [u8]> {
        if self.is_marked() {
            let marked = marked(line)?;
            // The line that ends a head may lack the blank of the mark.
            return marked.strip_prefix(CURL_MARK).or(marked.get(1..));
        }
        let rest = line.text().strip_prefix(self.prefix.as_slice());
        rest.filter(|_| !line.is_cut())
    }

    /// Whether the final response is still to come.
    pub(super) fn is_interim(&self) -> bool {
        (100..200).contains(&self.status)
    }

    /// Whether it was printed by `curl -v`.
    pub(super) fn is_marked(&self) -> bool {
        self.prefix == CURL_MARK
    }

    /// Whether its lines have no prefix.
    pub(super) fn is_bare(&self) -> bool {
        self.prefix.is_empty()
    }
}

/// Returns a line marked as received by `curl -v`, from its mark on. Unfinished text may come
/// before the mark: curl's meter or bar, redrawn after each CR, or a time and numbers of transfer
/// and connection.
fn marked(line: &Line) -> Option<&[u8]> {
    let text = line.text();
    let mut begin = 0;
    loop {
        let end = memchr(b'\r', &text[begin..]).map_or(text.len(), |end| begin + end);
        if let Some(at) = memchr(b'<', &text[begin..end]) {
            let before = &text[begin..begin + at];
            // Blanks alone at the start of a line are not curl's.
            let is_unfinished = match begin {
                0 => !line.is_cut() && (before.is_empty() || is_drawn(before)),
                _ => is_blank_or_drawn(before),
            };
            if is_unfinished {
                return Some(&text[begin + at..]);
            }
        }
        begin = end + 1;
        if begin > text.len() {
            return None;
        }
    }
}

fn is_blank_or_drawn(text: &[u8]) -> bool {
    is_empty(text) || is_drawn(text)
}

/// Whether this is curl's meter or bar, or the time and numbers that it puts first.
fn is_drawn(text: &[u8]) -> bool {
    let words = text.split(|byte| is_blank(*byte));
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    words.peek().is_some() && words.all(is_drawn_word)
}

/// Whether this is a count such as `12`, `1.5M`, `0:00:02` or `--:--:--`, a piece of a bar such as
/// `###`, `-=O=-` or `20.0%`, a time of day, or numbers such as `[0-x]`.
fn is_drawn_word(word: &[u8]) -> bool {
    if let [b'[', numbers @ .., b']'] = word {
        return numbers
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
    }
    let count = match word {
        [count @ .., digit, unit] if digit.is_ascii_digit() && unit.is_ascii_alphabetic() => count,
        word => word,
    };
    count
        .iter()
        .all(|byte| byte.is_ascii_digit() || b".:-%#=O".contains(byte))
}

/// Whether this is a field, or the continuation of one.
pub(super) fn is_of_a_field(text: &[u8]) -> bool {
    text.first().is_some_and(|byte| is_blank(*byte)) || is_field(text)
}

/// Whether this is a name and a value. The name must begin with a letter, and must not be the
/// scheme of a URL.
fn is_field(text: &[u8]) -> bool {
    let Some(end) = memchr(b':', text) else {
        return false;
    };
    let (name, value) = text.split_at(end);
    let of_a_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
    name.first().is_some_and(u8::is_ascii_alphabetic)
        && name.iter().all(of_a_name)
        && !value.starts_with(b"://")
}

fn split_blanks(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| is_blank(**byte)).count())
}

fn is_empty(text: &[u8]) -> bool {
    text.iter().all(|byte| is_blank(*byte))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}
