//! What runs Weir in a container names what is there: the package and its command, ports, paths, variables and users.

mod cluster;

use std::collections::BTreeMap;
use std::fs;

use saphyr::{LoadableYamlNode, ScalarOwned, YamlOwned};
use serde_json::{Value, json};

use crate::{paths, settings};

const CONTAINERFILE: &str = "deploy/Containerfile";
const COMPOSE: &str = "deploy/compose.yaml";
const KUBERNETES: &str = "deploy/kubernetes";

fn read(path: &str) -> String {
    fs::read_to_string(paths::root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    let documents = YamlOwned::load_from_str(&read(path)).unwrap();
    assert_eq!(documents.len(), 1, "{path}");
    as_json(&documents[0])
}

fn as_json(node: &YamlOwned) -> Value {
    match node {
        YamlOwned::Mapping(members) => {
            let members = members.iter();
            members
                .map(|(name, value)| (name.as_str().unwrap().to_owned(), as_json(value)))
                .collect()
        }
        YamlOwned::Sequence(items) => items.iter().map(as_json).collect(),
        YamlOwned::Value(ScalarOwned::Boolean(value)) => json!(value),
        YamlOwned::Value(ScalarOwned::Integer(value)) => json!(value),
        YamlOwned::Value(ScalarOwned::String(value)) => json!(value),
        YamlOwned::Value(ScalarOwned::Null) => Value::Null,
        other => panic!("{other:?} is not used here"),
    }
}

/// The instructions of the Containerfile: name and the rest, in order.
fn instructions() -> Vec<(String, String)> {
    let text = read(CONTAINERFILE).replace("\\\n", " ");
    let lines = text.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| line.split_once(' ').unwrap())
        .map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()))
        .collect()
}

/// The last instruction of a name: what counts in the image that is made.
fn last(name: &str) -> String {
    let all = instructions();
    let found = all.iter().rev().find(|(own, _)| own == name);
    found.unwrap_or_else(|| panic!("no {name}")).1.clone()
}

fn words(instruction: &str) -> Vec<String> {
    serde_json::from_str(&last(instruction)).unwrap()
}

/// The word behind an option of the command that the image runs.
fn option(name: &str) -> String {
    let words = words("CMD");
    let at = words.iter().position(|word| word == name).unwrap();
    words[at + 1].clone()
}

fn pod() -> Value {
    yaml(&format!("{KUBERNETES}/stateful-set.yaml"))["spec"]["template"]["spec"].take()
}

fn variables(named: impl IntoIterator<Item = String>) {
    let known = settings::read_by_the_code();
    for name in named {
        assert!(known.contains(&name), "nothing reads {name}");
    }
}

#[test]
fn the_image_holds_the_package_of_this_version_and_runs_its_command() {
    let version = env!("CARGO_PKG_VERSION");
    let package = format!("target/package/weir-{version}.tgz");
    let all = instructions();
    let copied = all
        .iter()
        .any(|(name, rest)| name == "COPY" && rest.split(' ').next() == Some(package.as_str()));
    assert!(copied, "{package}");
    assert!(read("deploy/Containerfile.dockerignore").contains(&package));
    let settings: Value = serde_json::from_str(&read("package/package.json")).unwrap();
    let command = settings["bin"]["weir"].as_str().unwrap();
    let installed = format!("/opt/weir/node_modules/weir/{command}");
    assert_eq!(words("ENTRYPOINT"), ["node", &installed]);
    // Each option is one that the command takes.
    let usage = read("package/lib/main.js");
    for word in words("CMD").iter().filter(|word| word.starts_with("--")) {
        assert!(usage.contains(word.as_str()), "{word}");
    }
    assert_eq!(words("CMD")[0], "serve");
}

#[test]
fn the_image_is_made_of_one_release_of_node_that_the_package_runs_on() {
    let all = instructions();
    let bases: Vec<_> = all.iter().filter(|(name, _)| name == "FROM").collect();
    assert_eq!(bases.len(), 2);
    assert!(bases.iter().all(|(_, base)| base.starts_with("${NODE}")));
    let base = last("ARG");
    let tag = base.rsplit(':').next().unwrap();
    let release = tag.split('-').next().unwrap();
    let numbers: Vec<u32> = release
        .split('.')
        .map(|part| part.parse().unwrap())
        .collect();
    assert_eq!(
        numbers.len(),
        3,
        "{tag}: a release, not whatever is the newest"
    );
    assert!(numbers[0] >= 20, "{tag}");
}

#[test]
fn nobody_runs_it_as_root_and_nothing_but_its_state_is_written() {
    let user = last("USER");
    let (number, group) = user.split_once(':').unwrap();
    assert!(number.parse::<u32>().unwrap() > 0, "{user}");
    let service = &yaml(COMPOSE)["services"]["weir"];
    assert_eq!(service["user"], user);
    assert_eq!(service["read_only"], true);
    assert_eq!(service["cap_drop"], json!(["ALL"]));
    let pod = pod();
    let security = &pod["securityContext"];
    assert_eq!(security["runAsNonRoot"], true);
    assert_eq!(security["runAsUser"].to_string(), number);
    assert_eq!(security["fsGroup"].to_string(), group);
    let own = &pod["containers"][0]["securityContext"];
    assert_eq!(own["readOnlyRootFilesystem"], true);
    assert_eq!(own["allowPrivilegeEscalation"], false);
    assert_eq!(own["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(pod["automountServiceAccountToken"], false);
}

#[test]
fn the_state_and_the_policy_are_where_the_command_looks() {
    let state = option("--dir");
    assert_eq!(last("VOLUME"), state);
    let folder = last("WORKDIR");
    let service = &yaml(COMPOSE)["services"]["weir"];
    let mounts = json!([
        format!("state:{state}"),
        format!("../policy.json:{folder}/policy.json:ro")
    ]);
    assert_eq!(service["volumes"], mounts);
    assert!(paths::root().join("policy.json").is_file());
    let pod = pod();
    let mounted = pod["containers"][0]["volumeMounts"].as_array().unwrap();
    let mounted: BTreeMap<_, _> = mounted
        .iter()
        .map(|mount| {
            (
                mount["name"].as_str().unwrap(),
                mount["mountPath"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(mounted["state"], state);
    assert_eq!(mounted["policy"], folder);
    // Each of them is a volume of the pod, or claimed for it.
    let set = yaml(&format!("{KUBERNETES}/stateful-set.yaml"));
    let claimed = set["spec"]["volumeClaimTemplates"].as_array().unwrap();
    let claimed = claimed.iter().map(|claim| &claim["metadata"]["name"]);
    let volumes = pod["volumes"].as_array().unwrap().iter();
    let known: Vec<_> = volumes
        .map(|volume| &volume["name"])
        .chain(claimed)
        .collect();
    assert_eq!(known.len(), mounted.len());
    assert!(
        known
            .iter()
            .all(|name| mounted.contains_key(name.as_str().unwrap()))
    );
}

#[test]
fn the_port_is_one_and_its_health_is_asked_for_where_it_is_told() {
    let port = option("--port");
    assert_eq!(last("EXPOSE"), port);
    let health = "/healthz";
    assert!(read("shared/access/src/endpoint.rs").contains(&format!("\"{health}\"")));
    assert!(last("HEALTHCHECK").contains(&format!("http://127.0.0.1:{port}{health}")));
    let published = format!("127.0.0.1:{port}:{port}");
    let service = &yaml(COMPOSE)["services"]["weir"];
    assert_eq!(service["ports"], json!([published]));
    let container = pod()["containers"][0].take();
    assert_eq!(container["ports"][0]["containerPort"].to_string(), port);
    for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
        assert_eq!(
            container[probe]["httpGet"],
            json!({ "path": health, "port": "http" })
        );
    }
    let service = yaml(&format!("{KUBERNETES}/service.yaml"));
    assert_eq!(
        service["spec"]["ports"][0]["targetPort"],
        container["ports"][0]["name"]
    );
}

#[test]
fn variables_are_those_that_the_worker_reads() {
    let service = yaml(COMPOSE)["services"]["weir"].take();
    variables(service["environment"].as_object().unwrap().keys().cloned());
    let container = pod()["containers"][0].take();
    let given = container["env"].as_array().unwrap().iter();
    variables(given.map(|entry| entry["name"].as_str().unwrap().to_owned()));
}

#[test]
fn a_second_pod_never_owns_the_state_beside_the_first() {
    let set = yaml(&format!("{KUBERNETES}/stateful-set.yaml"));
    assert_eq!(set["kind"], "StatefulSet");
    assert_eq!(set["spec"]["replicas"], 1);
    let claim = &set["spec"]["volumeClaimTemplates"][0]["spec"];
    assert_eq!(claim["accessModes"], json!(["ReadWriteOncePod"]));
}

#[test]
fn everything_of_the_cluster_is_listed_and_found_by_one_label() {
    let listed = yaml(&format!("{KUBERNETES}/kustomization.yaml"));
    let listed = listed["resources"].as_array().unwrap();
    let files = fs::read_dir(paths::root().join(KUBERNETES))
        .unwrap()
        .count();
    assert_eq!(listed.len() + 1, files, "{listed:?}");
    let label = json!({ "app.kubernetes.io/name": "weir" });
    for file in listed {
        let object = yaml(&format!("{KUBERNETES}/{}", file.as_str().unwrap()));
        assert_eq!(object["metadata"]["labels"], label, "{file}");
    }
    let named = |file: &str| yaml(&format!("{KUBERNETES}/{file}.yaml"))["spec"].take();
    assert_eq!(named("service")["selector"], label);
    assert_eq!(named("network-policy")["podSelector"]["matchLabels"], label);
    assert_eq!(named("stateful-set")["selector"]["matchLabels"], label);
    assert_eq!(
        named("stateful-set")["template"]["metadata"]["labels"],
        label
    );
    let image = format!("weir:{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(yaml(COMPOSE)["services"]["weir"]["image"], image);
    assert_eq!(pod()["containers"][0]["image"], image);
}
