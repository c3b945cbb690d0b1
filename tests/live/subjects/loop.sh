#!/bin/sh
# A controller as a loop of kubectl: each Widget has a ConfigMap, and a status that says so.
# Bug: the status is written only together with the ConfigMap.
widgets=widgets.live.kontend.dev

ready() {
    kubectl patch $widgets "$1" --subresource=status --type=merge -p '{"status": {"phase": "Ready"}}'
}

while :; do
    for name in $(kubectl get $widgets -o 'jsonpath={.items[*].metadata.name}'); do
        if [ -z "$(kubectl get configmap "$name-config" --ignore-not-found -o name)" ]; then
            kubectl create configmap "$name-config" --from-literal=made=yes
            [ "$BUG" = once ] && ready "$name"
        fi
        phase=$(kubectl get $widgets "$name" -o 'jsonpath={.status.phase}')
        if [ "$BUG" != once ] && [ "$phase" != Ready ]; then
            ready "$name"
        fi
    done
    sleep 0.1
done
