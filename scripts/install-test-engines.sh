#!/bin/sh
# Installs what the suites need besides packages of npm, and prints the versions in use: Chromium for the console, and
# where Docker does not answer also Redis, Java and Kafka. With `--check` it only looks, and fails when something is
# missing that it could not install.
#
# Kafka is pinned: Maven Central keeps every version. Redis and Chromium come from the packages of the system, which keep
# only the newest version, so for them this script checks that the version is one that the suites passed with. A newer
# Chromium is accepted: it comes every four weeks, and the console must work in it. The builds of Chromium in packages of
# npm run on one platform only and want a newer Node than package.json promises.
set -eu
cd "$(dirname "$0")/.."

kafka_version=4.1.1
chromium_lowest=156
java_lowest=17
redis_lowest=7
redis_highest=8
escape=$(printf '\033')

# The first of the commands that exists.
first_of() {
  for name in "$@"; do
    if command -v "$name"; then return; fi
  done
}

# Checks one program: its name, the lowest and the highest major version, the package of the system that has it, another
# way to get it, and the command that prints its version. Adds to `versions`, or to `faults` and `packages`.
check() {
  name=$1 lowest=$2 highest=$3 package=$4 otherwise=$5
  shift 5
  text='' major=0
  if command -v "$1" > /dev/null; then
    # Java first says which options it took from the environment, and Maven prints colours.
    text=$("$@" 2>&1 | sed "s/$escape\[[0-9;]*m//g" | sed -n '/^Picked up/!{p;q;}')
    major=$(echo "$text" | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
  fi
  if [ "${major:-0}" -ge "$lowest" ] && [ "$major" -le "$highest" ]; then
    versions="$versions$name: $text
"
    return
  fi
  wanted="$lowest or later"
  [ "$highest" = 999 ] || wanted="$lowest to $highest"
  faults="$faults$name $wanted is needed, and ${text:-none} was found. Run \`apt-get install $package\`, $otherwise.
"
  packages="$packages $package"
}

check_all() {
  versions='' faults='' packages=''
  # The first is Chromium without windows and menus, which take a third of the time; not every system has it.
  browser=chromium
  if apt-cache show chromium-headless-shell > /dev/null 2>&1; then browser=chromium-headless-shell; fi
  chromium=${CHROMIUM:-$(first_of chromium-headless-shell chromium chromium-browser google-chrome)}
  check Chromium "$chromium_lowest" 999 "$browser" 'or name another Chromium in the variable CHROMIUM' \
    "${chromium:-chromium}" --version
  if docker version > /dev/null 2>&1; then return; fi
  check Redis "$redis_lowest" "$redis_highest" redis-server 'or start Docker' redis-server --version
  check Java "$java_lowest" 999 default-jre-headless 'or take it from https://adoptium.net, or start Docker' \
    java -version
  if [ "$(cat .cache/kafka/version 2> /dev/null || true)" != "$kafka_version" ]; then
    check Maven 3 999 maven 'or take it from https://maven.apache.org, or start Docker' mvn --version
  fi
}

fail() {
  printf '%s' "$faults" >&2
  exit 1
}

check_all
if [ -n "$faults" ]; then
  sudo=''
  [ "$(id -u)" = 0 ] || sudo=$(command -v sudo) || fail
  command -v apt-get > /dev/null || fail
fi
[ "${1:-}" != --check ] || exit 0

if [ -n "$faults" ]; then
  export DEBIAN_FRONTEND=noninteractive
  $sudo apt-get update -qq
  # shellcheck disable=SC2086 # a list of words
  $sudo apt-get install -y -qq --no-install-recommends $packages > /dev/null || fail
  check_all
  [ -z "$faults" ] || fail
fi
printf '%s' "$versions"
if docker version > /dev/null 2>&1; then exit; fi

if [ "$(cat .cache/kafka/version 2> /dev/null || true)" != "$kafka_version" ]; then
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
echo "Kafka: $kafka_version"
