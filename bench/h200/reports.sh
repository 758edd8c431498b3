#!/bin/bash
# Reports of an NVIDIA GPU with the Qwen3-0.6B shape: gate, own times, and transformers on the same GPU beside them.
#
#   cargo xtask seeded --preset qwen3-0.6b --out MODEL     # or any checkpoint of the shape
#   reports.sh PROGRAM MODEL OUT [EXPERIMENT...]           # PROGRAM is a release build of tilewright
#
# PYTHON names the Python with torch and transformers (python3), NAME what the model is called in the reports, BUDGET the
# seconds for all (570). An experiment that fails or takes too long leaves its log in OUT, and the next one runs. Where one
# ends without a report, it is run once more without the peer.
set -u
program=$1 model=$2 out=$3
shift 3
python=${PYTHON:-python3} name=${NAME:-Qwen3-0.6B-shape} budget=${BUDGET:-570} device=${DEVICE:-cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
[ $# -gt 0 ] || set -- end-to-end fixed-context batch prefill long-document usual long-document-peer

common=(-m "$model" --device "$device" --weights bf16 --name "$name" --work "$work")
peer=(--compare "transformers=$python")
# Our own float64 forward runs on the processor: short runs only.
torch=(--reference "torch=$python")

# run NAME SECONDS FLAG...: one report, or what was said instead.
run() {
    local report=$1 limit=$2 left=$((budget - SECONDS)) start=$SECONDS code
    shift 2
    [ "$left" -gt 20 ] || { echo "$report: no time left" | tee -a "$out/summary.txt"; return 1; }
    [ "$limit" -lt "$left" ] || limit=$left
    timeout -k 5 "$limit" "$program" bench "$@" "${common[@]}" --save "$out/$report.json" \
        > "$out/$report.txt" 2> "$out/$report.log"
    code=$?
    echo "$report: exit $code after $((SECONDS - start)) s" | tee -a "$out/summary.txt"
    [ -e "$out/$report.json" ]
}

# beside NAME SECONDS FLAG...: with the peer, or without it where that leaves no report.
beside() {
    run "$@" "${peer[@]}" || run "$1-alone" "${@:2}"
}

nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem --format=csv > "$out/gpu.txt" 2>&1
for experiment in "$@"; do
    case $experiment in
        end-to-end) beside qwen3-0.6b-end-to-end-bf16 150 end-to-end --trials 9 ;;
        fixed-context) beside qwen3-0.6b-fixed-context-bf16 90 fixed-context --trials 15 ;;
        batch) beside qwen3-0.6b-batch-bf16 300 batch "${torch[@]}" ;;
        prefill) beside qwen3-0.6b-prefill-bf16 250 -p 512,1024,2048,4096,8192,16384 -n 0 "${torch[@]}" ;;
        usual) beside qwen3-0.6b-usual-bf16 120 -p 512 -n 128 -d 0,1024 "${torch[@]}" ;;
        long-document) run qwen3-0.6b-long-document-bf16 200 long-document "${torch[@]}" ;;
        # The peer takes about half a minute for the 1,024 steps of one run.
        long-document-peer)
            run qwen3-0.6b-long-document-peer-bf16 300 long-document "${torch[@]}" "${peer[@]}" --trials 3 --warmups 1 ;;
        *) echo "no experiment is called $experiment" >&2; exit 2 ;;
    esac
done
"$program" bench audit "$out" >> "$out/summary.txt" 2>&1
