import { mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { openCertificateDirectory } from "./certificate-store.ts";

const stored = {
  selfSigned: { certificate: "a", key: "b" },
  pending: { name: "csr", uid: "u", key: "k", names: { dnsNames: [], ips: ["10.0.0.1"] }, madeMs: 1 },
};
let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "certificates-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

test("what is saved is there after a restart, for the node it was saved for", async () => {
  const logger = new RecordingLogger();
  await (await openCertificateDirectory(directory, "vk", logger)).save(stored);

  expect(await (await openCertificateDirectory(directory, "vk", logger)).load()).toEqual(stored);
  expect(await (await openCertificateDirectory(directory, "vk-2", logger)).load()).toEqual({});
});

test("only the owner can read it, and nothing half written is left", async () => {
  const folder = join(directory, "deep", "pki");
  const store = await openCertificateDirectory(folder, "vk", new RecordingLogger());
  await store.save(stored);
  await store.save({});

  expect(await readdir(folder)).toEqual(["vk.json"]);
  expect((await stat(join(folder, "vk.json"))).mode & 0o777).toBe(0o600);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
});

test.each(["", "{", "[1]", '{"issued":{"certificate":1,"key":"k"}}', '{"pending":{"name":"a","uid":"b","key":"c"}}', "null"])(
  "a file that says %j counts as none, and is told of",
  async (text) => {
    const logger = new RecordingLogger();
    await writeFile(join(directory, "vk.json"), text);
    const store = await openCertificateDirectory(directory, "vk", logger);

    expect(await store.load()).toEqual({});
    expect(logger.warnings).toHaveLength(1);
  },
);

test("keys are not written through a link that somebody has put there", async () => {
  const elsewhere = join(directory, "elsewhere");
  await writeFile(elsewhere, "theirs");
  await symlink(elsewhere, join(directory, "vk.json.new"));
  const store = await openCertificateDirectory(directory, "vk", new RecordingLogger());

  await store.save(stored);

  expect(await readFile(elsewhere, "utf8")).toBe("theirs");
  expect(await store.load()).toEqual(stored);
});

test("a directory that cannot be made is named", async () => {
  await writeFile(join(directory, "file"), "");

  await expect(openCertificateDirectory(join(directory, "file"), "vk", new RecordingLogger())).rejects.toThrow(
    `make the directory ${directory}/file for certificates`,
  );
});
