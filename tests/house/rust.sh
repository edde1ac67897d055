#!/bin/sh
# rust.sh - compiles one file with Debian's crates, without the network, and runs it: rust.sh FILE

set -e
mkdir -p crate/.cargo
cp "$1" crate/main.rs
cat >crate/Cargo.toml <<'CRATE'
[package]
name = "program"
version = "0.0.0"
edition = "2021"

[[bin]]
name = "program"
path = "main.rs"

[dependencies]
rusqlite = { version = "0.28", features = ["load_extension"] }

[profile.dev]
debug = 0
CRATE
cat >crate/.cargo/config.toml <<'CONFIG'
[source.crates-io]
replace-with = "debian"

[source.debian]
directory = "/usr/share/cargo/registry"
CONFIG
(cd crate && CARGO_HOME="$PWD/home" PATH="/usr/bin:$PATH" cargo build --offline --quiet --jobs 1)
exec crate/target/debug/program
