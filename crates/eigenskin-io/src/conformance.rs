//! Conformance vectors.
