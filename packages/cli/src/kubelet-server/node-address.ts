import { isIP } from "node:net";
import type { Context } from "../context.ts";

/** An address with its source. */
export interface ChosenAddress {
  readonly address: string;
  /** Name of the source for people. */
  readonly from: string;
}

/**
 * Default address of nodes if neither the settings nor the provider name one. Without an address the API server cannot reach them for logs
 * and exec. It is the address that the kubelet's API listens on if that is a single one, or else the pod's, or else the host's first.
 *
 * @param listenAddress - address that the kubelet's API listens on
 */
export function defaultNodeAddress(
  listenAddress: string,
  { env, hostAddresses }: Pick<Context, "env" | "hostAddresses">,
): ChosenAddress | undefined {
  if (!isEveryAddress(listenAddress)) return { address: listenAddress, from: "--kubelet-address" };
  const podIP = env["POD_IP"] ?? "";
  if (isIP(podIP) !== 0) return { address: podIP, from: "POD_IP" };
  const [first] = hostAddresses;
  return first === undefined ? undefined : { address: first, from: "the host" };
}

/** Whether a listen address means all addresses. As in Go, either form covers both families. */
export function isEveryAddress(listenAddress: string): boolean {
  return listenAddress === "0.0.0.0" || listenAddress === "::";
}
