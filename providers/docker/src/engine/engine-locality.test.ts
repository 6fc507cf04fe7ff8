import { systemRandom } from "@virtual-kubelet/clock";
import { isUnavailable } from "@virtual-kubelet/errdefs";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startFakeEngine, type FakeAnswer, type FakeEngine } from "../test-support/fake-engine-server.ts";
import { checkLocality, type LocalityOptions } from "./engine-locality.ts";

let root: string;

beforeEach(async () => {
  root = join(await mkdtemp(join(tmpdir(), "vk-root-")), "deep");
});
afterEach(async () => {
  await rm(join(root, ".."), { recursive: true });
});

/** An engine that looks at mounts like a real one; `sees`: whether it finds a path. */
function engineThat(sees: (path: string) => boolean, info: object = {}): Promise<FakeEngine> {
  return startFakeEngine({
    answers: {
      "GET /info": () => ({ status: 200, json: { KernelVersion: "6.1", OperatingSystem: "Debian", SecurityOptions: [], ...info } }),
      "GET /networks/bridge": () => ({ status: 200, json: { IPAM: { Config: [{ Subnet: "172.17.0.0/16", Gateway: "172.17.0.1" }] } } }),
      "POST /containers/create": ({ body }): FakeAnswer => {
        const [mount] = (body as { HostConfig: { Mounts: { Source: string }[] } }).HostConfig.Mounts;
        return sees(mount?.Source ?? "")
          ? { status: 404, json: { message: "No such image: virtual-kubelet.invalid/check:none" } }
          : {
              status: 400,
              json: { message: `invalid mount config for type "bind": bind source path does not exist: ${mount?.Source ?? ""}` },
            };
      },
    },
  });
}

/** @param mounted - a folder of ours on which something is mounted */
function check({ engine }: FakeEngine, mounted?: string, more: Partial<LocalityOptions> = {}): Promise<void> {
  const mount = mounted === undefined ? undefined : { path: mounted, [Symbol.asyncDispose]: async () => {} };
  return checkLocality(
    { engine, rootDirectory: root, network: "bridge", mountAnew: async () => mount, random: systemRandom, kernelVersion: "6.1", ...more },
    new AbortController().signal,
  );
}

test("an engine with this machine's kernel that sees our files is on this machine", async () => {
  await using fake = await engineThat(existsSync);

  await check(fake);
  expect(await readdir(root)).toEqual([]);
});

test.for<[what: string, sees: (path: string) => boolean, info: object, message: RegExp]>([
  [
    "in a virtual machine",
    existsSync,
    { KernelVersion: "5.15-linuxkit", OperatingSystem: "Docker Desktop" },
    /Docker Desktop.*run virtual-kubelet there/,
  ],
  ["that sees other files", () => false, {}, /does not see .*same machine/],
  ["that is rootless", existsSync, { SecurityOptions: ["name=seccomp", "name=rootless"] }, /rootless.*runs as root/],
])("an engine %s is refused, with the reason and what to do", async ([, sees, info, message]) => {
  await using fake = await engineThat(sees, info);
  const error: unknown = await check(fake).catch((thrown: unknown) => thrown);

  expect(isUnavailable(error)).toBe(true);
  expect(String(error)).toMatch(message);
});

test("an engine that does not see what we mount is refused, with the reason and what to do; one that does is not", async () => {
  const memory = join(root, "memory");
  await using blind = await engineThat((path) => !path.startsWith(memory) && existsSync(path));
  await using seeing = await engineThat(existsSync);

  const error: unknown = await check(blind, memory).catch((thrown: unknown) => thrown);
  expect(isUnavailable(error)).toBe(true);
  expect(String(error)).toMatch(/does not see what is mounted at .*memory.*propagation rshared/);
  await expect(check(seeing, memory)).resolves.toBeUndefined();
  expect(await readdir(memory)).toEqual([]);
});

test("an engine that does not look at mounts first is believed for its kernel", async () => {
  await using fake = await engineThat(() => true);

  await expect(check(fake)).resolves.toBeUndefined();
});

test("a folder that cannot be written is named, with what to do", async () => {
  await using fake = await engineThat(existsSync);
  await writeFile(root, "a file, no folder");

  await expect(check(fake)).rejects.toThrow(/write a file to .*deep.*set rootDirectory/);
});

test("an engine that fails for another reason is not called remote", async () => {
  await using fake = await startFakeEngine({ answers: { "GET /info": () => ({ status: 500, json: { message: "out of order" } }) } });

  await expect(check(fake)).rejects.toThrow("out of order");
});

const rootless = { SecurityOptions: ["name=rootless"] };
const inside = { uidMap: "0 1000 1\n1 100000 65536\n", ownAddresses: ["127.0.0.1", "172.17.0.1"] };

test("a rootless engine is used from within its namespaces", async () => {
  await using fake = await engineThat(existsSync, rootless);

  await expect(check(fake, undefined, inside)).resolves.toBeUndefined();
});

test.for<[what: string, info: object, more: Partial<LocalityOptions>]>([
  ["on a machine whose own engine has the same addresses", rootless, { ...inside, uidMap: "         0          0 4294967295\n" }],
  ["from another user namespace", rootless, { ...inside, ownAddresses: ["127.0.0.1", "192.0.2.7"] }],
  ["of podman", { ...rootless, BuildahVersion: "1.28" }, inside],
])("a rootless engine %s is refused", async ([, info, more]) => {
  await using fake = await engineThat(existsSync, info);

  await expect(check(fake, undefined, more)).rejects.toThrow(/rootless.*nsenter -U/);
});
