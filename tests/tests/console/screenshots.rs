//! Pictures of every page, to be looked at, in the folder `screenshots`: on a wide screen and, dark, on a telephone; with
//! `WEIR_LOOKS=all` at three widths, light and dark.

use std::env;
use std::time::Duration;

use weir_tests::browser::{Browser, ColorScheme};
use weir_tests::workerd::TOKEN;

use crate::console::accessibility::PAGES;
use crate::console::site::{Site, everything, with_routes};
use crate::console::traffic::Traffic;
use crate::console::{NARROW, WIDE, log_in, visit};

/// Charts need some points.
const FIGURES: Duration = Duration::from_secs(20);

/// A wide screen, a small laptop and a telephone.
const SIZES: [(u32, u32); 3] = [(1440, 900), (1024, 900), NARROW];

/// What another width takes to be laid out, and transitions of colours.
const SETTLED: Duration = Duration::from_millis(300);

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_pictured() {
    let site = Site::start(&with_routes(everything())).await;
    let _traffic = Traffic::of_all_tiers(&site.client);
    tokio::time::sleep(FIGURES).await;
    let browser = Browser::start().await.expect("the browser starts");
    browser
        .open(&format!("{}/console/login", site.origin()))
        .await
        .unwrap();
    browser.find_id("login-token").await.unwrap();
    picture(&browser, "login").await;
    log_in(&browser, &site.origin(), TOKEN).await;
    for (slug, path) in PAGES {
        visit(&browser, &site.origin(), path, slug).await;
        // Two rounds of the live channel, for what is a rate.
        tokio::time::sleep(Duration::from_secs(2)).await;
        picture(&browser, &name(slug, path)).await;
    }
}

/// The page, and what of it is open.
fn name(slug: &str, path: &str) -> String {
    let part = path.split_once('?').map_or("", |(_, query)| query);
    let part = part
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key != "name")
        .map(|(_, value)| value);
    let route = path.ends_with("&name=0").then_some("-route");
    let route = route.unwrap_or_default();
    part.map_or_else(|| slug.to_owned(), |part| format!("{slug}-{part}{route}"))
}

async fn picture(browser: &Browser, name: &str) {
    let all = env::var_os("WEIR_LOOKS").is_some();
    let looks: [(_, _, &[_]); 2] = match all {
        true => [
            ("light", ColorScheme::Light, &SIZES),
            ("dark", ColorScheme::Dark, &SIZES),
        ],
        false => [
            ("light", ColorScheme::Light, &SIZES[..1]),
            ("dark", ColorScheme::Dark, &SIZES[2..]),
        ],
    };
    for (look, scheme, sizes) in looks {
        browser.prefer(scheme).await.unwrap();
        for (width, height) in sizes {
            browser.resize(*width, *height).await.unwrap();
            tokio::time::sleep(SETTLED).await;
            let name = format!("{name}-{width}-{look}");
            browser.screenshot(&name).await.unwrap();
        }
    }
    browser.resize(WIDE.0, WIDE.1).await.unwrap();
}
