//! Files that are named by their content, so that browsers keep them for good.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::build::HASH_DIGITS;
use crate::paths::names_in;

/// Puts the files of `made` into `pages` under names of their content, and gives the page with these names. The script
/// names the modules, and the page the script and what else there is.
pub(super) fn publish(made: &Path, page: &Path, pages: &Path, prefix: &str) -> Result<String> {
    let mut script = None;
    let (mut modules, mut named) = (Vec::new(), Vec::new());
    for name in names_in(made)? {
        let path = made.join(&name);
        let bytes = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        if name.ends_with(".js") {
            ensure!(script.is_none(), "{name} is a second script");
            script = Some((
                name,
                String::from_utf8(bytes).context("a script is no text")?,
            ));
            continue;
        }
        let own = put(pages, &name, &bytes)?;
        if name.ends_with(".wasm") {
            modules.push((name.clone(), own.clone()));
        }
        named.push((name, own));
    }
    let (name, text) = script.context("there is no script")?;
    let text = renamed(text, &modules, "")?;
    let own = put(pages, &name, text.as_bytes())?;
    named.push((name, own));
    let html = fs::read_to_string(page).with_context(|| format!("reading {}", page.display()))?;
    // A part comes when its page is visited, and the page that all have does not name it.
    named.retain(|(name, _)| html.contains(&format!("\"{name}\"")));
    renamed(html, &named, &format!("/{prefix}/"))
}

/// Writes a file under the name of its content, which is given.
fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<String> {
    let hash = Sha256::digest(bytes);
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let (stem, kind) = name
        .rsplit_once('.')
        .context("a file without an extension")?;
    let own = format!("{stem}-{}.{kind}", &hash[..HASH_DIGITS]);
    let path = folder.join(&own);
    fs::write(&path, bytes).with_context(|| format!("writing {}", path.display()))?;
    Ok(own)
}

/// The text with each name in quotes, below `./` or bare, as the new one below `folder`. Each has to be there.
fn renamed(mut text: String, names: &[(String, String)], folder: &str) -> Result<String> {
    for (name, own) in names {
        let to = format!("\"{folder}{own}\"");
        let mut is_there = false;
        for from in [format!("\"{name}\""), format!("\"./{name}\"")] {
            is_there |= text.contains(&from);
            text = text.replace(&from, &to);
        }
        ensure!(is_there, "nothing names {name}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    #[test]
    fn every_name_follows_from_the_content_and_leads_to_the_file() {
        let of = |part: &str| {
            let script = r#"new URL("a_bg.wasm",u),new URL("./split_b.wasm",u)"#;
            let files = [("a.js", script), ("a_bg.wasm", "a"), ("split_b.wasm", part)];
            let made = folder(&files);
            let page = folder(&[(
                "index.html",
                r#"<script src="a.js"><link href="a_bg.wasm">"#,
            )]);
            let pages = tempfile::tempdir().unwrap();
            let html = publish(
                made.path(),
                &page.path().join("index.html"),
                pages.path(),
                "x",
            )
            .unwrap();
            let names = names_in(pages.path()).unwrap();
            let script = fs::read_to_string(pages.path().join(&names[0])).unwrap();
            (html, names, script)
        };
        let (html, names, script) = of("b");
        let [js, first, part] = names.as_slice() else {
            panic!("{names:?}")
        };
        assert_eq!(
            html,
            format!(r#"<script src="/x/{js}"><link href="/x/{first}">"#)
        );
        assert_eq!(
            script,
            format!(r#"new URL("{first}",u),new URL("{part}",u)"#)
        );
        // Another part is another script too, and so is another page; what did not change keeps its name.
        let (other_html, other, _) = of("c");
        assert!(
            other[0] != *js && other[1] == *first && other[2] != *part,
            "{other:?}"
        );
        assert_ne!(other_html, html);
    }

    #[test]
    fn a_file_that_nothing_names_fails_the_build() {
        let made = folder(&[("a.js", ""), ("split_b.wasm", "b")]);
        let page = folder(&[("index.html", r#"<script src="a.js">"#)]);
        let pages = tempfile::tempdir().unwrap();
        let told = publish(
            made.path(),
            &page.path().join("index.html"),
            pages.path(),
            "x",
        );
        assert_eq!(told.unwrap_err().to_string(), "nothing names split_b.wasm");
    }
}
