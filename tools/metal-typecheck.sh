#!/usr/bin/env bash
# Type-checks the device for Apple GPUs on Linux: `bash tools/metal-typecheck.sh [check|clippy]`.
#
# No Apple SDK or standard library is needed: the bindings compile anywhere but for two things, which are changed in a copy.
# objc2 says itself that it needs an Apple platform, and frameworks are linked, which rustc refuses for other targets.
# Linking, and what happens at run time, are not checked.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/target/metal-typecheck
vendor=$folder/vendor
mkdir -p "$folder"
if [ ! -e "$folder/stamp" ] || [ Cargo.lock -nt "$folder/stamp" ]; then
  rm -rf "$vendor"
  cargo vendor --locked --quiet "$vendor" >/dev/null
  sed -i "s/not(docsrs)/not(metal_typecheck)/" "$vendor"/objc2/src/lib.rs "$vendor"/block2/src/lib.rs
  grep -rlE 'kind = "framework"' "$vendor"/objc2*/src "$vendor"/dispatch2/src | while read -r file; do
    sed -i -E 's/^#\[link\(name = "([A-Za-z]+)", kind = "framework"\)\]/#[cfg_attr(target_vendor = "apple", link(name = "\1", kind = "framework"))]/' "$file"
  done
  # cargo would notice that the copies differ.
  sed -i -E 's/"files":\{[^}]*\}/"files":{}/' "$vendor"/{objc2*,block2,dispatch2}/.cargo-checksum.json
  touch "$folder/stamp"
fi
RUSTFLAGS="--cfg metal_typecheck -D warnings" cargo "${1:-check}" --locked --offline --package tilewright-metal --lib \
  --target-dir "$folder/target" \
  --config 'source.crates-io.replace-with="patched"' --config "source.patched.directory=\"$vendor\""
