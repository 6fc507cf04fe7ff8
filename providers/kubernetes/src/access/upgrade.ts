import { isUnauthorized } from "@virtual-kubelet/errdefs";
import type { UpgradeTarget } from "@virtual-kubelet/streaming";
import type { FarConnection } from "../far/far-cluster.ts";

/** Sends an upgrade request to the far API server. One that is refused with 401 is sent once more, with renewed credentials. */
export async function withUpgradeTarget<T>(
  connection: Pick<FarConnection, "upgradeTarget">,
  path: string,
  signal: AbortSignal,
  send: (target: UpgradeTarget) => Promise<T>,
): Promise<T> {
  const target = await connection.upgradeTarget(path, signal);
  try {
    return await send(target);
  } catch (error) {
    if (!isUnauthorized(error)) throw error;
    return await send(await connection.upgradeTarget(path, signal, target));
  }
}
