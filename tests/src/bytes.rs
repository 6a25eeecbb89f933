//! How much files weigh: raw, and packed as they are on their way.

use std::io::Write;
use std::iter::Sum;
use std::ops::Add;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

/// Bytes of one file or of several, each packed by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes {
    /// As they are.
    pub raw: usize,
    /// By gzip -9.
    pub gzip: usize,
    /// By brotli at its highest quality, 11.
    pub brotli: usize,
}

impl Bytes {
    /// Packs them to see.
    ///
    /// # Errors
    /// When there is no Node.js, which packs by brotli.
    pub fn of(bytes: &[u8]) -> Result<Self> {
        Ok(Self {
            raw: bytes.len(),
            gzip: gzip(bytes),
            brotli: brotli(bytes)?,
        })
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            raw: self.raw + other.raw,
            gzip: self.gzip + other.gzip,
            brotli: self.brotli + other.brotli,
        }
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Add::add)
    }
}

/// What is left by gzip -9.
#[must_use]
pub fn gzip(bytes: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let packed = encoder.write_all(bytes).and_then(|()| encoder.finish());
    packed.expect("memory takes everything").len()
}

/// Packs its input and says what is left. Node's own library is built for speed, whatever the tests are built for.
const BROTLI: &str = "const { brotliCompressSync, constants } = require('node:zlib');
const packed = brotliCompressSync(require('node:fs').readFileSync(0), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 22 },
});
console.log(packed.length);";

/// What is left by brotli at its highest quality.
///
/// # Errors
/// When there is no Node.js.
pub fn brotli(bytes: &[u8]) -> Result<usize> {
    let mut node = Command::new("node")
        .args(["-e", BROTLI])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("start node")?;
    let mut input = node.stdin.take().context("the input of node")?;
    input.write_all(bytes).context("write to node")?;
    drop(input);
    let output = node.wait_with_output().context("wait for node")?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim()
        .parse()
        .with_context(|| format!("node packs nothing: {}", output.status))
}

/// All files in a folder and in the folders below it, sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(folder).with_context(|| format!("list {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// A wasm module without its custom section `name`, which says what its functions are called.
///
/// # Errors
/// When it is no module.
pub fn without_names(module: &[u8]) -> Result<Vec<u8>> {
    const HEADER_BYTES: usize = 8;
    const CUSTOM: u8 = 0;
    if !module.starts_with(b"\0asm") || module.len() < HEADER_BYTES {
        bail!("no wasm module");
    }
    let (header, mut rest) = module.split_at(HEADER_BYTES);
    let mut kept = header.to_vec();
    while let Some(&id) = rest.first() {
        let (length, start) = leb128(&rest[1..])?;
        let end = 1 + start + length;
        let section = rest.get(..end).context("a section ends early")?;
        let (name_length, name_start) = leb128(&section[1 + start..]).unwrap_or((0, 0));
        let name = section[1 + start + name_start..].get(..name_length);
        if id != CUSTOM || name != Some(b"name") {
            kept.extend_from_slice(section);
        }
        rest = &rest[end..];
    }
    Ok(kept)
}

/// A number of seven bits a byte, the lowest first, and how many bytes it takes.
fn leb128(bytes: &[u8]) -> Result<(usize, usize)> {
    let mut number = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Ok((number, index + 1));
        }
    }
    bail!("a number does not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_names_are_taken_out() {
        let header = b"\0asm\x01\0\0\0";
        let (types, names, other) = (b"\x01\x02ab", b"\x00\x07\x04namexy", b"\x00\x05\x03abcd");
        let module = [&header[..], types, names, other].concat();
        let kept = [&header[..], types, other].concat();
        assert_eq!(without_names(&module).unwrap(), kept);
        assert!(without_names(b"text").is_err());
        assert!(without_names(&module[..module.len() - 1]).is_err());
    }

    #[test]
    fn packing_packs() {
        let of = |bytes: &[u8]| Bytes::of(bytes).unwrap();
        let all: Bytes = [of(&[7; 10_000]), of(b"x")].into_iter().sum();
        assert_eq!(all.raw, 10_001);
        assert!(all.gzip < 200 && all.brotli < 100, "{all:?}");
    }
}
