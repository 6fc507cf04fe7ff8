import { messageOf } from "@virtual-kubelet/errdefs";
import type { IncomingUpgrade } from "../upgrade/incoming-upgrade.ts";
import type { UpgradeTarget } from "../upgrade/target.ts";
import { runRemoteCommand } from "./client.ts";
import { acceptRemoteCommand } from "./server.ts";
import type { RemoteCommandServerOptions } from "./session.ts";

/**
 * Connects a client's exec or attach to a kubelet's, as an API server does for clients of version 5: the client may speak any version, and
 * the kubelet is spoken to in SPDY. If the kubelet is unreachable or refuses, the client gets that as the command's result. Resolves when
 * both sides are done, and does not reject for errors of either side.
 *
 * Source: kubernetes v1.36.3 apimachinery proxy/streamtranslator.go.
 */
export async function relayRemoteCommand(
  upgrade: IncomingUpgrade,
  target: UpgradeTarget,
  options: RemoteCommandServerOptions,
): Promise<void> {
  let session;
  try {
    session = await acceptRemoteCommand(upgrade, options);
  } catch {
    // The client already has its response.
    return;
  }
  const { stdin, stdout, stderr, tty, resizes, signal } = session;
  const { clock, limits } = options;
  try {
    const result = await runRemoteCommand(target, { transport: "spdy", stdin, stdout, stderr, tty, resizes, signal, clock, limits });
    await session.finish(result);
  } catch (error) {
    await session.finish({ error: messageOf(error) });
  }
}
