//! Several instances: `deploy/cluster/`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{paths, read, variables, words, yaml};
use crate::cluster::SERVER;

const FOLDER: &str = "deploy/cluster";

/// What the instances share, in a container.
const SHARED: &str = "/etc/weir-cluster/cluster.json";

/// Where an instance reaches another one.
const PEERS: &str = "7000";

/// The command of an instance: that of the image, and with whom it shares.
fn command(address: &str) -> Vec<String> {
    let more = ["--cluster", SHARED, "--cluster-address", address].map(str::to_owned);
    [words("CMD"), more.to_vec()].concat()
}

/// The image of one node, whose workerd has the cluster mode.
fn image() -> String {
    format!("weir:{}", env!("CARGO_PKG_VERSION"))
}

/// A mapping with what its `<<` names, which counts where it says nothing itself.
fn merged(value: &Value) -> Value {
    let Value::Object(own) = value else {
        return value.clone();
    };
    let under = own
        .get("<<")
        .and_then(|under| merged(under).as_object().cloned());
    let mut all: Map<String, Value> = under.unwrap_or_default();
    let own = own.iter().filter(|(name, _)| *name != "<<");
    all.extend(own.map(|(name, value)| (name.clone(), merged(value))));
    Value::Object(all)
}

/// The instances that Compose starts, in order.
fn services() -> Vec<Value> {
    let compose = merged(&yaml(&format!("{FOLDER}/compose.yaml")));
    let all = compose["services"].as_object().unwrap();
    let instances = all.iter().filter(|(name, _)| name.starts_with("weir-"));
    instances.map(|(_, service)| service.clone()).collect()
}

fn pod() -> Value {
    yaml(&format!("{FOLDER}/kubernetes/stateful-set.yaml"))["spec"]["template"]["spec"].take()
}

#[test]
fn an_instance_takes_options_that_the_command_has() {
    let usage = read("package/lib/main.js");
    for word in command("").iter().filter(|word| word.starts_with("--")) {
        assert!(usage.contains(word.as_str()), "{word}");
    }
}

#[test]
fn each_instance_of_compose_has_an_address_a_region_and_a_disk_of_its_own() {
    let services = services();
    assert_eq!(services.len(), 3);
    let mut own: Vec<[String; 4]> = Vec::new();
    for service in &services {
        let address = service["networks"]["peers"]["ipv4_address"]
            .as_str()
            .unwrap();
        assert_eq!(
            service["command"],
            json!(command(&format!("{address}:{PEERS}")))
        );
        let volumes = service["volumes"].as_array().unwrap();
        assert_eq!(volumes[1], format!("./cluster.json:{SHARED}:ro"));
        let environment = service["environment"].as_object().unwrap();
        variables(environment.keys().cloned());
        own.push([
            address.to_owned(),
            environment["REGION"].to_string(),
            volumes[0].to_string(),
            service["ports"][0].to_string(),
        ]);
        assert_eq!(service["image"], image());
        assert_eq!(service["build"]["dockerfile"], super::CONTAINERFILE);
        assert_eq!(
            (&service["read_only"], &service["user"]),
            (&json!(true), &json!("1000:1000"))
        );
    }
    let different = |field: usize| own.iter().map(|one| &one[field]).collect::<BTreeSet<_>>();
    for field in 0..4 {
        assert_eq!(different(field).len(), 3, "{own:?}");
    }
    let server = yaml(&format!("{FOLDER}/compose.yaml"))["services"]["s3"]["image"].take();
    let version = SERVER.rsplit("==").next().unwrap();
    assert_eq!(server, format!("docker.io/chrislusf/seaweedfs:{version}"));
}

#[test]
fn each_pod_is_started_as_the_image_is_and_has_a_region_by_its_number() {
    let pod = pod();
    let container = &pod["containers"][0];
    assert_eq!(container["args"], json!(command("$(POD_IP):7000")));
    assert_eq!(container["image"], image());
    let set = yaml(&format!("{FOLDER}/kubernetes/stateful-set.yaml"));
    let regions = container["command"][4].as_str().unwrap();
    assert_eq!(set["spec"]["replicas"], regions.split(' ').count());
    assert_eq!(
        set["spec"]["serviceName"],
        yaml(&format!("{FOLDER}/kubernetes/peers.yaml"))["metadata"]["name"]
    );
    let script = container["command"][2].as_str().unwrap();
    for (number, region) in regions.split(' ').enumerate() {
        let told = script.replace(
            "exec node /opt/weir/node_modules/weir/bin/weir.js",
            "echo $REGION",
        );
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &told, "weir", regions, "serve"])
            .env("HOSTNAME", format!("weir-{number}"));
        let said = shell.output().unwrap().stdout;
        assert_eq!(
            String::from_utf8_lossy(&said).trim(),
            format!("{region} serve")
        );
    }
    let ports = container["ports"].as_array().unwrap();
    assert_eq!(ports[1]["containerPort"].to_string(), PEERS);
}

#[test]
fn everything_of_it_is_listed_and_found_by_a_label_of_its_own() {
    let folder = format!("{FOLDER}/kubernetes");
    let listed = yaml(&format!("{folder}/kustomization.yaml"));
    let listed = listed["resources"].as_array().unwrap();
    let files = std::fs::read_dir(paths::root().join(&folder))
        .unwrap()
        .count();
    assert_eq!(listed.len() + 1, files, "{listed:?}");
    let label = json!({ "app.kubernetes.io/name": "weir-cluster" });
    for file in listed {
        let object = yaml(&format!("{folder}/{}", file.as_str().unwrap()));
        assert_eq!(object["metadata"]["labels"], label, "{file}");
        let spec = &object["spec"];
        let selector = spec["selector"]
            .get("matchLabels")
            .unwrap_or(&spec["selector"]);
        let selector = if selector.is_null() {
            &spec["podSelector"]["matchLabels"]
        } else {
            selector
        };
        assert_eq!(*selector, label, "{file}");
    }
}

#[test]
fn the_example_has_the_fields_that_the_command_reads_and_is_not_committed_when_it_is_filled_in() {
    let example: Value =
        serde_json::from_str(&read(&format!("{FOLDER}/cluster.json.example"))).unwrap();
    let names: Vec<&String> = example.as_object().unwrap().keys().collect();
    let reader = read("package/lib/cluster.js");
    assert!(reader.contains("const { bucket, options = [], key, ...others } = Object(said);"));
    assert_eq!(names.len(), 3);
    for name in ["bucket", "options", "key"] {
        assert!(example.get(name).is_some(), "{name}");
    }
    assert!(example["key"].as_str().unwrap().len() >= 32);
    assert!(
        read(".gitignore")
            .lines()
            .any(|line| line == "/deploy/cluster/cluster.json")
    );
}
