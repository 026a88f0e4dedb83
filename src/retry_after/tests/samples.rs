//! Samples of streams in text files, with the waits they ask for.

use super::*;

/// The variants of each part of a head, and text that is not a head. Each file explains at its top
/// how samples are written.
pub(super) const SAMPLES: &str = concat!(
    include_str!("../samples/begins.txt"),
    include_str!("../samples/ends.txt"),
    include_str!("../samples/decides.txt"),
    include_str!("../samples/bodies.txt"),
    include_str!("../samples/fields.txt"),
    include_str!("../samples/values.txt"),
    include_str!("../samples/behind_text.txt"),
    include_str!("../samples/foreign_bytes.txt"),
    include_str!("../samples/fragments.txt"),
);

/// The output of real tools, a section for each.
const FIELD: &str = include_str!("../samples/field.txt");

/// Returns the titles of the sections, each with its text.
pub(super) fn sections(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = text.split("\n## ").skip(1);
    sections.map(|section| section.split_once('\n').expect("samples"))
}

/// Returns the samples of a section: the wait as written, and the stream.
fn samples(section: &str) -> Vec<(&str, Vec<u8>)> {
    let mut rows: Vec<(Vec<&str>, &str, String)> = Vec::new();
    let (mut frames, mut is_frame) = (vec!["{}"], false);
    let lines = section.lines().filter(|line| !line.is_empty());
    for line in lines.take_while(|line| !line.starts_with("# ")) {
        if let Some(frame) = line.strip_prefix(": ") {
            if !is_frame {
                frames.clear();
            }
            frames.push(frame);
        } else if let Some(more) = line.strip_prefix('|') {
            let (_, _, text) = rows.last_mut().expect("a wait");
            text.push_str(more.strip_prefix(' ').unwrap_or(more));
            text.push_str("\\n");
        } else {
            let (wait, text) = line.split_once(' ').unwrap_or((line, ""));
            rows.push((frames.clone(), wait, text.trim_start().to_owned()));
        }
        is_frame = line.starts_with(": ");
    }
    let in_frames = |(frames, wait, text): (Vec<&str>, _, String)| {
        let streams: Vec<_> = frames
            .iter()
            .map(|frame| (wait, unescaped(&frame.replacen("{}", &text, 1))))
            .collect();
        streams
    };
    rows.into_iter().flat_map(in_frames).collect()
}

fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::new(), text);
    while let Some((before, escape)) = rest.split_once('\\') {
        bytes.extend(before.bytes());
        let (name, after) = escape.split_at(1);
        rest = after;
        bytes.push(match name {
            "n" => b'\n',
            "r" => b'\r',
            "t" => b'\t',
            "e" => b'\x1b',
            "x" => {
                let (digits, after) = rest.split_at(2);
                rest = after;
                u8::from_str_radix(digits, 16).expect("a byte")
            }
            "\\" => b'\\',
            _ => panic!("no escape: {text}"),
        });
    }
    bytes.extend(rest.bytes());
    bytes
}

fn wait_of_word(word: &str) -> Option<Duration> {
    match word {
        "none" => None,
        "forever" => Some(Duration::MAX),
        wait => Some(duration::parse_duration(wait).expect("a duration")),
    }
}

/// Returns the section with this title.
#[track_caller]
fn section(title: &str) -> &'static str {
    let found = sections(SAMPLES).find(|(found, _)| *found == title);
    found.unwrap_or_else(|| panic!("no samples for {title}")).1
}

/// Checks that each sample of this section asks for its wait, with CR LF as well as LF.
#[track_caller]
pub(super) fn check(title: &str) {
    let samples = samples(section(title));
    assert!(!samples.is_empty(), "{title}");
    for (word, stream) in samples {
        let stream = String::from_utf8(stream).expect("text");
        let expected = wait_of_word(word);
        assert_eq!(wait(&stream), expected, "{title}: {stream:?}");
        let with_cr = crlf(&stream);
        assert_eq!(wait(&with_cr), expected, "{title}: {with_cr:?}");
    }
}

/// Returns the texts of a section, whatever they ask for.
pub(super) fn texts(title: &str) -> Vec<Vec<u8>> {
    let samples = samples(section(title)).into_iter();
    samples.map(|(_, text)| text).collect()
}

/// Returns each sample of a real tool: its name, its stream and its wait.
pub(super) fn samples_of_the_field()
-> impl Iterator<Item = (&'static str, String, Option<Duration>)> {
    sections(FIELD).flat_map(|(name, section)| {
        let samples = samples(section).into_iter();
        samples.map(move |(word, stream)| {
            let stream = String::from_utf8(stream).expect("text");
            (name, stream, wait_of_word(word))
        })
    })
}
