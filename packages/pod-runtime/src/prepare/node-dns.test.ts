import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { readNodeDns } from "./node-dns.ts";
import type { DnsSettings } from "../runtime/runtime-spec.ts";
import { namesOnlyStub, parseResolvConf } from "./resolv-conf.ts";

const never = new AbortController().signal;

test("the node's DNS is read from the configured file, even if it names only systemd-resolved", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "resolv.conf");
  await writeFile(path, "nameserver 127.0.0.53\nsearch a\n");

  expect(await readNodeDns(path, never)).toEqual({ servers: ["127.0.0.53"], searches: ["a"], options: [] });
});

test("with an empty path the node has no DNS, and an unreadable file is an error", async () => {
  expect(await readNodeDns("", never)).toBeUndefined();
  await expect(readNodeDns("/nowhere/at/all", never)).rejects.toMatchObject({ code: "ENOENT" });
});

test("by default this machine's own file is read, or the upstream servers if it names only systemd-resolved", async () => {
  const read = (path: string): Promise<DnsSettings | undefined> => readFile(path, "utf8").then(parseResolvConf, () => undefined);
  const own = await read("/etc/resolv.conf");
  const behind = own && namesOnlyStub(own) ? await read("/run/systemd/resolve/resolv.conf") : undefined;

  expect(await readNodeDns(undefined, never)).toEqual(behind ?? own);
  await expect(readNodeDns(undefined, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
});
