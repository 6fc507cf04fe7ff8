# Needs Node.js 20 or newer, npm, make and git; all else, pnpm and Node.js 24 among it, comes from npm into node_modules.
.DEFAULT_GOAL := help
.PHONY: help demo image test workflows e2e-docker e2e-nomad e2e-zun bench conformance mutation docs lint fix build generate api changeset version clean

PNPM := npx --yes $(shell sed -n 's/.*"packageManager": "\(.*\)".*/\1/p' package.json)
# The workspace's own Node.js and tools come first.
BIN := PATH="$(CURDIR)/node_modules/.bin:$$PATH"
INSTALLED := node_modules/.installed

export TURBO_TELEMETRY_DISABLED := 1

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Runs only if a manifest or the lockfile changed.
$(INSTALLED): pnpm-lock.yaml pnpm-workspace.yaml package.json $(wildcard packages/*/package.json providers/*/package.json templates/*/package.json examples/*/package.json e2e/package.json bench/package.json tools/package.json tools/*/package.json)
	@echo "installing from npm into node_modules; once, and after dependencies change" >&2
	@mkdir -p .reports
	@$(PNPM) install --frozen-lockfile --reporter=append-only >.reports/install.log 2>&1 || { cat .reports/install.log; exit 1; }
	@touch $@

demo: $(INSTALLED) ## Kubernetes API, node and three pods on this machine (ONCE=1: check and end)
	@$(BIN) node --conditions=@virtual-kubelet/source packages/cli/src/main.ts demo $(if $(ONCE),--once)

image: $(INSTALLED) ## Container image of the program (TAG=registry.example.com/virtual-kubelet:1 PROVIDERS="aci fargate" BASE=node:24-bookworm-slim DOCKER=podman), or of the embedded API server (IMAGE=embedded-apiserver)
	@IMAGE="$(IMAGE)" BASE="$(BASE)" PROVIDERS="$(PROVIDERS)" TAG="$(TAG)" DOCKER="$(DOCKER)" $(BIN) node --conditions=@virtual-kubelet/source tools/image.ts

test: $(INSTALLED) ## Quick levels (ALL=1: every level; LEVEL=unit: only that; PACKAGE=core: all tests of one package)
	@$(BIN) LEVEL="$(LEVEL)" PACKAGE="$(PACKAGE)" FILES="$(FILES)" ALL="$(ALL)" REQUIRE_ALL="$(REQUIRE_ALL)" node --conditions=@virtual-kubelet/source tools/test.ts

e2e-docker: $(INSTALLED) ## The Docker provider on an engine of today, which is built from Go modules the first time
	@$(BIN) node --conditions=@virtual-kubelet/source tools/e2e-docker.ts

e2e-nomad: $(INSTALLED) ## The Nomad provider on a real agent: NOMAD_ADDR, or nomad on the PATH
	@$(BIN) node --conditions=@virtual-kubelet/source e2e/nomad/run-on-agent.ts

e2e-zun: $(INSTALLED) ## The Zun provider on Zun's own API, which comes from PyPI the first time
	@$(BIN) LEVEL=zun node --conditions=@virtual-kubelet/source tools/test.ts

workflows: $(INSTALLED) ## Every step of .github/workflows as an ordinary user on a clean clone (FULL=1: all tests; JOBS="quick zun")
	@$(BIN) LEVEL=workflows FULL="$(FULL)" JOBS="$(JOBS)" node --conditions=@virtual-kubelet/source tools/test.ts

bench: build ## Benchmark against a real control plane; minutes, not part of CI
	@$(BIN) node --conditions=@virtual-kubelet/source bench/src/run.ts $(ARGS)

conformance: $(INSTALLED) ## Kubernetes' own tests on the Docker provider (ARGS="--provider kubernetes": in another cluster); more than an hour, not part of CI
	@$(BIN) node --conditions=@virtual-kubelet/source tools/conformance.ts $(ARGS)

mutation: $(INSTALLED) ## Change lines of PACKAGE=core blind: its unit tests must notice (SAMPLE=150 SEED=1); not part of CI
	@PACKAGE=$(PACKAGE) SAMPLE=$(SAMPLE) SEED=$(SEED) WORKERS=$(WORKERS) FILE=$(FILE) AGAIN=$(AGAIN) $(BIN) node --conditions=@virtual-kubelet/source tools/mutation.ts

docs: $(INSTALLED) ## Documentation site into docs/site
	@$(BIN) typedoc
	@$(BIN) node tools/site/check-links.ts

lint: $(INSTALLED) ## Lint, format, dead code, direction of imports, generated pages
	@$(BIN) node --run lint
	@$(BIN) node --conditions=@virtual-kubelet/source tools/generate.ts --check

fix: $(INSTALLED) ## Mend what lint and format can mend by themselves
	@$(BIN) oxlint --fix
	@$(BIN) oxfmt

generate: $(INSTALLED) ## Write the generated parts of README.md and docs/
	@$(BIN) node --conditions=@virtual-kubelet/source tools/generate.ts

api: $(INSTALLED) ## Write each package's api-report.md, in which a reviewer sees what changes for users
	@$(BIN) node --conditions=@virtual-kubelet/source tools/api-reports.ts

build: $(INSTALLED) ## Compile every package to its dist/
	@$(PNPM) --silent build

changeset: $(INSTALLED) ## Say what a change means to users, for the change logs
	@$(PNPM) --silent changeset

version: $(INSTALLED) ## Turn the changesets into versions and change logs
	@$(PNPM) --silent version-packages

clean: ## Remove what was built; the installation stays
	@rm -rf packages/*/dist providers/*/dist docs/site .turbo packages/*/.turbo providers/*/.turbo .reports
