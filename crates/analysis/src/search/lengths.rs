//! How long the trials of a search are.
