# What can be done here without knowing the commands; each is one of Go's or of
# this repository's own.

.PHONY: build test check measurements measurements-quick pgo demo demo-quick

build:
	go build ./...

test:
	./test

# all that must hold before a change lands
check:
	.ci/run

# every figure of docs/measurements.md, made again and written there: hours, on
# a machine that does nothing else; stopped, the trials go on where they were
measurements:
	go run ./bench/figures --write all

# the same with few trials, printed only: to see that all works
measurements-quick:
	go run ./bench/figures --quick all

# metricsd's profile for the compiler, from its own load generator
pgo:
	metricsd/bench/pgo

# Beagle makes metricsd faster by itself: profile, capture, search, shadow, roll out, measure. At most
# half an hour; stopped, the same command goes on. demo-out/index.html shows all (metricsd/docs/demo.md).
demo:
	cd metricsd && go run ./demo -found docs/found

# the same in two minutes, with budgets that prove nothing: to see that all works
demo-quick:
	cd metricsd && go run ./demo -quick -out ../demo-out/quick
