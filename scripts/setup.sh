#!/usr/bin/env bash
# Makes .venv with firstfault (editable), its durable backend and the development tools.
#
# Installs what the system lacks with apt where that is possible (root, or sudo without a password), says what is
# missing where it is not. Does nothing, in a few milliseconds, when everything is there already.
#
#   PYTHON=python3.12 scripts/setup.sh    choose the interpreter (default: python3)
#   FIRSTFAULT_NO_APT=1                   never touch the system
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

VENV=.venv
STAMP=$VENV/.firstfault-setup
OLDEST="3, 10"
NEWEST="3, 15" # not included

python=      # the interpreter to make the environment with
missing=()   # Debian packages that would close the gaps
prefix=      # what to put before a command that needs root
apt_failed=no

say() { printf 'setup: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

# ---------------------------------------------------------------- what the system has

has_python() {
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c "import sys; sys.exit(not (($OLDEST) <= sys.version_info[:2] < ($NEWEST)))" >/dev/null 2>&1
}
find_python() {
  local candidate
  if [[ -n ${PYTHON:-} ]]; then
    has_python "$PYTHON" && printf '%s\n' "$PYTHON"
    return
  fi
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
    if has_python "$candidate"; then
      printf '%s\n' "$candidate"
      return
    fi
  done
}
has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }
has_headers() {
  "$1" -c 'import pathlib, sys, sysconfig
sys.exit(not pathlib.Path(sysconfig.get_path("include"), "Python.h").is_file())' >/dev/null 2>&1
}
# A compiler without the C library's headers cannot build anything: try it.
has_compiler() { printf '#include <stdio.h>\nint main(void){return 0;}\n' | "${CC:-cc}" -x c -o /dev/null - >/dev/null 2>&1; }

# Fills `missing` with the Debian packages that would close the gaps.
look_for_gaps() {
  missing=()
  python=$(find_python || true)
  if [[ -z $python ]]; then
    missing+=(python3 python3-venv python3-dev)
  else
    has_venv "$python" || missing+=("$(debian_python "$python")-venv")
    has_headers "$python" || missing+=("$(debian_python "$python")-dev")
  fi
  has_compiler || missing+=(gcc libc6-dev)
  command -v dot >/dev/null 2>&1 || missing+=(graphviz)
}
# "python3" for the system's own version, else "python3.12": the stem of Debian's package names.
debian_python() {
  if [[ $1 == python3 ]]; then
    echo python3
  else
    "$1" -c 'import sys; print("python%d.%d" % sys.version_info[:2])'
  fi
}

# ---------------------------------------------------------------- closing the gaps

# What to put before a command that needs root: nothing, or sudo.
root_prefix() {
  if [[ $(id -u) == 0 ]]; then
    echo ""
  elif command -v sudo >/dev/null 2>&1 && sudo -n true >/dev/null 2>&1; then
    echo "sudo"
  elif command -v sudo >/dev/null 2>&1 && [[ -t 0 && -z ${CI:-} ]]; then
    echo "sudo" # a person is there to type the password
  else
    return 1
  fi
}

# apt-get with its talk shown only where it fails.
run_apt() {
  local talk
  talk=$(mktemp)
  if ! $prefix env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" </dev/null >"$talk" 2>&1; then
    say "apt-get $1 failed:"
    tail -n 15 "$talk" >&2
    rm -f "$talk"
    return 1
  fi
  rm -f "$talk"
}

install_with_apt() {
  if [[ -n ${FIRSTFAULT_NO_APT:-} ]]; then
    say "FIRSTFAULT_NO_APT is set: not installing ${missing[*]}"
  elif ! command -v apt-get >/dev/null 2>&1; then
    say "no apt-get here: install the equivalents of ${missing[*]} yourself"
  elif ! prefix=$(root_prefix); then
    say "not root and no sudo without a password; run: sudo apt-get install ${missing[*]}"
  else
    say "installing ${missing[*]}"
    run_apt update || say "going on with the package lists that are there"
    run_apt install -y --no-install-recommends "${missing[@]}" || apt_failed=yes
  fi
}

fill_gaps() {
  [[ ${#missing[@]} -gt 0 ]] || return 0
  install_with_apt
  hash -r
  look_for_gaps
  [[ -n $python ]] || die "${PYTHON:-python3} is no Python 3.10 to 3.14; PYTHON=... names another"
  has_venv "$python" || die "$python has no venv module: install $(debian_python "$python")-venv"
  command -v dot >/dev/null 2>&1 || say "graphviz is missing: graphs come out as DOT, not as SVG"
}

can_build() { has_compiler && has_headers "$python"; }

# ---------------------------------------------------------------- the virtual environment

make_venv() {
  if ! { [[ -x $VENV/bin/python ]] && has_python "$VENV/bin/python" && "$VENV/bin/python" -m pip --version >/dev/null 2>&1; }; then
    say "making $VENV with $("$python" --version)"
    "$python" -m venv --clear "$VENV"
  fi
}

install_project() {
  local pip=("$VENV/bin/python" -m pip --disable-pip-version-check install -qq --no-input)
  say "installing firstfault and the development tools"
  "${pip[@]}" --editable '.[dev]' </dev/null >&2
  if "$VENV/bin/python" -c 'import durable_rules_engine' >/dev/null 2>&1; then
    return
  fi
  if ! can_build; then
    say "no C compiler or no Python headers: without durable_rules; the reference backend does the work"
  else
    # Its last release predates Python 3.13, which dropped the name of this function and kept its successor.
    if "$VENV/bin/python" -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then
      export CPPFLAGS="${CPPFLAGS:-} -DPyEval_CallObject=PyObject_CallObject"
    fi
    say "building durable_rules"
    "${pip[@]}" --editable '.[durable]' </dev/null >&2
  fi
}

# Where PYTHONDONTWRITEBYTECODE is set, as in many containers, every start would compile all sources anew.
compile_sources() {
  "$VENV/bin/python" -m compileall -q cli.py engine facts_adapters firstfault knowledge >&2 || say "no byte code written"
}

# What the environment was made from: a changed declaration, interpreter or system means another environment.
fingerprint() {
  {
    "$VENV/bin/python" -VV
    if [[ ${#missing[@]} -gt 0 ]]; then # try again when apt becomes possible
      echo "${missing[*]} ${FIRSTFAULT_NO_APT:-} $(root_prefix || echo none)"
    fi
    cat pyproject.toml hatch_build.py scripts/setup.sh
  } | sha256sum | cut -d' ' -f1
}

up_to_date() {
  local key
  [[ -x $VENV/bin/firstfault ]] && read -r key <"$STAMP" && [[ $key == "$(fingerprint)" ]]
}

# Scripts of a virtual environment hold its path: one that was moved or copied does not work.
drop_moved_venv() {
  local path
  { path=$(sed -n 2p "$STAMP") && [[ $path == "$(pwd -P)" ]]; } || rm -rf "$VENV"
}

[[ ! -f $STAMP ]] || drop_moved_venv
look_for_gaps
if [[ -f $STAMP ]] && up_to_date; then
  [[ ${#missing[@]} == 0 ]] || say "still without ${missing[*]}"
  exit 0
fi
fill_gaps
make_venv
install_project
compile_sources
if [[ $apt_failed == no ]]; then
  printf '%s\n%s\n' "$(fingerprint)" "$(pwd -P)" >"$STAMP"
fi
say "ready: $VENV/bin/firstfault"
