#!/bin/bash
# One gwbench command inside the running test cluster: example.sh COMMAND [flags]. Adjust what names the implementation.
C=$1; shift
cd "$(dirname "$0")/../../.." || exit
exec deno task cluster exec -- "${GWBENCH:?the program, built with go build}" "$C" -label gatehouse -class gatehouse -gateway bench/gw -ns bench \
  -controller '^/usr/local/bin/deno run .*/gatehouse\.mjs operator' -proxy '^/usr/local/bin/envoy ' \
  -controller-deployment gatehouse-system/gatehouse -proxy-selector bench/gateway.networking.k8s.io/gateway-name=gw -out results.jsonl "$@"
