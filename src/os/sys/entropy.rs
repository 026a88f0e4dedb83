//! Random bits of the system's.

use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::FileTypeExt as _;

use super::system::fill_with_random_bits;

/// How many bytes a word has.
const WORD: usize = size_of::<u64>();

/// Random words. An old kernel does not know the call for them, and a sandbox may refuse it; the
/// device gives the same bits.
///
/// # Errors
/// When there is no such device, either.
pub(crate) fn entropy<const WORDS: usize>() -> io::Result<[u64; WORDS]> {
    let mut words = [[0; WORD]; WORDS];
    let bytes = words.as_flattened_mut();
    fill_with_random_bits(bytes).or_else(|_| read_device(bytes))?;
    Ok(words.map(u64::from_ne_bytes))
}

/// Fills all of this from the device. A file in its place, as a careless `chroot` may have, would
/// give every run the same bits.
fn read_device(bytes: &mut [u8]) -> io::Result<()> {
    let mut device = File::open("/dev/urandom")?;
    if !device.metadata()?.file_type().is_char_device() {
        return Err(ErrorKind::Unsupported.into());
    }
    device.read_exact(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_the_call_and_of_the_device_are_random() {
        let [one, two] = entropy::<2>().expect("random words");
        assert_ne!(one, two);
        let mut bytes = [[0; WORD]; 2];
        read_device(bytes.as_flattened_mut()).expect("a device");
        assert!(bytes[0] != bytes[1] && !bytes.contains(&[0; WORD]));
    }
}
