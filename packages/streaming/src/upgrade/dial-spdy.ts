import { InvalidInputError } from "@virtual-kubelet/errdefs";
import type { IncomingMessage } from "node:http";
import { type DialWait, refusalOf, sendUpgrade } from "./dial.ts";
import { versionHeader } from "./spdy-handshake.ts";
import type { UpgradedConnection, UpgradeTarget } from "./target.ts";

/** Response to a request for SPDY. */
export type SpdyAnswer =
  | { readonly kind: "upgraded"; readonly connection: UpgradedConnection }
  /** The caller must read the body or destroy the response. */
  | { readonly kind: "refused"; readonly response: IncomingMessage };

/**
 * Upgrades a connection to SPDY.
 *
 * @param versions - versions of the protocol over SPDY, in order of preference
 * @throws UpgradeRefusedError; InvalidInputError when the other side chose a version that was not offered; UnavailableError;
 * `signal.reason`
 */
export async function dialSpdy(target: UpgradeTarget, versions: readonly string[], wait: DialWait): Promise<UpgradedConnection> {
  const answer = await dialSpdyOrRefusal(target, versions, wait);
  if (answer.kind === "refused") throw await refusalOf(answer.response, target);
  return answer.connection;
}

/** {@link dialSpdy} that returns a refusal instead of throwing. */
export async function dialSpdyOrRefusal(target: UpgradeTarget, versions: readonly string[], wait: DialWait): Promise<SpdyAnswer> {
  const headers = {
    ...target.headers,
    Connection: "Upgrade",
    Upgrade: "SPDY/3.1",
    "Content-Length": 0,
    [versionHeader]: [...versions],
  };
  const answer = await sendUpgrade(target, { method: "POST", headers, wait });
  if (answer.kind === "refused") return answer;
  const { response, socket, head } = answer;
  const [protocol = ""] = [response.headers[versionHeader.toLowerCase()] ?? ""].flat();
  if (versions.includes(protocol)) return { kind: "upgraded", connection: { socket, head, protocol } };
  socket.destroy();
  throw new InvalidInputError(`upgrade to SPDY: the other side chose ${JSON.stringify(protocol)}, offered were ${versions.join(", ")}`);
}
