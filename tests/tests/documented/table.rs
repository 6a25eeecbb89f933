//! Every block of commands or code, by the page and by how it begins, and what keeps it true.

/// What keeps a block true.
pub(super) enum Kept {
    /// `here.rs` runs it at a deployment, and it says this.
    Here {
        /// A part of what it prints.
        says: &'static str,
    },
    /// Another test takes it from the page.
    By {
        /// The file of the test, from the root of the repository.
        file: &'static str,
        /// Its name.
        test: &'static str,
    },
    /// It is not run, for this reason. Its command lines are read by the parsers of their programs.
    Read(&'static str),
}

use Kept::{By, Here, Read};

const fn by(file: &'static str, test: &'static str) -> Kept {
    By { file, test }
}

const fn here(says: &'static str) -> Kept {
    Here { says }
}

/// The package, as it is installed.
const PACKAGE: Kept = by(
    "tests/tests/package.rs",
    "the_pages_show_the_commands_that_are_run_here",
);

/// One of the examples that `examples.rs` compares with what a client's tests compile.
const COMPILED: Kept = by(
    "tests/tests/documented/examples.rs",
    "every_example_of_a_client_is_part_of_what_its_tests_compile_or_run",
);

const START: Kept = by(
    "tests/tests/start.rs",
    "each_command_of_the_five_minute_start_does_what_the_page_says",
);
const AGENT: Kept = by(
    "tests/tests/documented/agent.rs",
    "an_agent_that_is_started_as_its_page_says_is_asked_as_it_says",
);
const GENERATED: Kept = by(
    "tests/tests/clients/openapi/generators.rs",
    "by_the_types_of_openapi_typescript_an_application_compiles_and_is_answered",
);

const ACCOUNT: Kept =
    Read("it needs an account at Cloudflare; `wrangler.rs` looks for each flag in wrangler's help");
const ENGINE: Kept =
    Read("it needs a container engine; `xtask/src/containers.rs` checks the files that it names");
const REPOSITORY: Kept = Read("it is how these tests and the measurements are started");

const RUN_ANYWHERE: &str = "docs/src/guides/run-anywhere.md";
const POLICY_AS_CODE: &str = "docs/src/guides/policy-as-code.md";
const START_PAGE: &str = "docs/src/start.md";
const TYPESCRIPT: &str = "clients/typescript/README.md";
const PYTHON: &str = "clients/python/README.md";
const RUST: &str = "clients/rust/README.md";
const GO: &str = "clients/go/README.md";

pub(super) const TABLE: [(&str, &str, Kept); 65] = [
    ("CONTRIBUTING.md", "cargo xtask dev --demo", REPOSITORY),
    ("CONTRIBUTING.md", "eval \"$(cargo xtask env)\"", REPOSITORY),
    ("CONTRIBUTING.md", "WEIR_WRITE_BOOK=1 ", REPOSITORY),
    ("README.md", "npm install ./weir-", PACKAGE),
    ("README.md", "cargo xtask dev --demo", REPOSITORY),
    ("TESTING.md", "cargo xtask test ", REPOSITORY),
    ("TESTING.md", "WEIR_SEED=24 ", REPOSITORY),
    ("TESTING.md", "cargo xtask fuzz", REPOSITORY),
    (
        GO,
        "client, err := weir.New(",
        by(
            "tests/tests/clients/go.rs",
            "the_example_of_the_readme_runs",
        ),
    ),
    (GO, "decision, err := client.Reserve(", COMPILED),
    (
        PYTHON,
        "import os\n",
        by(
            "tests/tests/clients/python/packed.rs",
            "the_example_of_the_readme_runs_where_the_package_is_installed",
        ),
    ),
    (PYTHON, "with weir.reserve(", COMPILED),
    (PYTHON, "def asks(scope):", COMPILED),
    (
        RUST,
        "use weir_client::",
        by(
            "tests/tests/clients/rust.rs",
            "the_example_of_the_readme_runs",
        ),
    ),
    (RUST, "let outcome = weir\n", COMPILED),
    (RUST, "let layer = ", COMPILED),
    (
        TYPESCRIPT,
        "import { Weir } from ",
        by(
            "tests/tests/clients/typescript/packed.rs",
            "the_example_of_the_readme_runs_where_the_package_alone_is_installed",
        ),
    ),
    (TYPESCRIPT, "const outcome = ", COMPILED),
    (TYPESCRIPT, "import { WeirStore } from ", COMPILED),
    (
        "docs/src/guides/agent.md",
        "weir token create ",
        here("weir_"),
    ),
    (
        "docs/src/guides/agent.md",
        "cargo build --profile native -p weir-agent\n",
        AGENT,
    ),
    ("docs/src/guides/agent.md", "curl -d ", AGENT),
    ("docs/src/guides/deploy.md", "npx weir init ", PACKAGE),
    ("docs/src/guides/deploy.md", "npm ci\n", ACCOUNT),
    (
        "docs/src/guides/deploy.md",
        "npx wrangler secret put WEIR_BOOTSTRAP_TOKEN --env staging",
        ACCOUNT,
    ),
    (
        "docs/src/guides/deploy.md",
        "[![Deploy to Cloudflare]",
        Read("a button for a page of your own"),
    ),
    ("docs/src/guides/deploy.md", "npx weir serve ", PACKAGE),
    (
        "docs/src/guides/incident.md",
        "curl -H ",
        here("\"tenant\":\"acme\""),
    ),
    ("docs/src/guides/llm-gateway.md", "KEY=", here("  -\n")),
    (
        "docs/src/guides/llm-gateway.md",
        "npx wrangler secret put OPENAI_KEY",
        ACCOUNT,
    ),
    (
        "docs/src/guides/llm-gateway.md",
        "client = OpenAI(",
        COMPILED,
    ),
    (
        "docs/src/guides/llm-gateway.md",
        "answer = litellm.completion(",
        COMPILED,
    ),
    (
        "docs/src/guides/migration.md",
        "weir import nginx ",
        here(""),
    ),
    (
        "docs/src/guides/migration.md",
        "log_format verdicts ",
        by(
            "tests/tests/cli/agreement.rs",
            "the_imported_policy_agrees_with_nginx_about_99_of_100_requests",
        ),
    ),
    (
        "docs/src/guides/migration.md",
        "weir agreement ",
        here("100"),
    ),
    (
        "docs/src/guides/other-languages.md",
        "curl -o openapi.json ",
        here(""),
    ),
    (
        "docs/src/guides/other-languages.md",
        "npx openapi-typescript ",
        GENERATED,
    ),
    (
        "docs/src/guides/other-languages.md",
        "{{#include ../../../tests/openapi/application.ts}}",
        GENERATED,
    ),
    (
        "docs/src/guides/other-languages.md",
        "openapi-python-client ",
        by(
            "tests/tests/clients/openapi/generators.rs",
            "the_client_of_openapi_python_client_is_whole_and_is_answered",
        ),
    ),
    (
        "docs/src/guides/other-languages.md",
        "{{#include ../../../tests/openapi/application.py}}",
        by(
            "tests/tests/clients/openapi/generators.rs",
            "the_client_of_openapi_python_client_is_whole_and_is_answered",
        ),
    ),
    (POLICY_AS_CODE, "npm install ./weir-", PACKAGE),
    (
        POLICY_AS_CODE,
        "cargo build --profile native -p weir-cli",
        here("login.json"),
    ),
    (POLICY_AS_CODE, "weir replay ", here("acme")),
    (
        POLICY_AS_CODE,
        "policy=${1:-policy.json}",
        by(
            "tests/tests/cli/pipeline.rs",
            "a_change_that_starves_a_tenant_is_blocked_and_another_one_passes",
        ),
    ),
    (RUN_ANYWHERE, "npx weir serve ", PACKAGE),
    (RUN_ANYWHERE, "cargo xtask package", ENGINE),
    (RUN_ANYWHERE, "docker compose ", ENGINE),
    (
        RUN_ANYWHERE,
        "kubectl create namespace ",
        Read("it needs a cluster; `xtask/src/containers.rs` checks the files that it names"),
    ),
    (
        RUN_ANYWHERE,
        "cargo xtask cluster",
        Read("it takes minutes; it is a command that is run by itself"),
    ),
    (
        "docs/src/guides/runbooks.md",
        "rule_files: ",
        by(
            "tests/tests/prometheus.rs",
            "the_configuration_of_the_runbooks_is_one_of_prometheus",
        ),
    ),
    ("docs/src/guides/runbooks.md", "sed ", here("")),
    (
        "docs/src/guides/traces.md",
        "npx wrangler secret put WEIR_OTLP_HEADERS",
        ACCOUNT,
    ),
    (
        "docs/src/guides/traces.md",
        "[vars]\n",
        by(
            "xtask/src/settings.rs",
            "what_the_pages_set_is_read_by_the_code",
        ),
    ),
    (
        "docs/src/guides/upgrade.md",
        "npx wrangler versions upload ",
        here("\"status\":\"ok\""),
    ),
    (
        "docs/src/guides/upgrade.md",
        "npx wrangler rollback",
        ACCOUNT,
    ),
    (
        "docs/src/reference/gateway.md",
        "curl -i ",
        here("weir-tenant: acme"),
    ),
    (START_PAGE, "npm install ./weir-", PACKAGE),
    (START_PAGE, "export TOKEN=", Read("the reader's own token")),
    (
        START_PAGE,
        "curl -s http://127.0.0.1:8787/v1/check \\\n  -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -d '{\"tenant\":\"acme\",\"budget\":\"tokens\",\"cost\":3}'",
        START,
    ),
    (
        START_PAGE,
        "curl -s http://127.0.0.1:8787/v1/check \\\n  -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' \\\n  -d '{\"tenant\":\"acme\",\"budget\":\"tokens\",\"cost\":40000}'",
        START,
    ),
    (START_PAGE, "RESERVATION=", START),
    (
        START_PAGE,
        "curl -s http://127.0.0.1:8787/operator/v1/policy ",
        START,
    ),
    (
        "examples/service-binding/README.md",
        "curl -X POST ",
        here("\"token\":\"weir_"),
    ),
    ("package/README.md", "npm install ./weir-", PACKAGE),
    ("package/template/README.md", "npm install\n", PACKAGE),
];
