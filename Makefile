# Every target does its own set-up: what is missing is named, and installed when this user may.
# A machine without make: apt-get install make, or read the commands below; they are all there is.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help demo test check bench release test-kubernetes test-library test-matrix accuracy accuracy-cluster mutants docs pictures clean

# No colours: output goes to logs as often as to terminals.
export CARGO_TERM_COLOR ?= never

# Checks and tests share one build: Clippy is the compiler of the crates of the workspace there, and what it warns of is an
# error. Cargo's own `cargo clippy` would compile all dependencies a second time.
check test: export RUSTC_WORKSPACE_WRAPPER = clippy-driver
check test: export CLIPPY_ARGS = -Dwarnings

# Builds are always of the whole workspace: a package by itself resolves to other features, and all that stands below would
# be built once more. So would it without what tests alone depend on: the program is built for its own test.
XTASK = cargo test --quiet --workspace --test setup_script --no-run && $${CARGO_TARGET_DIR:-target}/debug/xtask

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r target words; do \
		printf '%-20s %s\n' "$$target" "$$words" || exit 0; done

demo: ## measure a real three-broker Kafka on this machine (minutes, most of them the first build)
	@scripts/setup.sh kafka
	@scripts/web.sh
	cargo build --profile demo --workspace --bin kdyno
	$${CARGO_TARGET_DIR:-target}/demo/kdyno run first-light

test: ## all tests, those against real clusters and in a browser too; the last line is the summary
	@scripts/setup.sh kafka database hosts browser
	@scripts/web.sh
	$(XTASK) test --lib --bins --tests

check: ## what needs no cluster: format, lints, the never-rules, freshness of generated files
	@scripts/setup.sh web
	@scripts/web.sh
	npm --prefix web run --silent check
	cargo fmt --all --check
	cargo test --quiet --workspace --lib --bins --tests --no-run
	$(XTASK) tidy
	$(XTASK) messages
	cargo test --quiet --workspace --test reference
	cargo test --quiet --workspace --test report the_committed

bench: ## cost and rates beside the peers' own tools (ONLY="floor sender --quick"), or beside a commit or another build (AGAINST=COMMIT|PROGRAM)
	@scripts/setup.sh bench
	cargo build --release --workspace --bin kdyno --bin kdyno-bench --bin xtask
	$${CARGO_TARGET_DIR:-target}/release/xtask bench $(if $(AGAINST),--against $(AGAINST)) $(ONLY)

release: ## archive, Debian package and container image that run where no toolchain is, with their sums, in target/release-archive
	@scripts/setup.sh web package
	@scripts/web.sh
	cargo build --locked --release --workspace --features kdyno/kubernetes --bin kdyno --bin xtask
	$${CARGO_TARGET_DIR:-target}/release/xtask release

# With a feature that other builds have not.
test-kubernetes: ## load from pods of a Kubernetes cluster of two real nodes, started for it and ended after it (as root; a quarter of an hour once, then minutes)
	@scripts/setup.sh kubernetes
	scripts/kubernetes/test.sh $(ONLY)

# A workspace of its own, which takes longer to build than the tests that need it: no part of `make test`.
test-library: ## the example application: format, lints, its tests, and what goes wrong on real brokers (quarter of an hour)
	@scripts/setup.sh kafka database library
	cargo fmt --manifest-path apps/library/Cargo.toml --check
	cargo clippy --locked --quiet --release --manifest-path apps/library/Cargo.toml --all-targets -- -D warnings
	cargo test --locked --quiet --release --manifest-path apps/library/Cargo.toml
	KDYNO_MATRIX=full cargo test --workspace --test library

test-matrix: ## every Kafka version and mode of the table in docs (long, downloads all of them), and the patches of xtask/proofs
	@scripts/setup.sh kafka
	$(XTASK) proofs
	KDYNO_MATRIX=full cargo test --workspace --test clusters
	KDYNO_MATRIX=full cargo test --workspace --test defaults
	KDYNO_MATRIX=full cargo test --workspace --test real_cluster -- \
		groups each_release transactions_are perf_test java_clients a_token a_thousand_producers bundled_smoke \
		alone::health alone::quota a_bundled_report zones
	KDYNO_MATRIX=full cargo test --workspace --test null_broker -- clients_lose_nothing
	KDYNO_MATRIX=full cargo test --workspace --test provoked -- health limits answers_that
	@$(MAKE) test-library

accuracy: ## known-truth tests of the measuring itself, then the same on real clocks beside bare loops (ONLY="probes relay" or ONLY=verdicts: these alone)
	@scripts/setup.sh kafka accuracy
	$(if $(ONLY),,KDYNO_ACCURACY=full cargo test --workspace --test streams -- accuracy:: accounting::)
	cargo build --release --workspace --bin kdyno --bin kdyno-bench --bin xtask
	$${CARGO_TARGET_DIR:-target}/release/xtask accuracy $(ONLY)

# What each answers is to be compared with docs/benchmarks.md: that one side is worse is no failure.
accuracy-cluster: export KDYNO_OUT = target/accuracy-cluster
accuracy-cluster: ## known truths on real brokers: a system compared with itself, a planted difference, two searches (an hour)
	@scripts/setup.sh kafka
	cargo build --release --workspace --bin kdyno
	-$${CARGO_TARGET_DIR:-target}/release/kdyno compare xtask/accuracy/a-a.yaml --profile duet
	-$${CARGO_TARGET_DIR:-target}/release/kdyno compare xtask/accuracy/planted.yaml
	-$${CARGO_TARGET_DIR:-target}/release/kdyno find xtask/accuracy/search.yaml --seed 20261122
	-$${CARGO_TARGET_DIR:-target}/release/kdyno find xtask/accuracy/search.yaml --seed 20261123

# What judges is tested by the plans that it leads, recorder and client by the crates around them: those run too.
MUTANTS = target/tools/bin/cargo-mutants mutants --colors never --no-shuffle --timeout 300 $(if $(SHARD),--shard $(SHARD))

mutants: ## change what judges and counts, one thing at a time: does a test notice? (hours; SHARD=k/n for a part)
	@scripts/setup.sh build
	cargo install --quiet --locked --root target/tools cargo-mutants@27.0.0
	$(MUTANTS) --output target/mutants/judging --package kdyno-analysis --package kdyno-plan \
		--test-package kdyno-analysis --test-package kdyno-plan
	$(MUTANTS) --output target/mutants/counting --package kdyno-kafka --package kdyno-load \
		--file 'crates/load/src/recorder.rs' --file 'crates/kafka/src/{producer,consumer,connection,session,broker_connections,admin}/**' \
		--test-package kdyno-kafka --test-package kdyno-kafka-server --test-package kdyno-fake-broker --test-package kdyno-load

docs: ## all documents as a searchable book, target/book/index.html
	@scripts/setup.sh build
	cargo install --quiet --locked --root target/tools --no-default-features --features search mdbook@0.5.4
	$(XTASK) book
	target/tools/bin/mdbook build

pictures: ## the pictures of the documents again, from runs of this machine (ten minutes; runs in target/pictures are taken)
	@scripts/setup.sh kafka browser
	@scripts/web.sh
	cargo build --release --workspace --bin kdyno
	scripts/pictures.sh

clean: ## remove everything that was built
	cargo clean
