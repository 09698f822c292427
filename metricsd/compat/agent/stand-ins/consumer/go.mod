module github.com/DataDog/datadog-agent/comp/core/configstreamconsumer/def

go 1.25.0
