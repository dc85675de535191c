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
missing=() optional=()
"$python" -c 'import ensurepip, venv' 2>/dev/null || missing+=("python$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv")
export PATH="$PATH:/usr/sbin:/sbin"  # where ldconfig is
libraries=$(ldconfig -p 2>/dev/null || true)
lacks() { [ "$(uname -s)" = Linux ] && ! grep -qF "$1 " <<<"$libraries"; }
# Linux wheels of sounddevice carry no PortAudio.
lacks libportaudio.so.2 && optional+=(libportaudio2)
if [ "$purpose" = test ] || [ -n "${DISPLAY:-}${WAYLAND_DISPLAY:-}" ]; then
  # What Qt's wheel leaves to the system: the first six for any window, the others for one on an X display.
  while read -r library package; do lacks "$library" && optional+=("$package"); done <<'END' || true
libEGL.so.1 libegl1
libGL.so.1 libgl1
libdbus-1.so.3 libdbus-1-3
libfontconfig.so.1 libfontconfig1
libglib-2.0.so.0 libglib2.0-0
libxkbcommon.so.0 libxkbcommon0
libX11-xcb.so.1 libx11-xcb1
libxcb-cursor.so.0 libxcb-cursor0
libxcb-icccm.so.4 libxcb-icccm4
libxcb-keysyms.so.1 libxcb-keysyms1
libxcb-randr.so.0 libxcb-randr0
libxcb-shape.so.0 libxcb-shape0
libxcb-sync.so.1 libxcb-sync1
libxcb-xfixes.so.0 libxcb-xfixes0
libxkbcommon-x11.so.0 libxkbcommon-x11-0
END
fi
if [ "$purpose" = test ] && [ "$(uname -s)" = Linux ]; then
  # The tests' sound card and display: virtual ones.
  command -v pulseaudio >/dev/null || missing+=(pulseaudio)
  command -v pactl >/dev/null || missing+=(pulseaudio-utils)
  compgen -G "${ALSA_PLUGINS:-/usr/lib*/*/alsa-lib}/libasound_module_pcm_pulse.so" >/dev/null || missing+=(libasound2-plugins)
  command -v Xvfb >/dev/null || missing+=(xvfb)
  missing+=(${optional[@]+"${optional[@]}"}) optional=()
  # The browser that opens what `demo` writes (113 MB). Ubuntu's comes as a snap: there that test is skipped, and says so.
  command -v chromium >/dev/null || optional+=(chromium)
fi
[ ${#missing[@]} = 0 ] || install_system "${missing[@]}"
if [ ${#optional[@]} -gt 0 ]; then
  # Files and replay work without a sound card's library, and a terminal without a window.
  (install_system "${optional[@]}") || say "going on without: what needs them (microphone and speaker, the window, tests in a browser) says so"
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
all="[echo]" without=""
if [ "$purpose" = test ]; then all="[dev,echo]" without="[dev]"; fi
say "installing the other packages"
install_packages() { pip_with_progress install -c packaging/constraints.txt -e ".$1"; }
# The echo canceller has no wheel for every system, and without it there are headphones and half-duplex.
install_packages "$all" || { say "trying without the echo canceller" && install_packages "$without"; } || fail "packages could not be installed; see pip's lines above; what was downloaded is kept, so run again"
stamp_of > $stamp
[ "$purpose" = test ] && stamp_of > $venv/.ready-talk
say "set up in $venv"
