//! Bounds of what agents say, and of the table by which they decide.

/// Bytes of an agent's contact. A frame of counters has up to 1.9 MB, a message on a budget with 512 tenants of usual names
/// some 100 kB. An agent sends what has no room with the next contact.
pub const AGENT_CONTACT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Milliseconds after which an agent that has nothing to tell asks whether the policy or its token changed. As long as a
/// region waits before it asks the registry, so a change reaches an agent whose region missed it within twice that.
pub const AGENT_POLL_MS: u64 = super::POLICY_POLL_MS;

/// The deadline of an agent's contact: a call within the deployment, and the way there and back from another continent.
pub const AGENT_CALL_MS_MAX: u64 = super::CALL_MS_MAX + 1_000;

/// Contacts of one agent that are under way at a time: each is for other budgets. Further ones wait for one of these.
pub const AGENT_CONTACTS_MAX: usize = 4;

/// How long an agent that ends tries to give back what it holds: three contacts, within the ten seconds that most
/// supervisors grant.
pub const AGENT_CLOSE_MS_MAX: u64 = 5_000;

/// Domains of descriptors in one policy: each is one configuration of proxies.
pub const DESCRIPTOR_DOMAINS_MAX: usize = 64;

/// Rules of descriptors in one policy, over all domains. The first that fits is found by trying them in their order, which
/// takes some ten microseconds at this number.
pub const DESCRIPTORS_MAX: usize = 1_024;

/// Entries of one descriptor, in a rule and in a request: Envoy's own examples have at most four.
pub const DESCRIPTOR_ENTRIES_MAX: usize = 16;

/// Descriptors of one request: as many as it may have checks (`CHECKS_MAX`).
pub const DESCRIPTORS_PER_REQUEST_MAX: usize = super::CHECKS_MAX;

/// Bytes of a request to an agent over gRPC: sixteen descriptors of sixteen entries of the longest names take 70 kB.
pub const DESCRIPTORS_BYTES_MAX: usize = 128 * 1024;
