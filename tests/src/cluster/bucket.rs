//! A bucket of an S3 server of this machine (SeaweedFS), and what the instances keep in it.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use weir_shared::ordered::OrderedMap;

use crate::process::ProcessTree;
use crate::{clock, folders, ports};

const READY_DEADLINE: Duration = Duration::from_secs(60);

/// The server has one user, and no way in from elsewhere.
const USER: &str = "weir";
const SECRET: &str = "the-secret-of-a-test-on-one-machine";

const NAME: &str = "weir";
const PREFIX: &str = "cluster";

/// Objects and instances that are read at a time: more than there are.
const ENTRIES_MAX: u32 = 1_000;

/// Where the server puts sockets, whatever it is told; each is named after a port.
const SOCKETS: &str = "/tmp";

/// The bucket. It goes when it is dropped.
pub struct Bucket {
    s3: u16,
    /// The server shows the same as files here.
    files: u16,
    http: reqwest::Client,
    /// All that the server was given.
    ports: Vec<u16>,
    // Dropped before the folder that it writes to.
    process: ProcessTree,
    _folder: TempDir,
}

/// An instance, as the record of an object names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Owner {
    /// The name that it gave itself when it started.
    pub node: String,
    /// Where its peers reach it.
    pub address: String,
}

#[derive(Deserialize)]
struct Listing {
    #[serde(rename = "Entries")]
    entries: Option<Vec<Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(rename = "FullPath")]
    path: String,
}

#[derive(Deserialize)]
struct Node {
    node: String,
    address: String,
}

#[derive(Deserialize)]
struct Own {
    node: String,
}

impl Bucket {
    /// Starts the server at `program` with an empty bucket.
    pub async fn start(program: &Path) -> Result<Self> {
        let folder = folders::new("bucket")?;
        let (s3, files) = (ports::free()?, ports::free()?);
        let mut given = vec![s3, files];
        let mut command = Command::new(program);
        command.arg(format!("-logdir={}", folder.path().display()));
        command.args(["mini", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]);
        command.args([format!("-dir={}", folder.path().display())]);
        command.args([format!("-bucket={NAME}")]);
        // Nothing but the bucket, and nobody is told of it.
        command.args([
            "-webdav=false",
            "-admin.ui=false",
            "-master.telemetry=false",
            "-s3.port.iceberg=0",
        ]);
        command.args([format!("-s3.port={s3}"), format!("-filer.port={files}")]);
        for server in [
            "master.port",
            "master.port.grpc",
            "volume.port",
            "volume.port.grpc",
            "filer.port.grpc",
            "s3.port.grpc",
            "admin.port",
            "admin.port.grpc",
        ] {
            let port = ports::free()?;
            command.arg(format!("-{server}={port}"));
            given.push(port);
        }
        let folder_of_sockets = folder.path().display();
        command.args([
            format!("-s3.localSocket={folder_of_sockets}/s3.sock"),
            format!("-s3.localFilerSocket={folder_of_sockets}/files.sock"),
        ]);
        command
            .env("AWS_ACCESS_KEY_ID", USER)
            .env("AWS_SECRET_ACCESS_KEY", SECRET);
        let process = ProcessTree::spawn(&command, &folder.path().join("weed.log"))?;
        let mut bucket = Self {
            s3,
            files,
            http: reqwest::Client::new(),
            ports: given,
            process,
            _folder: folder,
        };
        bucket.wait_ready().await?;
        Ok(bucket)
    }

    async fn wait_ready(&mut self) -> Result<()> {
        let deadline = clock::now() + READY_DEADLINE;
        loop {
            if self.names("").await.is_ok_and(|names| names.is_empty()) && self.serves().await {
                return Ok(());
            }
            if !self.process.is_running() || clock::now() > deadline {
                bail!("the S3 server is not ready:\n{}", self.process.log());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Whether it answers S3: strangers are refused, and not for want of a server.
    async fn serves(&self) -> bool {
        let reply = self
            .http
            .get(format!("http://127.0.0.1:{}/{NAME}", self.s3));
        reply
            .send()
            .await
            .is_ok_and(|reply| reply.status() == reqwest::StatusCode::FORBIDDEN)
    }

    /// Ends the server without a word.
    pub(super) fn stop(&mut self) {
        self.process.kill_hard();
    }

    /// As workerd names it.
    pub(super) fn url(&self) -> String {
        format!("s3://{NAME}/{PREFIX}")
    }

    /// How workerd reaches it.
    pub(super) fn options(&self) -> [String; 4] {
        [
            format!("aws_endpoint=http://127.0.0.1:{}", self.s3),
            "aws_region=us-east-1".to_owned(),
            format!("aws_access_key_id={USER}"),
            format!("aws_secret_access_key={SECRET}"),
        ]
    }

    /// The owners of the coordinators, by object: of the class that has the most objects. The caller sees to it that there are
    /// more budgets than regions; the names of classes and objects are not in the bucket.
    pub async fn coordinators(&self) -> Result<OrderedMap<String, Owner>> {
        let mut most = Vec::new();
        for class in self.names("v1/do").await? {
            let objects = self.names(&format!("v1/do/{class}")).await?;
            if objects.len() > most.len() {
                let path = |object| format!("v1/do/{class}/{object}");
                most = objects.into_iter().map(path).collect();
            }
        }
        let nodes = self.nodes().await?;
        let mut owners = OrderedMap::new();
        for object in most {
            let own: Own = self.json(&format!("{object}/own.json")).await?;
            let address = nodes.get(&own.node).cloned().unwrap_or_default();
            let node = own.node;
            owners.insert(object, Owner { node, address });
        }
        Ok(owners)
    }

    /// The addresses of the instances, by the names that they gave themselves.
    async fn nodes(&self) -> Result<OrderedMap<String, String>> {
        let mut nodes = OrderedMap::new();
        for file in self.names("v1/nodes").await? {
            let Node { node, address } = self.json(&format!("v1/nodes/{file}")).await?;
            nodes.insert(node, address);
        }
        Ok(nodes)
    }

    /// What is in a folder.
    async fn names(&self, path: &str) -> Result<Vec<String>> {
        let url = format!("{}/?limit={ENTRIES_MAX}", self.place(path));
        let reply = self.http.get(url).header("accept", "application/json");
        let reply = reply.send().await.context("ask for a folder")?;
        ensure!(reply.status().is_success(), "{path}: {}", reply.status());
        let listing: Listing = reply.json().await.context("read a folder")?;
        let entries = listing.entries.unwrap_or_default().into_iter();
        let name = |entry: Entry| entry.path.rsplit('/').next().unwrap_or_default().to_owned();
        Ok(entries.map(name).collect())
    }

    async fn json<T: DeserializeOwned>(&self, path: &str) -> Result<T> {
        let reply = self.http.get(self.place(path)).send().await;
        let reply = reply.with_context(|| format!("ask for {path}"))?;
        reply.json().await.with_context(|| format!("read {path}"))
    }

    fn place(&self, path: &str) -> String {
        let root = format!("http://127.0.0.1:{}/buckets/{NAME}", self.files);
        match path {
            "" => root,
            path => format!("{root}/{PREFIX}/{path}"),
        }
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let ours = |name: &str| {
            let mut ends = self.ports.iter().map(|port| format!("-{port}.sock"));
            name.starts_with("seaweedfs-") && ends.any(|end| name.ends_with(&end))
        };
        for entry in std::fs::read_dir(SOCKETS).into_iter().flatten().flatten() {
            if ours(&entry.file_name().to_string_lossy()) {
                // It may be gone already.
                let _gone = std::fs::remove_file(entry.path());
            }
        }
    }
}
