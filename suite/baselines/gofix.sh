#!/bin/sh
# Every modernizer of the go command, and nothing else: what one gets for free.
#   beagle suite --against 'sh suite/baselines/gofix.sh'    (give an absolute path: it runs in the copy of the task)
exec go fix ./...
