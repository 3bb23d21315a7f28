//! From a Java client as a plan names it to a command line: jars, compiled classes, options of its Java process.
//! The Java sources that drive it stand in `java/` and are compiled once into the cache.

#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
