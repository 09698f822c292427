module github.com/DataDog/datadog-agent/pkg/zstd

go 1.25.0

require github.com/DataDog/zstd v1.5.8-0.20260421145859-31a7e515a571
