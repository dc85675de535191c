#!/usr/bin/env bash
# Makes this checkout ready to run: Python, a virtual environment, torch for this machine, the packages.
#
#   packaging/setup.sh talk    what `make talk` needs
#   packaging/setup.sh test    that, and what `make test` needs
#
# Says the download first, installs system packages with root or sudo (otherwise prints the line to run), and does nothing,
# in well under a second, when all is there already. DUPLEXCADENCE_TORCH=cpu|cuda overrides the choice of torch.
set -euo pipefail
cd "$(dirname "$0")/.."

purpose=${1:?usage: packaging/setup.sh talk|test}
venv=.venv
# Measured on Linux x86-64 with Python 3.11, 2026-12-01: what pip fetches, in MB.
mb_torch_cpu=192 mb_torch_cuda=3000 mb_packages=118 mb_dev=33 mb_weights=251

say() { printf '%s\n' "$*" >&2; }
fail() { say "setup: $*"; exit 1; }

stamp_of() { { cat pyproject.toml packaging/constraints.txt packaging/setup.sh; echo "${DUPLEXCADENCE_TORCH:-}"; } | cksum | tr ' ' -; }
stamp=$venv/.ready-$purpose
if [ -x $venv/bin/python ] && [ "$(cat $stamp 2>/dev/null)" = "$(stamp_of)" ]; then exit 0; fi

# --- system packages ---------------------------------------------------------------------------------------------------
python_in_range() { "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; }
find_python() {
  for python in python3 python3.13 python3.12 python3.11; do
    if command -v $python >/dev/null && python_in_range $python; then command -v $python; return; fi
  done
}
install_system() {
  local line="apt-get install -y --no-install-recommends $*"
  command -v apt-get >/dev/null || fail "this system lacks: $*; it has no apt-get, so install their like with its own package manager and run again"
  if [ "$(id -u)" = 0 ]; then sudo=""; elif sudo -n true 2>/dev/null; then sudo="sudo -n"; elif [ -t 0 ] && command -v sudo >/dev/null; then sudo=sudo
  else fail "this system lacks: $*; run this as root, then run again: apt-get update && $line"; fi
  say "installing with apt-get: $*"
  $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive $line >/dev/null || fail "apt-get failed; run it by hand to see why: apt-get update && $line"
}
python=$(find_python)
if [ -z "$python" ]; then
  install_system python3 python3-venv
  python=$(find_python)
  [ -n "$python" ] || fail "found $(python3 --version 2>&1); needed: Python 3.11 to 3.13; install one beside it and run again"
fi
missing=()
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv")
# Linux wheels of sounddevice carry no PortAudio.
if [ "$(uname -s)" = Linux ] && ! ldconfig -p 2>/dev/null | grep -q 'libportaudio\.so\.2' && ! ls /usr/lib/*/libportaudio.so.2 >/dev/null 2>&1; then missing+=(libportaudio2); fi
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$purpose" = talk ] && [ "${missing[*]}" = libportaudio2 ]; then
    # Files and replay work without a sound card's library.
    (install_system libportaudio2) || say "going on without it: recorded conversations work, microphone and speaker do not"
  else install_system "${missing[@]}"; fi
fi

# --- which torch -------------------------------------------------------------------------------------------------------
cuda_version() { command -v nvidia-smi >/dev/null && nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p' | head -n 1; }
cuda=$(cuda_version || true)
choice=${DUPLEXCADENCE_TORCH:-}
if [ -z "$choice" ]; then
  choice=cpu
  case "$cuda" in
    "") say "no NVIDIA driver found: torch for the CPU" ;;
    1[3-9].*|[2-9][0-9].*) choice=cuda; say "NVIDIA driver for CUDA $cuda found: torch for the GPU" ;;
    *) say "the NVIDIA driver runs CUDA $cuda; needed: 13.0 or later (driver 580 or newer); torch for the CPU" ;;
  esac
fi
case "$choice" in
  cpu|cuda) ;;
  *) fail "DUPLEXCADENCE_TORCH is '$choice'; needed: cpu or cuda" ;;
esac
if [ "$choice" = cuda ]; then mb_torch=$mb_torch_cuda; else mb_torch=$mb_torch_cpu; fi
mb_python=$((mb_torch + mb_packages)); [ "$purpose" = test ] && mb_python=$((mb_python + mb_dev))
say "to download where it is not here yet: about $((mb_python + mb_weights)) MB: $mb_python of Python packages ($mb_torch of it torch for $choice), at most $mb_weights of the default model's weights"

# --- virtual environment and packages ----------------------------------------------------------------------------------
if ! [ -x $venv/bin/python ] || ! $venv/bin/python -c 'import sys' 2>/dev/null; then rm -rf $venv; "$python" -m venv $venv || fail "python -m venv failed; remove $venv and run again"; fi
pip() { $venv/bin/python -m pip --disable-pip-version-check "$@" 2> >(grep -vE '^WARNING: Location|is ignored: it is neither' >&2); }
pip_with_progress() { if [ -t 2 ]; then pip "$@" >&2; else pip -q "$@" >&2; fi; }
torch_pin=$(grep '^torch==' packaging/constraints.txt)

install_torch() {
  # CUDA's build also runs on a CPU: it stays unless another was asked for.
  local here again=""
  here=$($venv/bin/python -c 'import torch; print("torch==" + torch.__version__.split("+")[0], "cuda" if torch.version.cuda else "cpu")' 2>/dev/null || true)
  case "$here" in "$torch_pin $choice"|"$torch_pin ${DUPLEXCADENCE_TORCH:-cuda}") return ;; esac
  if [ -n "$here" ]; then again="--force-reinstall --no-deps"; fi  # pip takes another build of the same version for the same
  if [ "$choice" = cuda ] || [ "$(uname -s)" != Linux ]; then pip_with_progress install $again "$torch_pin"; return; fi
  # On Linux x86-64 the index's torch brings several GB of CUDA. What would pip take here?
  if ! pip install --dry-run --ignore-installed --quiet --report - "$torch_pin" 2>/dev/null | grep -qE '"name": "(nvidia-|cuda-)'; then pip_with_progress install $again "$torch_pin"; return; fi
  local cpu_index=https://download.pytorch.org/whl/cpu
  say "fetching torch for the CPU from $cpu_index (the package index would bring several GB of CUDA)"
  pip_with_progress install $again --retries 1 --timeout 20 --index-url "$cpu_index" "$torch_pin" && return
  fail "torch for the CPU could not be had from $cpu_index; what remains is the CUDA build of about $mb_torch_cuda MB, which also runs on a CPU: DUPLEXCADENCE_TORCH=cuda make $purpose"
}
install_torch || fail "torch could not be installed; see pip's lines above"
extra=""; [ "$purpose" = test ] && extra="[dev]"
say "installing the other packages"
pip_with_progress install -c packaging/constraints.txt -e ".$extra" || fail "packages could not be installed; see pip's lines above; what was downloaded is kept, so run again"
stamp_of > $stamp
[ "$purpose" = test ] && stamp_of > $venv/.ready-talk
say "set up in $venv"
