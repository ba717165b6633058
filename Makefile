# What is done by hand. CI runs .ci/run.

interop_flags = -tags interop -count=1 -v

.PHONY: test ci interop interop-full

test:
	go test ./...

ci:
	bash .ci/run

# As in CI. Takes root; the first run installs what the guest is made of.
interop:
	go test $(interop_flags) -p 1 -timeout 20m ./interop/...

# All variants of siw in full, 1 GiB each way, and all sizes with one another. One guest at a time, for the figures.
interop-full:
	go test $(interop_flags) -parallel 1 -timeout 4h ./interop/linux -full
	go test $(interop_flags) -p 1 -timeout 20m $$(go list -tags interop ./interop/... | grep -v /interop/linux$$)
