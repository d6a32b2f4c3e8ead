# Every target is documented here; `make help` prints it.
.DEFAULT_GOAL := help
SHELL := /bin/sh

GO ?= go
GOLANGCI_VERSION := v2.12.2
GOVULNCHECK_VERSION := v1.1.4
CYCLONEDX_VERSION := v1.9.0
FUZZTIME ?= 30s
BENCHTIME ?= 1s
DURATION ?= 10s
BIN := bin/culprit

.PHONY: help demo test attack attack-model chaos faults facts check openapi conformance lint vuln bench bench-go bench-queue bench-backlog bench-webhook bench-model bench-prompts bench-culprit eval eval-logs bench-logs fuzz build reproducible sbom image clean

# What is shown is picked from what a test prints; its failure must not be lost.
attack attack-model faults eval-logs: SHELL := bash
attack attack-model faults eval-logs: .SHELLFLAGS := -o pipefail -c

help: ## list the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: ## the main job on this machine: webhook, queue, worker, comment, fix pull request
	$(GO) run ./cmd/bot demo

test: ## all tests, with the race detector
	$(GO) test -race -timeout 25m ./...

chaos: ## 200 jobs while workers and Redis are killed and paused: RUNS=5 repeats, SEED=n draws the same again, JOBS=n
	CHAOS_JOBS=$(or $(JOBS),200) CHAOS_RUNS=$(or $(RUNS),1) CHAOS_SEED=$(or $(SEED),0) \
	  $(GO) test -count=1 -timeout 3h -v -run '^TestChaosLosesNothing' ./cmd/bot

attack: ## a hostile repository tries to break out of each sandbox, strangers try the webhook's door: a table of what was tried and what stopped it
	@CULPRIT_ATTACK=all CULPRIT_REQUIRE=all $(GO) test -count=1 -run '^Test(Attacks|Attempts)' -v ./cmd/bot | grep -vE '^(=== |\s+botprocess)'

attack-model: ## a hostile model tries to break its rules in sessions: a table of what it tried, what stopped it, and the line that shows it
	@CULPRIT_REQUIRE=all $(GO) test -count=1 -run '^Test(AModelThat|TheDocumentedActs)' -v ./cmd/bot | grep -vE '^(=== |\s+botprocess)'

faults: ## every call to GitHub with every mishap, alone, once and for good; the last line counts (about 15 minutes); PART=name for some
	@CULPRIT_FAULTS=$(or $(PART),all) $(GO) test -count=1 -timeout 1h -v -run '^TestWhateverCallFails' ./cmd/bot | grep -v '^ *\(=== \|--- PASS\|PASS\|ok \)'

facts: ## what ADR 1 says of asynq and Redis Streams, shown on both (needs redis-server)
	cd bench && $(GO) test -count=1 ./asynqfacts ./streamfacts

check: ## format, vet, import rules, false redactions, golangci-lint, govulncheck
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "not formatted: run gofmt -w"; exit 1; }
	$(GO) vet ./...
	$(GO) test ./internal/archtest
	CULPRIT_ALL_SOURCES=1 $(GO) test -run FalsePositives ./internal/redact # all of Go's sources
	cd bench && $(GO) mod tidy -diff && $(GO) vet ./... # a module of its own: after a change of go.mod run go mod tidy there
	$(MAKE) lint vuln

conformance: openapi ## requests, answers and webhooks against GitHub's own description; the last line counts
	@GO='$(GO)' scripts/conformance

openapi: ## fetch GitHub's own description for the conformance tests (npm, the network; once)
	@$(GO) run ./internal/conformance/install

lint: ## golangci-lint (built on first use)
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION) run

vuln: ## govulncheck against the Go vulnerability database (needs the network)
	$(GO) run golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION) ./...

bench: bench-go bench-queue bench-backlog bench-webhook ## all benchmarks (docs/benchmarks.md); about 6 minutes

bench-go: ## the packages' own benchmarks, BENCHTIME each
	$(GO) test -run '^$$' -bench . -benchtime $(BENCHTIME) ./...

bench-queue: ## the queue next to hibiken/asynq on the same Redis
	cd bench && $(GO) run . queue

bench-backlog: ## 100,000 waiting jobs, and what a large group costs others
	cd bench && $(GO) run . backlog

bench-webhook: ## 1,000 deliveries a second for DURATION, next to Probot (needs node, npm)
	cd bench && $(GO) run . webhook -duration $(DURATION)

bench-model: ## memory of sessions that wait for a model, and five hypotheses beside one
	$(GO) test -run '^$$' -bench '^BenchmarkWaitingSessions' -benchtime 3x ./internal/agent
	$(GO) test -run '^$$' -bench '^BenchmarkEqualHypotheses' -benchtime 3x ./cmd/bot

bench-prompts: ## bytes and tokens of each prompt on this repository, and what a provider has seen before
	@$(GO) test -count=1 -run '^TestPromptSizes' -v ./cmd/bot | grep -v '^=== '

bench-culprit: ## simulated culprit searches beside git bisect (docs/culprit-search.md); REPEATS=n histories a row
	$(GO) test -count=1 -timeout 0 -v -run '^TestBench' ./internal/experiment/search -sim -sim-repeats $(or $(REPEATS),400)

eval: ## replay bugs whose cause is known, without a model (docs/eval.md): MANIFEST=file, ARGS='--mirror DIR --filter RE'
	$(GO) run ./cmd/bot eval $(or $(MANIFEST),testdata/eval/generated.yml) --no-model $(ARGS)

eval-logs: ## precision and recall of named failing tests on real public logs (docs/logs.md)
	@logs=$$(scripts/fetch-logs) && $(GO) test -count=1 -run '^TestRealLogs' ./internal/evidence -v -logs "$$logs" | grep -v '^=== '

bench-logs: ## MB/s and peak memory on a 1 GiB mixed log, beside ripgrep (after eval-logs)
	@GO='$(GO)' scripts/bench-logs

fuzz: ## each fuzz target for FUZZTIME (default 30s)
	@$(GO) list ./... | while read -r pkg; do \
	  for f in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz'); do \
	    echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
	  done; \
	done

build: ## the binary, static and reproducible, in bin/
	@mkdir -p $(dir $(BIN))
	GO='$(GO)' scripts/build $(BIN)

reproducible: ## make build, and a build of the same commit elsewhere without git: the same bits
	@GO='$(GO)' scripts/reproducible

sbom: ## what is in the binary, as CycloneDX JSON in bin/culprit.cdx.json, from what the linker wrote into it
	$(MAKE) build
	$(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@$(CYCLONEDX_VERSION) bin -json -output bin/culprit.cdx.json $(BIN)

image: ## the container image (docker, podman or buildah)
	docker build --build-arg REVISION="$$(git describe --always --dirty --abbrev=12 --exclude='*')" -t culprit .

clean: ## remove what the targets made
	rm -rf bin
