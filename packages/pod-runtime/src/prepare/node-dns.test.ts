import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../test-support/temp-folder.ts";
import { readNodeDns } from "./node-dns.ts";
import type { DnsSettings } from "../runtime/runtime-spec.ts";
import { namesOnlyStub, parseResolvConf } from "./resolv-conf.ts";

const never = new AbortController().signal;

test("a node's DNS is read from the file that is named, also where that names systemd-resolved alone", async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, "resolv.conf");
  await writeFile(path, "nameserver 127.0.0.53\nsearch a\n");

  expect(await readNodeDns(path, never)).toEqual({ servers: ["127.0.0.53"], searches: ["a"], options: [] });
});

test("a node without a file has no DNS, and one whose file cannot be read says so", async () => {
  expect(await readNodeDns("", never)).toBeUndefined();
  await expect(readNodeDns("/nowhere/at/all", never)).rejects.toMatchObject({ code: "ENOENT" });
});

test("by default this machine's own file counts, and the servers behind systemd-resolved where that is all it names", async () => {
  const read = (path: string): Promise<DnsSettings | undefined> => readFile(path, "utf8").then(parseResolvConf, () => undefined);
  const own = await read("/etc/resolv.conf");
  const behind = own && namesOnlyStub(own) ? await read("/run/systemd/resolve/resolv.conf") : undefined;

  expect(await readNodeDns(undefined, never)).toEqual(behind ?? own);
  await expect(readNodeDns(undefined, AbortSignal.abort(new Error("over")))).rejects.toThrow("over");
});
