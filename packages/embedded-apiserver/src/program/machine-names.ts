import { hostname, networkInterfaces } from "node:os";

/** Names and addresses under which others reach a server that listens on all addresses of this machine; none for other servers. */
export function machineNames(host: string | undefined): string[] {
  if (host !== "0.0.0.0" && host !== "::") return [];
  const addresses = Object.values(networkInterfaces()).flatMap((each = []) => each.map(({ address }) => address));
  return [hostname(), ...addresses].filter((name) => /^[\w.:-]+$/.test(name));
}
