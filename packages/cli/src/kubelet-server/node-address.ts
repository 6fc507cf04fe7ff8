import { isIP } from "node:net";
import type { NetworkInterfaceInfo } from "node:os";
import type { Context } from "../context.ts";

/** An address, and where it comes from. */
export interface ChosenAddress {
  readonly address: string;
  /** What names its source to people. */
  readonly from: string;
}

/**
 * The address of nodes for which neither the settings nor the provider name one: without any, the API server does not
 * find them, and neither logs nor exec work. It is where the kubelet's API is served if that is one address, else the
 * pod's, else the host's first.
 *
 * @param listenAddress - where the kubelet's API is served
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

/** Whether a server that listens there is on every address. As with Go, and so a kubelet, either stands for both families. */
export function isEveryAddress(listenAddress: string): boolean {
  return listenAddress === "0.0.0.0" || listenAddress === "::";
}

/** The addresses of network interfaces that others can reach, IPv4 first. */
export function reachableAddresses(interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>): readonly string[] {
  const all = Object.values(interfaces).flatMap((entries) => entries ?? []);
  const reachable = all.filter(({ internal, address }) => !internal && !/^(169\.254\.|fe[89ab])/i.test(address));
  return [
    ...reachable.filter(({ family }) => family === "IPv4").map(({ address }) => address),
    ...reachable.filter(({ family }) => family !== "IPv4").map(({ address }) => address),
  ];
}
