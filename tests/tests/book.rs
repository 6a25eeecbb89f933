//! The site of the documentation, in a browser. `cargo xtask book-check` makes it and runs this: mdBook is no tool of the tests.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use weir_tests::accessibility::{axe, sticking_out};
use weir_tests::browser::{Browser, ColorScheme};
use weir_tests::paths::workspace;

/// A phone, a tablet or half of a screen, and a screen.
const SIZES: [(u32, u32); 3] = [(375, 812), (1_024, 768), (1_440, 900)];

/// What another width takes to be laid out, the contents that slide in included.
const REFLOWED: Duration = Duration::from_millis(400);

/// Not pages to read: all of them on one to print, and the contents for browsers without scripts. The page of what is not found
/// finds its own parts at the root of a site alone.
const NO_PAGES: [&str; 3] = ["print.html", "toc.html", "404.html"];

/// Pictures that were not found, or that say nothing to who cannot see them.
const MUTE_PICTURES: &str = r#"
const shows = (image) => image.complete && image.naturalWidth > 0 && image.alt.trim() !== "";
return [...document.images].filter((image) => !shows(image)).map((image) => image.outerHTML.slice(0, 160));
"#;

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the site: run `cargo xtask book`") {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            pages(&path, found);
        } else if name.ends_with(".html") && !NO_PAGES.contains(&name.as_str()) {
            found.push(path);
        }
    }
}

/// What is wrong with the page that is shown, at each width.
async fn look_at(
    browser: &Browser,
    page: &str,
    sizes: &[(u32, u32)],
    faults: &mut String,
) -> Result<()> {
    let mute = browser.evaluate(MUTE_PICTURES, vec![]).await?;
    if mute != json!([]) {
        writeln!(faults, "{page}: pictures without a text: {mute}")?;
    }
    for (width, height) in sizes {
        browser.resize(*width, *height).await?;
        tokio::time::sleep(REFLOWED).await;
        for wide in sticking_out(browser).await? {
            writeln!(faults, "{page} at {width} px is too wide: {wide}")?;
        }
        let found = axe(browser).await?;
        assert!(found.rules > 20, "axe looked at {} rules", found.rules);
        for violation in found.violations {
            writeln!(faults, "{page} at {width} px: {violation}")?;
        }
    }
    Ok(())
}

/// Opens a page, which is one of the book, in its theme of that name.
async fn open(browser: &Browser, path: &Path, theme: &str) -> Result<()> {
    browser.open(&format!("file://{}", path.display())).await?;
    let title = browser.evaluate("return document.title", vec![]).await?;
    let named = title.as_str().is_some_and(|title| title.contains("Weir"));
    assert!(named, "{}: {title}", path.display());
    browser
        .wait_until(&format!(
            "document.documentElement.classList.contains('{theme}')"
        ))
        .await
}

/// Looks at every page in the theme of that name, which the book has for a scheme of colours.
async fn look_at_all(scheme: ColorScheme, theme: &str, sizes: &[(u32, u32)]) {
    let mut found = Vec::new();
    let site = workspace().join("target/book");
    pages(&site, &mut found);
    found.sort();
    assert!(found.len() > 40, "{} pages", found.len());
    let browser = Browser::start().await.expect("the browser starts");
    browser.prefer(scheme).await.unwrap();
    let mut faults = String::new();
    for path in &found {
        open(&browser, path, theme).await.unwrap();
        let page = path.strip_prefix(&site).unwrap().display().to_string();
        look_at(&browser, &page, sizes, &mut faults).await.unwrap();
    }
    assert!(faults.is_empty(), "{faults}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_reads_well_on_phones_and_screens_for_everybody() {
    look_at_all(ColorScheme::Light, "light", &SIZES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_reads_well_in_the_dark() {
    // Its lines break as in the light.
    look_at_all(ColorScheme::Dark, "navy", &SIZES[2..]).await;
}
