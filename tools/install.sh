#!/usr/bin/env bash
# Installs what the checks outside Rust need: npm packages, Chromium, Blender as a Python module,
# CalculiX, compilers of C and C++, valgrind, a GPU that the CPU imitates, a display without a screen.
#
#   bash tools/install.sh BUILD_DIR LOG_DIR [--full]
#
# --full also installs a compiler that can build for WebAssembly, importers of others (Godot 3, Assimp), and programs
# that make glTF files smaller (gltf-transform, gltfpack).
# Debian packages need root and apt-get; elsewhere install what the logs name. For each tool there is
# LOG_DIR/TOOL.log, and LOG_DIR/TOOL.ready when it can be used.
set -uo pipefail
build=$1 logs=$2 full=${3-}
mkdir -p "$build" "$logs"
rm -f "$logs"/{npm,chromium,blender,calculix,gpu,native,view,valgrind,wasm,importers,optimisers}.ready
tools=$(cd "$(dirname "$0")" && pwd)
venv=$build/check-python
# What Blender's module links to and does not bring along.
blender_libraries=(libegl1 libgl1 libice6 libsm6 libx11-6 libxext6 libxfixes3 libxi6 libxkbcommon0 libxrender1)
# Mesa's lavapipe, for machines without a GPU: Vulkan on the CPU.
gpu_libraries=(mesa-vulkan-drivers libegl1 libgl1-mesa-dri)
# A display without a screen, and what windows on X11 load.
view_libraries=(xvfb libx11-6 libx11-xcb1 libxcursor1 libxi6 libxkbcommon-x11-0 libxkbcommon0 libxrandr2)
# Importers of others, and a display for the editor of one.
importer_packages=(godot3 assimp-utils xvfb xauth)
# A compiler with the source of std, from which std is built for WebAssembly, and a linker.
wasm_packages=(rustc-web cargo-web rust-web-src lld)

find_chromium() {
  local place
  for place in "${CHROMIUM-}" /usr/bin/chromium /usr/bin/chromium-browser /usr/bin/google-chrome; do
    [ -x "$place" ] && echo "$place" && return
  done
  return 1
}
# The one Python that Blender 4.5 is built for, with what a virtual environment needs.
find_python() {
  local python
  for python in python3.11 python3 /usr/bin/python3; do
    "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null || continue
    echo "$python" && return
  done
  return 1
}

# All Debian packages in one call: two at a time would fight over dpkg's lock.
debian_packages() {
  local missing=() library
  command -v npm >/dev/null || missing+=(nodejs npm)
  find_chromium >/dev/null || missing+=(chromium)
  command -v ccx >/dev/null || missing+=(calculix-ccx)
  echo '#include <stdio.h>' | cc -x c -fsyntax-only - 2>/dev/null || missing+=(gcc libc6-dev)
  command -v c++ >/dev/null || missing+=(g++)
  command -v valgrind >/dev/null || missing+=(valgrind)
  find_python >/dev/null || missing+=(python3 python3-venv)
  [ "$full" != --full ] || wasm >/dev/null || missing+=("${wasm_packages[@]}")
  [ "$full" != --full ] || importers >/dev/null || missing+=("${importer_packages[@]}")
  if command -v dpkg-query >/dev/null; then
    for library in "${blender_libraries[@]}" "${gpu_libraries[@]}" "${view_libraries[@]}"; do
      dpkg-query -W -f '${Status}' "$library" 2>/dev/null | grep -q ' installed$' || missing+=("$library")
    done
  fi
  [ "${#missing[@]}" = 0 ] && echo "nothing is missing" && return
  echo "missing: ${missing[*]}"
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || { echo "they can only be installed by root with apt-get"; return 1; }
  apt-get update -qq &&
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
}
# npm_packages [FOLDER]: what the lock file of a folder of tools/ names.
npm_packages() {
  command -v npm >/dev/null || { echo "npm is missing: install Node.js 18 or newer"; return 1; }
  (cd "$tools/${1-}" && npm ci --no-audit --no-fund)
}
optimisers() { npm_packages optimisers; }
chromium() {
  local place
  place=$(find_chromium) || { echo "Chromium is missing: install it, or set CHROMIUM to its path"; return 1; }
  "$place" --version
}
blender() {
  local python
  if ! "$venv/bin/python" -c 'import bpy' 2>/dev/null; then
    python=$(find_python) || { echo "Python 3.11 with venv is missing: Blender 4.5 works with no other"; return 1; }
    "$python" -m venv --clear "$venv" || return 1
    "$venv/bin/python" -m pip install --disable-pip-version-check --quiet 'bpy==4.5.*' || return 1
  fi
  # Names the library that is missing, if one is.
  BLENDER_USER_RESOURCES=$build/check-blender "$venv/bin/python" -c 'import bpy; print("Blender", bpy.app.version_string)'
}
gpu() {
  local driver
  for driver in /usr/share/vulkan/icd.d/*.json /etc/vulkan/icd.d/*.json; do
    [ -e "$driver" ] && echo "$driver" && return
  done
  echo "a Vulkan driver is missing: install ${gpu_libraries[*]}, or your GPU's"
  return 1
}
calculix() {
  command -v ccx && return
  echo "CalculiX is missing: install calculix-ccx"
  return 1
}
native_tools() {
  cc --version && c++ --version && valgrind --version
}
valgrind_and_python() {
  valgrind --version && python3 --version
}
view() {
  command -v Xvfb && return
  echo "Xvfb is missing: install ${view_libraries[*]}"
  return 1
}
wasm() {
  [ -x /usr/bin/cargo ] && [ -x /usr/bin/rustc ] && [ -e "$(/usr/bin/rustc --print sysroot)/lib/rustlib/src/rust/library/std" ] &&
    command -v wasm-ld && return
  echo "a compiler for WebAssembly is missing: install ${wasm_packages[*]}"
  return 1
}
importers() {
  command -v godot3 && command -v assimp && command -v xvfb-run && return
  echo "importers are missing: install ${importer_packages[*]}"
  return 1
}
# install TOOL FUNCTION: with its own log and mark.
install() { "$2" >"$logs/$1.log" 2>&1 && touch "$logs/$1.ready"; }

debian_packages >"$logs/apt.log" 2>&1
install npm npm_packages &
install blender blender &
install chromium chromium
install gpu gpu
install calculix calculix
install native native_tools
install valgrind valgrind_and_python
install view view
[ "$full" != --full ] || install wasm wasm
[ "$full" != --full ] || install importers importers
[ "$full" != --full ] || install optimisers optimisers
wait
