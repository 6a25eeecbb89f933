//! What the Worker weighs stays within a bound a little above what it does, so that it does not grow unseen.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use weir_tests::paths;

/// The most bytes of the Worker's wasm, compressed by gzip, as the platform counts a Worker.
const GZIP_BYTES_MAX: usize = 1_400 * 1_000;

#[test]
fn the_worker_is_as_light_as_it_was() {
    let module = paths::edge_build().unwrap().join("index_bg.wasm");
    let module = std::fs::read(module).unwrap();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&module).unwrap();
    let bytes = encoder.finish().unwrap().len();
    println!("{} bytes, {bytes} compressed", module.len());
    assert!(
        bytes <= GZIP_BYTES_MAX,
        "{bytes} bytes compressed, at most {GZIP_BYTES_MAX}"
    );
    assert!(
        !holds_names(&module),
        "the names of functions are in what ships"
    );
}

/// Whether there is a custom section by the name of `name`.
fn holds_names(module: &[u8]) -> bool {
    const NAMED: &[u8] = b"\x04name";
    let mut rest = &module[8..];
    while let Some((&kind, after)) = rest.split_first() {
        let (mut length, mut shift, mut read) = (0_usize, 0, 0);
        for byte in after {
            length |= usize::from(byte & 0x7f) << shift;
            (shift, read) = (shift + 7, read + 1);
            if byte & 0x80 == 0 {
                break;
            }
        }
        let section = &after[read..read + length];
        if kind == 0 && section.starts_with(NAMED) {
            return true;
        }
        rest = &after[read + length..];
    }
    false
}
