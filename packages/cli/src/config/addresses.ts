import { isIP } from "node:net";
import { isLoopbackHost } from "../debug/same-site.ts";

/** Splits `HOST:PORT`; `undefined` if malformed. An empty host means all addresses, as in Go. */
export function parseHostPort(address: string): { host: string; port: number } | undefined {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/.exec(address);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) return undefined;
  return { host: match[1] ?? match[2] ?? "", port };
}

/** Source: ParseNodeIPArgument in k8s.io/component-helpers v0.36.3 node/util/ips.go. */
export function isNodeAddress(value: string): boolean {
  const families = value.split(",").map((address) => isIP(address.trim()));
  return families.length <= 2 && !families.includes(0) && new Set(families).size === families.length;
}

/** Whether the health server can listen there; `off` is such an address, too. */
export function isHealthAddress(address: string): boolean {
  return address === "off" || parseHostPort(address) !== undefined;
}

/** Whether the page can be served there: only on loopback, or not at all. */
export function isDebugAddress(address: string): boolean {
  return address === "off" || isLoopbackHost(parseHostPort(address)?.host ?? "");
}
