import type { NetworkInterfaceInfo } from "node:os";

/** Addresses of network interfaces that other machines can reach, IPv4 first. */
export function reachableAddresses(interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>>): readonly string[] {
  const all = Object.values(interfaces).flatMap((entries) => entries ?? []);
  const reachable = all.filter(({ internal, address }) => !internal && !/^(169\.254\.|fe[89ab])/i.test(address));
  return [
    ...reachable.filter(({ family }) => family === "IPv4").map(({ address }) => address),
    ...reachable.filter(({ family }) => family !== "IPv4").map(({ address }) => address),
  ];
}
