# Targets to run by hand. CI runs .ci/quick and .ci/run.

# Captures, consoles and logs of failed interoperability tests stay here.
artifacts = $(or $(ARTIFACTS),/tmp/go-rpcrdma-artifacts)

interop_flags = -tags interop -count=1 -v -artifacts -outputdir $(artifacts)

# interop/hostile has no tag, so "make test" runs it.
interop_others = $$(go list -tags interop ./interop/... | grep -v -e /linux$$ -e /hostile$$)

.PHONY: test quick ci soak flaky mutants mount interop interop-all interop-loss interop-full package release

test:
	go test ./...

# Checks for every change: 5 minutes.
quick:
	bash .ci/quick

# All checks: 20 minutes.
ci:
	bash .ci/run

# Long tests, for hours. Results are appended to docs/soak.md. PARTS="files gates" runs these alone.
soak:
	bash .ci/soak $(PARTS)

# Each test 50 times beside a load, to find those that luck decides. PKG="./oncrpc ./gateway" tests
# these alone.
flaky:
	bash .ci/flaky $(PKG)

# Do the tests notice 60 changes of the code? An hour. MUTANTS="-pkg gateway -- -race" runs those of
# one package, under the race detector.
mutants:
	go run ./bench/mutants $(MUTANTS)

# The Linux kernel mounts both exports, writes, reads and compares, in one guest.
mount:
	bash .ci/steps run_mount

# The interoperability tests of the gate: four guests, two at a time, and the other folders, without
# the tests that take longest. Needs root. The first run installs what the guest needs.
interop:
	bash .ci/steps run_interop

# All interoperability tests, with some 25 guests.
interop-all: $(artifacts)
	go test $(interop_flags) -timeout 80m -skip '^TestGate' ./interop/linux
	go test $(interop_flags) -p 1 -timeout 40m $(interop_others)

# 1 GiB each way over rdma_rxe, while every hundredth frame is lost: 12 minutes.
interop-loss: $(artifacts)
	go test $(interop_flags) -timeout 80m -run '^TestRXELoss$$' ./interop/linux -full

# All of these in full: all variants of siw, 1 GiB each way, and all combinations of sizes. One
# guest at a time, because the figures matter.
interop-full: $(artifacts)
	go test $(interop_flags) -parallel 1 -timeout 4h -skip '^TestGate' ./interop/linux -full
	go test $(interop_flags) -p 1 -timeout 40m $(interop_others)

$(artifacts):
	mkdir -p $@

# Build a Debian package of this checkout in dist.
package:
	deploy/release/build package

# Build everything that is released in dist: see deploy/README.md.
release:
	deploy/release/build release
