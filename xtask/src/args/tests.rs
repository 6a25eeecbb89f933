//! Tests: what the command line is read as.

use super::*;

fn check(line: &str, expected: Command) {
    let arguments = line.split_whitespace().map(OsString::from);
    assert_eq!(parse(arguments).unwrap(), expected, "{line}");
}

fn refused(line: &str, part: &str) {
    let arguments = line.split_whitespace().map(OsString::from);
    let message = parse(arguments).unwrap_err().to_string();
    assert!(message.contains(part), "{line}: {message}");
}

#[test]
fn each_command_is_read() {
    check("", Command::Help);
    check("--help", Command::Help);
    check("setup", Command::Setup);
    check("env", Command::Env);
    check("test", Command::Test(Scope::Everything));
    check("test --help", Command::Help);
    check("fuzz -h", Command::Help);
}

#[test]
fn build_means_both_unless_one_is_named() {
    let only = |edge, console| Command::Build(Selection { edge, console });
    check("build", only(true, true));
    check("build --edge", only(true, false));
    check("build --console", only(false, true));
    check("build --edge --console", only(true, true));
}

#[test]
fn dev_has_a_port_and_a_demo() {
    let dev = |demo, port| Command::Dev(DevOptions { demo, port });
    check("dev", dev(false, 8787));
    check("dev --demo", dev(true, 8787));
    check("dev --port 9000 --demo", dev(true, 9000));
    check("dev --port=9000", dev(false, 9000));
}

#[test]
fn cluster_takes_a_version_of_workerd() {
    check("cluster", Command::Cluster { workerd: None });
    let workerd = Some("1.20270101.0".to_owned());
    check(
        "cluster --workerd 1.20270101.0",
        Command::Cluster { workerd },
    );
    for version in ["latest", "../1.2", "1.2/x"] {
        refused(&format!("cluster --workerd {version}"), version);
    }
}

#[test]
fn test_takes_one_scope() {
    check("test --only fmt", Command::Test(Scope::Only(Step::Fmt)));
    check("test --quick", Command::Test(Scope::Quick));
    let repeat = |times, busy, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Command::Test(Scope::Repeat { times, busy, names })
    };
    check("test --repeat 10", repeat(10, false, &[]));
    check("test --busy --repeat=3", repeat(3, true, &[]));
    let named = repeat(2, false, &["shares", "limits::storm"]);
    check("test --repeat 2 shares limits::storm", named);
    refused("test --repeat 2 .*", "not `.*`");
    refused("test shares", "shares");
}

#[test]
fn mutants_are_a_sample_a_seed_and_a_shard() {
    let mutants = |sample, seed, shard| {
        let options = MutantsOptions {
            sample,
            seed,
            shard,
        };
        Command::Mutants(options)
    };
    check("mutants", mutants(SAMPLE, SEED, (1, 1)));
    check("mutants --sample 9 --seed 7", mutants(9, 7, (1, 1)));
    check("mutants --shard 2/4", mutants(SAMPLE, SEED, (2, 4)));
    for shard in ["0/4", "5/4", "1/0", "4", "a/b", "1/2/3"] {
        refused(&format!("mutants --shard {shard}"), "as 1/4");
    }
    refused("mutants --sample 0", "from 1 on");
}

#[test]
fn bench_takes_one_section_and_the_edge_a_version_before() {
    let bench = |only, from: Option<&str>| Command::Bench {
        only,
        from: from.map(str::to_owned),
    };
    check("bench", bench(None, None));
    check("bench --only latency", bench(Some(Section::Latency), None));
    let beside = bench(Some(Section::Edge), Some("v0.2.0"));
    check("bench --only edge --from v0.2.0", beside);
}

#[test]
fn mdbook_is_told_that_any_output_is_served_before_it_gives_the_book() {
    check("book", Command::Book);
    check("book-check", Command::BookCheck);
    check("book-pages", Command::BookPages);
    check("book-pages supports html", Command::Nothing);
    refused("book-pages now", "now");
}

#[test]
fn upgrade_starts_from_a_revision_or_from_what_is_named() {
    check("upgrade", Command::Upgrade { from: None });
    let from = Some("v0.2.0".to_owned());
    check("upgrade --from v0.2.0", Command::Upgrade { from });
    refused("upgrade v0.2.0", "v0.2.0");
}

#[test]
fn vectors_takes_one_folder() {
    let folder = PathBuf::from("../some/folder");
    check("vectors ../some/folder", Command::Vectors { folder });
    check("vectors --help", Command::Help);
    refused("vectors", "the folder to replay");
    refused("vectors one two", "two");
}

#[test]
fn fuzz_takes_a_number_and_a_target() {
    check("fuzz", Command::Fuzz(FuzzOptions::default()));
    let options = FuzzOptions {
        executions: Some(7),
        target: Some("json".to_owned()),
    };
    check("fuzz --target json --executions 7", Command::Fuzz(options));
    refused("fuzz --executions many", "many");
}

#[test]
fn what_is_not_understood_is_named() {
    refused("serve", "unknown command `serve`");
    refused("build --fast", "--fast");
    refused("setup now", "now");
    refused("dev --port", "--port");
    refused("dev --port 0", "not `0`");
    refused("dev --port 65536", "not `65536`");
    refused("test --only lint", "no step `lint`");
    refused("test --repeat 0", "not `0`");
    refused("test --quick --only fmt", "one of");
    refused("test --busy", "--repeat");
    refused("bench --only speed", "no section `speed`");
    refused("bench --only latency --from v0.2.0", "--only edge");
}
