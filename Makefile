# What is done by hand. CI runs .ci/quick and .ci/run.

interop_flags = -tags interop -count=1 -v

.PHONY: test quick ci soak mount interop interop-full package release

test:
	go test ./...

# What must hold of every change: 15 minutes.
quick:
	bash .ci/quick

# Everything: an hour.
ci:
	bash .ci/run

# For what takes longer; docs/soak.md gets what came of it.
soak:
	bash .ci/soak

# The Linux kernel mounts an export, writes, reads and compares. As below, but one guest.
mount:
	go test $(interop_flags) -timeout 5m -run '^TestVariants$$/^stock$$' ./interop/linux

# As in CI. Takes root; the first run installs what the guest is made of. What hostile peers do to us
# has no tag: it is among the tests above.
interop:
	go test $(interop_flags) -p 1 -timeout 40m \
		$$(go list -tags interop ./interop/... | grep -v /interop/hostile$$)

# All variants of siw in full, 1 GiB each way, and all sizes with one another. One guest at a time, for the figures.
interop-full:
	go test $(interop_flags) -parallel 1 -timeout 4h ./interop/linux -full
	go test $(interop_flags) -p 1 -timeout 20m $$(go list -tags interop ./interop/... | grep -v /interop/linux$$)

# A Debian package of this checkout, in dist.
package:
	deploy/release/build package

# All that is released, in dist: see deploy/README.md.
release:
	deploy/release/build release
