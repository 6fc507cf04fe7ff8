import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import type { UpgradeTarget } from "../upgrade/target.ts";
import type { RemoteCommandServerOptions } from "./session.ts";

/**
 * Joins a client's exec or attach with a kubelet's, as an API server does for clients of version 5: whatever version the
 * client speaks, the kubelet is spoken to in SPDY. A kubelet that cannot be reached, or refuses, is told to the client as
 * the command's result. Resolves when both sides are done; never throws for what either side does.
 *
 * Source: kubernetes v1.36.3 apimachinery proxy/streamtranslator.go.
 */
export function relayRemoteCommand(_upgrade: IncomingUpgrade, _target: UpgradeTarget, _options: RemoteCommandServerOptions): Promise<void> {
  return Promise.reject(new UnsupportedError("not there yet"));
}
