//! The `_headers` file of the static assets: what a browser may do with the console.

use super::HASH_DIGITS;

/// A file with its content's hash in the name never changes.
const FOR_GOOD: &str = "Cache-Control: public, max-age=31536000, immutable";

/// Browsers take no word of this address but over https for a year; over plain http, as on the own machine, they do not
/// heed it (RFC 6797, section 8.1).
const TRANSPORT: &str = "Strict-Transport-Security: max-age=31536000";

/// No page of another site that opened the console, or that it opened, has a hand on its window.
const OPENER: &str = "Cross-Origin-Opener-Policy: same-origin";

/// Everything from the own origin, and nothing inline: the page has no script but those of its files.
const POLICY: [&str; 9] = [
    "default-src 'self'",
    // WebAssembly may be compiled; `eval` stays forbidden.
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
    "object-src 'none'",
];

/// The content of `_headers` for the files below `prefix`.
pub(super) fn file(prefix: &str, names: &[String]) -> String {
    let policy = POLICY.join("; ");
    let mut text = format!(
        "/{prefix}/*\n  Content-Security-Policy: {policy}\n  X-Content-Type-Options: nosniff\n  Referrer-Policy: no-referrer\n  {TRANSPORT}\n  {OPENER}\n"
    );
    for name in names.iter().filter(|name| has_hash(name)) {
        text += &format!("/{prefix}/{name}\n  {FOR_GOOD}\n");
    }
    text
}

/// Whether the name has a hash of the content: `name-0123456789abcdef.css`.
fn has_hash(name: &str) -> bool {
    let Some((stem, _)) = name.split_once('.') else {
        return false;
    };
    stem.rsplit_once('-').is_some_and(|(_, hash)| {
        hash.len() == HASH_DIGITS && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_no_script_that_the_policy_forbids() {
        let page =
            std::fs::read_to_string(crate::paths::root().join("console/index.html")).unwrap();
        let scripts: Vec<_> = page.split("<script").skip(1).collect();
        assert!(!scripts.is_empty());
        for script in scripts {
            assert!(
                script.contains(" src=\"") && script.contains("></script>"),
                "{script}"
            );
        }
        assert!(
            !page.contains("style=") && !page.contains("<style"),
            "{page}"
        );
    }

    #[test]
    fn hashed_names_are_kept_for_good() {
        for name in [
            "weir-console-1f2e3d4c5b6a7988.js",
            "weir-console_bg-1f2e3d4c5b6a7988.wasm",
            "split_policy-1f2e3d4c5b6a7988.wasm",
            "style-0a1b2c3d4e5f6a7b.css",
        ] {
            assert!(has_hash(name), "{name}");
        }
        for name in [
            "index.html",
            "weir-console.js",
            "snippets",
            "a-1234.css",
            "split_policy.wasm",
        ] {
            assert!(!has_hash(name), "{name}");
        }
    }

    #[test]
    fn each_rule_names_a_path_below_the_prefix() {
        let names = ["index.html".to_owned(), "a-0123456789abcdef.js".to_owned()];
        let text = file("console", &names);
        let paths: Vec<_> = text.lines().filter(|line| line.starts_with('/')).collect();
        assert_eq!(paths, ["/console/*", "/console/a-0123456789abcdef.js"]);
        let (all, _) = text.split_once("/console/a-").unwrap();
        assert!(all.contains(TRANSPORT) && all.contains(OPENER), "{all}");
    }
}
