#!/bin/sh
# Installs what the suites need that run after the embedded one: for the console a browser, and for machines without
# Docker and without URLs of running servers Redis, both from the packages of the system, and Kafka from Maven Central
# into .cache/kafka.
set -eu
cd "$(dirname "$0")/.."

kafka_version=4.1.1

packages=''
command -v redis-server > /dev/null || packages='redis-server'
browser=''
for name in chromium-headless-shell chromium google-chrome; do
  [ -n "$browser" ] || browser=$(command -v "$name" || true)
done
if [ -n "$packages" ] || [ -z "$browser" ]; then
  sudo=''
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  # Without windows and menus the browser tests take two thirds of the time; not every system has it.
  if [ -z "$browser" ] && apt-cache show chromium-headless-shell > /dev/null 2>&1; then
    packages="$packages chromium-headless-shell"
  elif [ -z "$browser" ]; then
    packages="$packages chromium"
  fi
  # shellcheck disable=SC2086 # a list of words
  $sudo apt-get install -y -qq --no-install-recommends $packages > /dev/null
fi

if [ "$(cat .cache/kafka/version 2> /dev/null || true)" != "$kafka_version" ]; then
  command -v java > /dev/null || { echo 'Kafka needs Java 17 or later' >&2; exit 1; }
  command -v mvn > /dev/null || { echo 'the download of Kafka needs Maven' >&2; exit 1; }
  rm -rf .cache/kafka
  mkdir -p .cache/kafka
  cat > .cache/kafka/pom.xml << POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>test-engines</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$kafka_version</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn -q -B -f .cache/kafka/pom.xml \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=libs
  echo "$kafka_version" > .cache/kafka/version
fi
