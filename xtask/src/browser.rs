//! The browser of the tests, and the driver that steers it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::apt::Apt;
use crate::{paths, process, progress};

const DRIVERS: [&str; 3] = [
    "chromedriver",
    "/usr/lib/chromium/chromedriver",
    "/usr/lib/chromium-browser/chromedriver",
];

const BROWSERS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

const DEBIAN_PACKAGES: [&str; 3] = ["chromium", "chromium-driver", "fonts-liberation"];

/// A Chromium or Chrome with its driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Browser {
    pub(crate) driver: PathBuf,
    pub(crate) browser: PathBuf,
    /// Set when the user named the browser: the driver would otherwise look for its own.
    named: bool,
}

/// Finds the browser and its driver; installs them on Debian where that needs no password.
pub(crate) fn ensure() -> Result<Browser> {
    if let Some(found) = locate()? {
        return Ok(found);
    }
    let Some(apt) = Apt::find() else {
        bail!(
            "the browser tests need Chromium or Chrome and `chromedriver`: install them (Debian: apt-get install chromium chromium-driver) or set CHROME and CHROMEDRIVER"
        );
    };
    progress::step("installing Chromium and its driver", || {
        apt.install(&DEBIAN_PACKAGES)
    })?;
    locate()?.context("Chromium was installed, and `chromium` or `chromedriver` is not on PATH")
}

fn locate() -> Result<Option<Browser>> {
    let driver = choose("CHROMEDRIVER", &DRIVERS)?;
    let browser = choose("CHROME", &BROWSERS)?;
    Ok(driver.zip(browser).map(|(driver, browser)| Browser {
        driver,
        browser,
        named: env::var_os("CHROME").is_some(),
    }))
}

/// The program that the variable names, else the first that is there.
fn choose(variable: &str, candidates: &[&str]) -> Result<Option<PathBuf>> {
    if let Some(value) = env::var_os(variable).filter(|value| !value.is_empty()) {
        let path = PathBuf::from(value);
        if !process::is_executable(&path) {
            bail!("{variable} names {}, which is no program", path.display());
        }
        return Ok(Some(path));
    }
    Ok(candidates.iter().find_map(|name| program(name)))
}

fn program(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    if path.is_absolute() {
        process::is_executable(path).then(|| path.to_owned())
    } else {
        process::find(name)
    }
}

impl Browser {
    /// A WebDriver configuration that names the user's browser, if the user named one.
    pub(crate) fn webdriver_config(&self) -> Result<Option<PathBuf>> {
        if !self.named {
            return Ok(None);
        }
        let template = paths::root().join("console").join("webdriver.json");
        let text = fs::read_to_string(&template)
            .with_context(|| format!("reading {}", template.display()))?;
        let config = with_binary(&text, &self.browser)?;
        let file = paths::local("webdriver.json");
        fs::create_dir_all(paths::local("")).context("creating the folder of local state")?;
        fs::write(&file, config).with_context(|| format!("writing {}", file.display()))?;
        Ok(Some(file))
    }
}

fn with_binary(config: &str, browser: &Path) -> Result<String> {
    let mut config: Value = serde_json::from_str(config).context("reading webdriver.json")?;
    config["goog:chromeOptions"]["binary"] = Value::from(browser.to_string_lossy());
    Ok(format!("{config:#}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_browser_joins_the_flags() {
        let flags = r#"{"goog:chromeOptions":{"args":["--headless"]}}"#;
        let config: Value =
            serde_json::from_str(&with_binary(flags, Path::new("/opt/chrome")).unwrap()).unwrap();
        let options = &config["goog:chromeOptions"];
        assert_eq!(options["binary"], "/opt/chrome");
        assert_eq!(options["args"][0], "--headless");
    }

    #[test]
    fn the_first_program_that_exists_is_chosen() {
        let chosen = choose("WEIR_NO_SUCH_VARIABLE", &["no-such-program", "sh", "ls"]).unwrap();
        assert!(chosen.is_some_and(|path| path.ends_with("sh")));
        assert_eq!(choose("WEIR_NO_SUCH_VARIABLE", &["no-such"]).unwrap(), None);
    }

    #[test]
    fn both_crates_start_the_browser_alike() {
        let flags = |name: &str| {
            fs::read_to_string(paths::root().join(name).join("webdriver.json")).unwrap()
        };
        assert_eq!(flags("shared"), flags("console"));
    }
}
