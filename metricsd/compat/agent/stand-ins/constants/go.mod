module github.com/DataDog/datadog-agent/pkg/config/setup/constants

go 1.25.0
