import { readFile } from "node:fs/promises";
import type { DnsSettings } from "../runtime/runtime-spec.ts";
import { namesOnlyStub, parseResolvConf } from "./resolv-conf.ts";

const defaultPath = "/etc/resolv.conf";
/** Where systemd-resolved tells which servers it asks itself. */
const behindStubPath = "/run/systemd/resolve/resolv.conf";

/**
 * The node's own DNS, read anew.
 *
 * @param path - of its resolver's file; empty: the node has none. Default `/etc/resolv.conf`, which may be missing, and where
 * that names systemd-resolved's own address, which pods cannot reach, the servers behind it
 * @throws the file system's error, if the file that was named cannot be read
 */
export async function readNodeDns(path: string | undefined, signal: AbortSignal): Promise<DnsSettings | undefined> {
  if (path === "") return undefined;
  if (path !== undefined) return parseResolvConf(await readFile(path, { encoding: "utf8", signal }));
  const dns = await tryRead(defaultPath, signal);
  return dns && namesOnlyStub(dns) ? ((await tryRead(behindStubPath, signal)) ?? dns) : dns;
}

async function tryRead(path: string, signal: AbortSignal): Promise<DnsSettings | undefined> {
  try {
    return parseResolvConf(await readFile(path, { encoding: "utf8", signal }));
  } catch {
    signal.throwIfAborted();
    return undefined;
  }
}
