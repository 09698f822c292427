#!/usr/bin/env bash
# kafka.sh [flags of go test] fetches Apache Kafka's jars through Maven, unless KAFKA_JARS names a
# directory that has them, and tries the intake with a real broker: the queue's own tests, a broker
# that is killed under load, one that is away when the intake ends, and one whose disk is restored
# from a copy. -short tries one of these three, kills the broker twice instead of ten times, and
# loses the log's end in one of three ways. Exit code 3: no jars.
set -euo pipefail
[ -z "${KAFKA_JARS:-}" ] || KAFKA_JARS=$(realpath -m "$KAFKA_JARS") # as seen from where it was named
cd "$(dirname "$0")/.."
version=4.1.0
if [ -z "${KAFKA_JARS:-}" ]; then
	KAFKA_JARS=${XDG_CACHE_HOME:-$HOME/.cache}/metricsd/kafka-$version
	if [ ! -d "$KAFKA_JARS" ]; then
		pom=$(mktemp -d)
		trap 'rm -rf "$pom"' EXIT
		cat >"$pom/pom.xml" <<-END
			<project xmlns="http://maven.apache.org/POM/4.0.0">
			  <modelVersion>4.0.0</modelVersion><groupId>metricsd</groupId><artifactId>broker</artifactId><version>1</version>
			  <dependencies><dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>$version</version></dependency></dependencies>
			</project>
		END
		mvn -q -B -f "$pom/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$pom/jars" || {
			echo "the jars cannot be fetched; name a directory that has them in KAFKA_JARS" >&2
			exit 3
		}
		mkdir -p "$(dirname "$KAFKA_JARS")"
		mv "$pom/jars" "$KAFKA_JARS"
	fi
fi
export KAFKA_JARS
service='TestKilledKafka|TestKafkaIsAwayAtTheEnd|TestRestoredKafka'
case " $* " in *" -short "*) service=$(tr '|' '\n' <<<"$service" | shuf -n 1) ;; esac
# both at once: they wait
go test -count=1 -v -timeout 20m -run "^TestBus|^TestKafka(Loses|Topic|Removes)|$service" "$@" ./intake/bus .
