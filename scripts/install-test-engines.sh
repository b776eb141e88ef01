#!/bin/sh
# Installs what the suites need besides `npm ci`, and prints the versions in use: Chromium for the console, the clients
# that test/conformance drives with the Java and Python that run them, and where Docker does not answer also Redis and
# Kafka. With `--check` it only looks, and fails when something is missing that it could not install.
#
# Kafka and the clients are pinned: their registries keep every version. Redis and Chromium come from the packages of the
# system, which keep only the newest version, so for them this script checks that the version is one that the suites
# passed with. A newer Chromium is accepted: it comes every four weeks, and the console must work in it. The builds of
# Chromium in packages of npm run on one platform only and want a newer Node than package.json promises.
set -eu
cd "$(dirname "$0")/.."

kafka_version=4.1.1
chromium_lowest=156
java_lowest=17
# Of Python 3.
python_lowest=10
redis_lowest=7
redis_highest=8
escape=$(printf '\033')
clients=test/conformance/clients
# Names everything that is installed of the clients.
clients_version=$(cat "$clients"/* | cksum)

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
  # With the compiler, so that `java` runs a source file.
  check Java "$java_lowest" 999 default-jdk-headless 'or take a JDK from https://adoptium.net' javac --version
  check 'Python 3 with venv, its minor version' "$python_lowest" 999 python3-venv 'or take it from https://www.python.org' \
    python3 -c 'import ensurepip, sys; print(sys.version_info.minor)'
  if ! has_clients || needs_kafka; then
    check Maven 3 999 maven 'or take it from https://maven.apache.org' mvn --version
  fi
  if has_docker; then return; fi
  check Redis "$redis_lowest" "$redis_highest" redis-server 'or start Docker' redis-server --version
}

has_docker() {
  docker version > /dev/null 2>&1
}

has_clients() {
  [ "$(cat .cache/conformance/version 2> /dev/null || true)" = "$clients_version" ]
}

needs_kafka() {
  ! has_docker && [ "$(cat .cache/kafka/version 2> /dev/null || true)" != "$kafka_version" ]
}

# Copies the jars of a pom.xml and of what they need to the folder `libs`.
copy_jars() {
  mvn -q -B -f "$1/pom.xml" \
    org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory=libs
}

# Each of the registries' clients tries again, and ends after its own time-outs. What comes is compared with the checksums
# of package-lock.json, requirements.txt and jars.sha256. Not below test/, where the tests of packages would be found.
install_clients() {
  rm -rf .cache/conformance
  mkdir -p .cache/conformance
  cp "$clients"/* .cache/conformance
  npm ci --prefix .cache/conformance --ignore-scripts --no-audit --no-fund --silent
  python3 -m venv .cache/conformance/python
  .cache/conformance/python/bin/pip install -q --disable-pip-version-check --require-hashes --only-binary :all: \
    -r .cache/conformance/requirements.txt
  copy_jars .cache/conformance
  (cd .cache/conformance/libs && sha256sum --check --quiet --strict ../jars.sha256)
  echo "$clients_version" > .cache/conformance/version
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
has_clients || install_clients
if has_docker; then exit; fi

if needs_kafka; then
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
  copy_jars .cache/kafka
  echo "$kafka_version" > .cache/kafka/version
fi
echo "Kafka: $kafka_version"
