import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { hasIPv6Range, parseNetworkList, readNetworkList } from "./network-lists.ts";

let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "vk-lists-"));
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const write = (name: string, content: object | string): Promise<void> =>
  writeFile(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));

test("the first file by name counts whose content is right", async () => {
  await write("05-broken.conflist", "{");
  await write("10-first.conflist", { name: "first", cniVersion: "1.0.0", plugins: [{ type: "ptp" }] });
  await write("20-second.conf", { name: "second", cniVersion: "1.0.0", type: "bridge" });
  await write("00-notes.txt", "not a configuration");

  expect(await readNetworkList(folder)).toEqual({ name: "first", cniVersion: "1.0.0", disableCheck: false, plugins: [{ type: "ptp" }] });
});

test("a file of one plugin is a list of one", () => {
  const text = JSON.stringify({ name: "single", cniVersion: "0.4.0", type: "bridge", bridge: "cni0" });

  expect(parseNetworkList(text, { isList: false })).toEqual({
    name: "single",
    cniVersion: "0.4.0",
    disableCheck: false,
    plugins: [{ type: "bridge", bridge: "cni0" }],
  });
});

test("of several versions the newest that both sides know is spoken", () => {
  const list = { name: "pods", cniVersion: "0.4.0", cniVersions: ["0.3.1", "1.0.0", "1.1.0", "9.0.0"], plugins: [{ type: "bridge" }] };

  expect(parseNetworkList(JSON.stringify(list), { isList: true }).cniVersion).toBe("1.1.0");
});

test.each([
  [{ name: "a", cniVersion: "1.0.0", plugins: [] }, "plugins: expected at least one plugin"],
  [{ name: "a/b", cniVersion: "1.0.0", plugins: [{ type: "x" }] }, "name: expected letters"],
  [{ name: "a", cniVersion: "1.0.0", plugins: [{ type: "../sh" }] }, "plugins.0.type: expected the name of a program"],
  [{ name: "a", cniVersion: "0.2.0", plugins: [{ type: "x" }] }, "cniVersion: 0.2.0: expected one of 1.1.0, 1.0.0"],
  [{ name: "a", plugins: [{ type: "x" }] }, "cniVersion: none: expected one of"],
])("what is wrong with a file is told: %j", async (content, problem) => {
  await write("1.conflist", content);

  await expect(readNetworkList(folder)).rejects.toThrow(`no network configuration in ${folder}: 1.conflist: ${problem}`);
});

test("a folder that is empty or not there is named", async () => {
  await expect(readNetworkList(folder)).rejects.toThrow(`no network configuration in ${folder}`);
  await expect(readNetworkList(join(folder, "none"))).rejects.toThrow(`no network configuration: ${join(folder, "none")} cannot be read`);
});

test.each<[what: string, ipam: object, hasIPv6: boolean]>([
  ["ranges of both families", { type: "host-local", ranges: [[{ subnet: "10.77.0.0/24" }], [{ subnet: "fd00:77::/64" }]] }, true],
  ["a range of IPv4", { type: "host-local", ranges: [[{ subnet: "10.77.0.0/24" }]], dataDir: "/var/lib/cni:old/64" }, false],
  ["an address", { type: "static", addresses: [{ address: "fd00:77::5/64" }] }, true],
  ["addresses of a server", { type: "dhcp" }, false],
])("a network has IPv6 if the plugin that gives addresses is configured with a range of it: %s", (_, ipam, hasIPv6) => {
  const list = { name: "pods", cniVersion: "1.0.0", plugins: [{ type: "bridge", ipam }, { type: "portmap" }] };

  expect(hasIPv6Range(parseNetworkList(JSON.stringify(list), { isList: true }))).toBe(hasIPv6);
});
