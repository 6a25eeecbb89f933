//! Schemathesis asks the Worker whatever the document allows and forbids, and holds the answers against it.
