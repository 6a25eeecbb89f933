//! Takes out of a module the names of its functions, which only stack traces show: an eighth of the Worker.
//! `worker-build` keeps them, whatever `wasm-opt` is told.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Every module begins with its magic number and version.
const HEADER_BYTES: usize = 8;

/// The number of a section that means nothing to whoever runs the module.
const CUSTOM: u8 = 0;

/// Rewrites the module at `path` without custom sections.
pub(super) fn strip(path: &Path) -> Result<()> {
    let module = fs::read(path).with_context(|| format!("read {}", path.display()))?;
    let stripped = stripped(&module).with_context(|| format!("{} is cut off", path.display()))?;
    fs::write(path, stripped).with_context(|| format!("write {}", path.display()))?;
    Ok(())
}

fn stripped(module: &[u8]) -> Result<Vec<u8>> {
    ensure!(module.len() >= HEADER_BYTES, "no header");
    let (header, mut rest) = module.split_at(HEADER_BYTES);
    let mut kept = header.to_vec();
    while let Some(kind) = rest.first() {
        let (length, number_bytes) = unsigned(&rest[1..]).context("no length of a section")?;
        let end = 1 + number_bytes + length;
        let section = rest.get(..end).context("no end of a section")?;
        if *kind != CUSTOM {
            kept.extend_from_slice(section);
        }
        rest = &rest[end..];
    }
    Ok(kept)
}

/// A number in LEB128, and in how many bytes it was written.
fn unsigned(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut number = 0;
    for (index, byte) in bytes.iter().take(5).enumerate() {
        number |= usize::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((number, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_run_goes_and_the_rest_stays() {
        let header = b"\0asm\x01\0\0\0".as_slice();
        let (types, names) = (b"\x01\x01\0".as_slice(), b"\0\x82\0\x01n".as_slice());
        let module = [header, names, types, names].concat();
        assert_eq!(stripped(&module).unwrap(), [header, types].concat());
        assert!(stripped(&module[..module.len() - 1]).is_err());
    }
}
