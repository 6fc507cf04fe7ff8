import { readFile } from "node:fs/promises";
import type { DnsSettings } from "../runtime/runtime-spec.ts";
import { namesOnlyStub, parseResolvConf } from "./resolv-conf.ts";

const defaultPath = "/etc/resolv.conf";
/** systemd-resolved's list of its upstream servers. */
const behindStubPath = "/run/systemd/resolve/resolv.conf";

/**
 * Reads the node's DNS settings.
 *
 * @param path - the node's `resolv.conf`; empty: the node has no DNS. Default: `/etc/resolv.conf`, which may be missing. If it names only
 * the stub address of systemd-resolved, which pods cannot reach, the upstream servers are read instead
 * @throws the file system's error if the given file cannot be read
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
