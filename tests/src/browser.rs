//! A headless Chromium, driven by WebDriver.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fantoccini::elements::Element;
use fantoccini::{ClientBuilder, Locator};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::ProcessTree;
use crate::{clock, paths, ports};

const READY_DEADLINE: Duration = Duration::from_secs(20);
const FIND_DEADLINE: Duration = Duration::from_secs(15);
const SHUTDOWN_DEADLINE: Duration = Duration::from_secs(5);

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

/// The driver, which starts and ends the browser.
struct Driver {
    process: ProcessTree,
    port: u16,
    // Dropped after the processes that use it.
    _folder: TempDir,
}

impl Browser {
    /// Starts a driver and a browser.
    pub async fn start() -> Result<Self> {
        let driver = Driver::start().await?;
        let arguments: Vec<String> = CHROME_ARGUMENTS
            .iter()
            .map(|argument| (*argument).to_owned())
            .collect();
        let capabilities = json!({
            "goog:chromeOptions": { "binary": paths::chrome()?, "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" }
        });
        let Value::Object(capabilities) = capabilities else {
            bail!("capabilities are an object")
        };
        let connector = hyper_util::client::legacy::connect::HttpConnector::new();
        let page = ClientBuilder::new(connector)
            .capabilities(capabilities)
            .connect(&driver.origin())
            .await
            .with_context(|| format!("start a browser:\n{}", driver.process.log()))?;
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

    /// Waits for the first element that a CSS selector finds.
    pub async fn find(&self, selector: &str) -> Result<Element> {
        let wait = self.page.wait().at_most(FIND_DEADLINE);
        wait.for_element(Locator::Css(selector))
            .await
            .with_context(|| format!("find {selector}"))
    }

    /// Waits for the element with a `data-testid`.
    pub async fn find_id(&self, test_id: &str) -> Result<Element> {
        self.find(&test_id_selector(test_id)).await
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
        self.find(selector)
            .await?
            .text()
            .await
            .with_context(|| format!("read {selector}"))
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
        self.devtools("Emulation.setEmulatedMedia", features).await
    }

    /// Sets the size of the view in CSS pixels.
    pub async fn resize(&self, width: u32, height: u32) -> Result<()> {
        let metrics =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await
    }

    /// Writes what the page shows to `screenshots/<name>.png`.
    pub async fn screenshot(&self, name: &str) -> Result<()> {
        let path = paths::screenshots()?.join(format!("{name}.png"));
        let image = self.page.screenshot().await.context("take a screenshot")?;
        std::fs::write(&path, image).with_context(|| format!("write {}", path.display()))
    }

    async fn devtools(&self, method: &str, parameters: Value) -> Result<()> {
        self.command(
            "goog/cdp/execute",
            json!({ "cmd": method, "params": parameters }),
        )
        .await
        .map(|_| ())
    }

    /// A command of the driver that WebDriver itself does not have.
    async fn command(&self, name: &str, body: Value) -> Result<Value> {
        let url = format!("{}/session/{}/{name}", self.driver.origin(), self.session);
        let reply = self
            .http
            .post(url)
            .json(&body)
            .timeout(READY_DEADLINE)
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

/// The CSS selector of a `data-testid`.
pub fn test_id_selector(test_id: &str) -> String {
    format!("[data-testid=\"{test_id}\"]")
}

impl Driver {
    async fn start() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("weir-browser-")
            .tempdir()
            .context("make a folder")?;
        let port = ports::free()?;
        let mut command = Command::new(paths::chromedriver()?);
        // The browser's profile goes where the driver's temporary files go.
        command
            .arg(format!("--port={port}"))
            .env("TMPDIR", folder.path());
        let process = ProcessTree::spawn(&command, &folder.path().join("chromedriver.log"))?;
        let mut driver = Self {
            process,
            port,
            _folder: folder,
        };
        let deadline = clock::now() + READY_DEADLINE;
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if !driver.process.is_running() || clock::now() > deadline {
                bail!("chromedriver is not ready:\n{}", driver.process.log());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(driver)
    }

    fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Asks the driver to end its browsers, which live in process groups of their own, and itself.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(SHUTDOWN_DEADLINE))?;
        stream
            .write_all(b"GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")?;
        stream.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            println!("the browser was not asked to end: {error}");
            return;
        }
        let deadline = clock::now() + SHUTDOWN_DEADLINE;
        while self.process.is_running() && clock::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
