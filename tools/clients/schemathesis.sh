#!/usr/bin/env bash
# Requests made up from the server's own description; /v1/responses, which is there to be refused (501), is left out. Usage: bash tools/clients/schemathesis.sh http://127.0.0.1:8080
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
url=${1:?the address of a server}
SCHEMATHESIS_HOOKS=short_replies PYTHONPATH=$here \
  schemathesis run "$url/openapi.json" --url "$url" --checks all --exclude-checks positive_data_acceptance,ignored_auth \
  --max-examples "${2:-40}" --request-timeout 120 --max-response-time 120 --exclude-path /v1/responses --seed 1 --suppress-health-check all
