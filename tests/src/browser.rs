//! A headless Chromium, driven by WebDriver.

mod driver;
mod keys;
mod trace;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fantoccini::elements::Element;
use fantoccini::{ClientBuilder, Locator};
use serde_json::{Value, json};

use self::driver::Driver;
pub use self::keys::Key;
pub use self::trace::Task;
use crate::{clock, paths};

const COMMAND_DEADLINE: Duration = Duration::from_secs(60);
const FIND_DEADLINE: Duration = Duration::from_secs(60);

const CHROME_ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
];

/// Which colours a page is asked to prefer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorScheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// A browser with one page. Ended when it is dropped.
pub struct Browser {
    page: fantoccini::Client,
    http: reqwest::Client,
    session: String,
    driver: Driver,
}

impl Browser {
    /// Starts a driver and a browser.
    pub async fn start() -> Result<Self> {
        Self::start_with(json!({ "browser": "ALL" }), json!({})).await
    }

    /// The same, with the browser's own trace kept: see [`Browser::tasks`].
    pub async fn start_traced() -> Result<Self> {
        let logs = json!({ "browser": "ALL", "performance": "ALL" });
        Self::start_with(logs, trace::preferences()).await
    }

    async fn start_with(logs: Value, performance: Value) -> Result<Self> {
        let driver = Driver::start().await?;
        let arguments: Vec<String> = CHROME_ARGUMENTS
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
        let mut options = json!({ "binary": paths::chrome()?, "args": arguments });
        if performance != json!({}) {
            options["perfLoggingPrefs"] = performance;
        }
        // A script of a test waits for frames and for answers, which take their time on a busy machine.
        let capabilities = json!({
            "goog:chromeOptions": options, "goog:loggingPrefs": logs, "timeouts": { "script": 240_000 },
        });
        let Value::Object(capabilities) = capabilities else {
            bail!("capabilities are an object")
        };
        let connector = hyper_util::client::legacy::connect::HttpConnector::new();
        let page = ClientBuilder::new(connector)
            .capabilities(capabilities)
            .connect(&driver.origin())
            .await
            .with_context(|| format!("start a browser:\n{}", driver.log()))?;
        let session = page
            .session_id()
            .await
            .context("ask for the session")?
            .context("the browser has no session")?;
        Ok(Self {
            page,
            http: reqwest::Client::new(),
            session,
            driver,
        })
    }

    /// The page, for whatever has no method here.
    pub fn page(&self) -> &fantoccini::Client {
        &self.page
    }

    /// Opens an address.
    pub async fn open(&self, url: &str) -> Result<()> {
        self.page
            .goto(url)
            .await
            .with_context(|| format!("open {url}"))
    }

    /// Loads the page again.
    pub async fn refresh(&self) -> Result<()> {
        self.page.refresh().await.context("load the page again")
    }

    /// Waits for the first element that a CSS selector finds. An error says what the page shows instead.
    pub async fn find(&self, selector: &str) -> Result<Element> {
        let wait = self.page.wait().at_most(FIND_DEADLINE);
        match wait.for_element(Locator::Css(selector)).await {
            Ok(element) => Ok(element),
            Err(error) => {
                let shows = self.shows().await;
                Err(error).with_context(|| format!("find {selector}; the page shows {shows}"))
            }
        }
    }

    /// The address and how the text of the page begins.
    async fn shows(&self) -> String {
        let script = "return location.href + ': ' +
            (document.querySelector('main') ?? document.body).innerText.slice(0, 800)";
        match self.evaluate(script, vec![]).await {
            Ok(text) => text.as_str().unwrap_or_default().to_owned(),
            Err(error) => format!("{error:#}"),
        }
    }

    /// Waits for the element with a `data-testid`.
    pub async fn find_id(&self, test_id: &str) -> Result<Element> {
        self.find(&test_id_selector(test_id)).await
    }

    /// Presses the first element that a CSS selector finds, as soon as it can be pressed.
    pub async fn press(&self, selector: &str) -> Result<()> {
        self.pressed(selector).await.map(drop)
    }

    async fn pressed(&self, selector: &str) -> Result<Element> {
        let pressed = again(async || {
            let element = self.find(selector).await?;
            self.click(&element).await?;
            Ok(element)
        });
        pressed.await.with_context(|| format!("press {selector}"))
    }

    /// Clicks an element in the middle of the window: what sticks to an edge of it may lie over one that is in sight.
    async fn click(&self, element: &Element) -> Result<()> {
        let script = "arguments[0].scrollIntoView({ block: 'center', inline: 'nearest' })";
        self.page
            .execute(script, vec![serde_json::to_value(element)?])
            .await?;
        Ok(element.click().await?)
    }

    /// Presses the element with a `data-testid`.
    pub async fn press_id(&self, test_id: &str) -> Result<()> {
        self.press(&test_id_selector(test_id)).await
    }

    /// Replaces what the field with a CSS selector holds.
    pub async fn fill(&self, selector: &str, text: &str) -> Result<()> {
        let filled = again(async || {
            let field = self.pressed(selector).await?;
            field.send_keys(&keys::select_all()).await?;
            field.send_keys(&keys::delete()).await?;
            Ok(field.send_keys(text).await?)
        });
        filled.await.with_context(|| format!("fill {selector}"))
    }

    /// Chooses the option of a select by its value.
    pub async fn choose(&self, selector: &str, value: &str) -> Result<()> {
        let chosen = again(async || {
            let select = self.find(selector).await?;
            Ok(select.select_by_value(value).await?)
        });
        let what = || format!("choose {value} of {selector}");
        chosen.await.with_context(what)
    }

    /// Waits until an expression of the page is true.
    pub async fn wait_until(&self, expression: &str) -> Result<()> {
        let deadline = clock::now() + FIND_DEADLINE;
        loop {
            let is = self
                .evaluate(&format!("return Boolean({expression})"), vec![])
                .await?;
            if is == Value::Bool(true) {
                return Ok(());
            }
            ensure!(clock::now() < deadline, "{expression} does not come true");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until a CSS selector finds nothing any more.
    pub async fn wait_gone(&self, selector: &str) -> Result<()> {
        let quoted = Value::from(selector).to_string();
        self.wait_until(&format!("document.querySelector({quoted}) === null"))
            .await
    }

    /// What a script returns. A promise is waited for.
    pub async fn evaluate(&self, script: &str, arguments: Vec<Value>) -> Result<Value> {
        let value = self.page.execute(script, arguments).await;
        value.with_context(|| {
            let start: String = script.chars().take(200).collect();
            format!("evaluate {start}")
        })
    }

    /// The address that is shown: path and query.
    pub async fn address(&self) -> Result<String> {
        let url = self
            .page
            .current_url()
            .await
            .context("ask for the address")?;
        Ok(match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        })
    }

    /// Whether a CSS selector finds anything at this moment.
    pub async fn has(&self, selector: &str) -> Result<bool> {
        let found = self
            .page
            .find_all(Locator::Css(selector))
            .await
            .with_context(|| format!("look for {selector}"))?;
        Ok(!found.is_empty())
    }

    /// The text of the first element that a CSS selector finds.
    pub async fn text(&self, selector: &str) -> Result<String> {
        let text = again(async || Ok(self.find(selector).await?.text().await?));
        text.await.with_context(|| format!("read {selector}"))
    }

    /// What the console of the page received at level `SEVERE` since the last call: errors of scripts, failed
    /// requests, and whatever the content security policy refused.
    pub async fn severe_messages(&self) -> Result<Vec<String>> {
        let reply = self.command("se/log", json!({ "type": "browser" })).await?;
        let entries = reply.as_array().context("the log is not a list")?;
        let severe = entries.iter().filter(|entry| entry["level"] == "SEVERE");
        Ok(severe
            .map(|entry| entry["message"].as_str().unwrap_or_default().to_owned())
            .collect())
    }

    /// Sets the colours that the page is asked to prefer.
    pub async fn prefer(&self, scheme: ColorScheme) -> Result<()> {
        let value = match scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.devtools("Emulation.setEmulatedMedia", features)
            .await?;
        Ok(())
    }

    /// Sets the size of the view in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await?;
        Ok(())
    }

    /// Writes what the page shows to `screenshots/<name>.png`.
    pub async fn screenshot(&self, name: &str) -> Result<()> {
        let path = paths::screenshots()?.join(format!("{name}.png"));
        let image = self.page.screenshot().await.context("take a screenshot")?;
        std::fs::write(&path, image).with_context(|| format!("write {}", path.display()))
    }

    /// Puts downloads into a folder.
    pub async fn download_to(&self, folder: &Path) -> Result<()> {
        let behavior = json!({ "behavior": "allow", "downloadPath": folder });
        self.devtools("Browser.setDownloadBehavior", behavior)
            .await?;
        Ok(())
    }

    /// Runs a script in each page before any of its own.
    pub async fn before_each_page(&self, script: &str) -> Result<()> {
        let source = json!({ "source": script });
        self.devtools("Page.addScriptToEvaluateOnNewDocument", source)
            .await?;
        Ok(())
    }

    /// A command of the browser's own protocol.
    pub async fn devtools(&self, method: &str, parameters: Value) -> Result<Value> {
        let body = json!({ "cmd": method, "params": parameters });
        self.command("goog/cdp/execute", body).await
    }

    /// A command of the driver that WebDriver itself does not have.
    async fn command(&self, name: &str, body: Value) -> Result<Value> {
        let url = format!("{}/session/{}/{name}", self.driver.origin(), self.session);
        let reply = self
            .http
            .post(url)
            .json(&body)
            .timeout(COMMAND_DEADLINE)
            .send()
            .await
            .with_context(|| format!("send {name}"))?;
        let mut reply: Value = reply
            .json()
            .await
            .with_context(|| format!("read the answer to {name}"))?;
        let value = reply["value"].take();
        if value.get("error").is_some() {
            bail!("{name}: {value}");
        }
        Ok(value)
    }
}

/// Does something with an element until that succeeds, for as long as an element is waited for: what comes above it moves it
/// away, and a page that is drawn anew takes it away between find and use.
async fn again<T>(act: impl AsyncFn() -> Result<T>) -> Result<T> {
    let deadline = clock::now() + FIND_DEADLINE;
    loop {
        match act().await {
            Err(_) if clock::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            done => return done,
        }
    }
}

/// The CSS selector of a `data-testid`.
pub fn test_id_selector(test_id: &str) -> String {
    format!("[data-testid=\"{test_id}\"]")
}
