# Targets to run by hand. CI runs .ci/quick and .ci/run.

interop_flags = -tags interop -count=1 -v

.PHONY: test quick ci soak flaky mutants mount interop interop-loss interop-full package release

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

# Do the tests notice 60 changes of the code? One to two hours. MUTANTS="-pkg gateway -- -race" runs
# those of one package, under the race detector.
mutants:
	go run ./bench/mutants $(MUTANTS)

# The Linux kernel mounts an export, writes, reads and compares, in one guest.
mount:
	go test $(interop_flags) -timeout 5m -run '^TestVariants$$/^stock$$' ./interop/linux

# All interoperability tests, as in CI. Needs root. The first run installs what the guest needs.
# interop/hostile has no tag, so "make test" runs it.
interop:
	go test $(interop_flags) -p 1 -timeout 40m \
		$$(go list -tags interop ./interop/... | grep -v /interop/hostile$$)

# 1 GiB each way over rdma_rxe, while every hundredth frame is lost: 12 minutes.
interop-loss:
	go test $(interop_flags) -timeout 80m -run '^TestRXELoss$$' ./interop/linux -full

# All of these in full: all variants of siw, 1 GiB each way, and all combinations of sizes. One
# guest at a time, because the figures matter.
interop-full:
	go test $(interop_flags) -parallel 1 -timeout 4h ./interop/linux -full
	go test $(interop_flags) -p 1 -timeout 20m $$(go list -tags interop ./interop/... | grep -v /interop/linux$$)

# Build a Debian package of this checkout in dist.
package:
	deploy/release/build package

# Build everything that is released in dist: see deploy/README.md.
release:
	deploy/release/build release
