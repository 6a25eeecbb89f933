//! The `_headers` file of the static assets: what a browser may do with the console.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A file with its content's hash in the name never changes.
const FOR_GOOD: &str = "Cache-Control: public, max-age=31536000, immutable";

/// Browsers take no word of this address but over https for a year; over plain http, as on the own machine, they do not
/// heed it (RFC 6797, section 8.1).
const TRANSPORT: &str = "Strict-Transport-Security: max-age=31536000";

/// No page of another site that opened the console, or that it opened, has a hand on its window.
const OPENER: &str = "Cross-Origin-Opener-Policy: same-origin";

/// The content of `_headers` for an index page and the files beside it.
pub(super) fn file(prefix: &str, html: &str, names: &[String]) -> String {
    let policy = content_security_policy(html);
    let mut text = format!(
        "/{prefix}/*\n  Content-Security-Policy: {policy}\n  X-Content-Type-Options: nosniff\n  Referrer-Policy: no-referrer\n  {TRANSPORT}\n  {OPENER}\n"
    );
    for name in names.iter().filter(|name| has_hash(name)) {
        text += &format!("/{prefix}/{name}\n  {FOR_GOOD}\n");
    }
    text
}

/// Everything from the own origin, and nothing inline but the scripts that the page was built with.
fn content_security_policy(html: &str) -> String {
    let hashes: String = inline_scripts(html)
        .map(|script| format!(" 'sha256-{}'", STANDARD.encode(Sha256::digest(script))))
        .collect();
    [
        "default-src 'self'",
        // WebAssembly may be compiled; `eval` stays forbidden.
        &format!("script-src 'self' 'wasm-unsafe-eval'{hashes}"),
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "base-uri 'none'",
        "frame-ancestors 'none'",
        "form-action 'self'",
        "object-src 'none'",
    ]
    .join("; ")
}

/// The content of each script element without a `src`, exactly as it stands in the page.
fn inline_scripts(html: &str) -> impl Iterator<Item = &str> {
    html.split("<script").skip(1).filter_map(|rest| {
        let (attributes, rest) = rest.split_once('>')?;
        let (content, _) = rest.split_once("</script>")?;
        let is_external = attributes
            .split_whitespace()
            .any(|attribute| attribute == "src" || attribute.starts_with("src="));
        (!is_external).then_some(content)
    })
}

/// Whether trunk put a hash into the name: `name-0123456789abcdef.css`, `name-0123456789abcdef_bg.wasm`.
fn has_hash(name: &str) -> bool {
    let Some((stem, _)) = name.split_once('.') else {
        return false;
    };
    let stem = stem.strip_suffix("_bg").unwrap_or(stem);
    stem.rsplit_once('-').is_some_and(|(_, hash)| {
        (12..=16).contains(&hash.len()) && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = r#"<head><script src="/a.js"></script>
<script type="module" src=/b.js></script><script type="module">alert(1)</script></head>"#;

    #[test]
    fn only_inline_scripts_are_hashed() {
        let scripts: Vec<_> = inline_scripts(PAGE).collect();
        assert_eq!(scripts, ["alert(1)"]);
    }

    #[test]
    fn the_hash_is_the_one_browsers_compute() {
        // From the examples of the Content Security Policy specification, level 3.
        let page = "<script>alert('Hello, world.');</script>";
        let policy = content_security_policy(page);
        let hash = "'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='";
        assert!(policy.contains(hash), "{policy}");
    }

    #[test]
    fn nothing_inline_is_allowed_without_a_hash() {
        let policy = content_security_policy("<p></p>");
        assert!(policy.contains("script-src 'self' 'wasm-unsafe-eval';"));
        assert!(!policy.contains("'unsafe-inline'"));
        assert!(!policy.contains("'unsafe-eval'"));
    }

    #[test]
    fn hashed_names_are_kept_for_good() {
        for name in [
            "weir-console-1f2e3d4c5b6a7988.js",
            "weir-console-1f2e3d4c5b6a7988_bg.wasm",
            "style-0a1b2c3d4e5f6a7b.css",
        ] {
            assert!(has_hash(name), "{name}");
        }
        for name in ["index.html", "weir-console.js", "snippets", "a-1234.css"] {
            assert!(!has_hash(name), "{name}");
        }
    }

    #[test]
    fn each_rule_names_a_path_below_the_prefix() {
        let names = ["index.html".to_owned(), "a-0123456789abcdef.js".to_owned()];
        let text = file("console", PAGE, &names);
        let paths: Vec<_> = text.lines().filter(|line| line.starts_with('/')).collect();
        assert_eq!(paths, ["/console/*", "/console/a-0123456789abcdef.js"]);
        let (all, _) = text.split_once("/console/a-").unwrap();
        assert!(all.contains(TRANSPORT) && all.contains(OPENER), "{all}");
    }
}
