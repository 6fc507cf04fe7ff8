import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import type { UpgradeTarget } from "../upgrade/target.ts";

/**
 * Joins a client's port-forward, SPDY within a WebSocket, with a kubelet's SPDY, as an API server does: bytes are copied.
 * A kubelet's refusal is given to the client as it is, which then tries SPDY. Resolves when both sides are done; never
 * throws for what either side does.
 *
 * Source: kubernetes v1.36.3 apiserver/pkg/util/proxy/streamtunnel.go.
 */
export function relayPortForward(_upgrade: IncomingUpgrade, _target: UpgradeTarget): Promise<void> {
  return Promise.reject(new UnsupportedError("not there yet"));
}
