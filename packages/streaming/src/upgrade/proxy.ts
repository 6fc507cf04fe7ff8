import { UnsupportedError } from "@virtual-kubelet/errdefs";
import type { IncomingUpgrade } from "./incoming-upgrade.ts";
import type { UpgradeTarget } from "./target.ts";

/**
 * Passes an upgrade request on as it is, and then bytes both ways, until either side ends. The headers of the request go
 * along but for `Authorization` and cookies; those of the target replace them. A refusal is given to the client as it is.
 * Resolves when both sides are done; never throws for what either side does.
 *
 * Source: kubernetes v1.36.3 apimachinery/pkg/util/proxy/upgradeaware.go.
 */
export function proxyUpgrade(_upgrade: IncomingUpgrade, _target: UpgradeTarget): Promise<void> {
  return Promise.reject(new UnsupportedError("not there yet"));
}
