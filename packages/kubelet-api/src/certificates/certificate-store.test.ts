import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { noCertificateStore, openCertificateDirectory } from "./certificate-store.ts";

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

const pair = { certificate: "a", key: "b" };
const { pending } = stored;

test.each([
  "",
  "{",
  "[]",
  "[1]",
  "null",
  "7",
  ...[
    { selfSigned: null },
    { selfSigned: "a" },
    { selfSigned: { ...pair, key: undefined } },
    { selfSigned: { ...pair, certificate: 1 } },
    { issued: { ...pair, certificate: 1 } },
    { issued: { ...pair, key: undefined } },
    { selfSigned: pair, issued: null },
    { pending: null },
    { pending: { ...pending, name: undefined } },
    { pending: { ...pending, uid: 1 } },
    { pending: { ...pending, key: undefined } },
    { pending: { ...pending, names: undefined } },
    { pending: { ...pending, names: { ips: [] } } },
    { pending: { ...pending, names: { dnsNames: [] } } },
    { pending: { ...pending, madeMs: "1" } },
    { selfSigned: pair, issued: pair, pending: {} },
  ].map((content) => JSON.stringify(content)),
])("a file that says %j counts as none, and is told of", async (text) => {
  const logger = new RecordingLogger();
  await writeFile(join(directory, "vk.json"), text, { mode: 0o600 });
  const store = await openCertificateDirectory(directory, "vk", logger);

  expect(await store.load()).toEqual({});
  expect(logger.lines).toEqual(["warn the file with certificates cannot be parsed; starting without it"]);
  expect(logger.fields).toEqual([{ path: join(directory, "vk.json") }]);
});

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

test("a directory below one that takes none, such as /proc, is refused and not tried for ever", async () => {
  await expect(openCertificateDirectory("/proc/x/y", "vk", new RecordingLogger())).rejects.toThrow(
    /^make the directory \/proc\/x\/y for certificates: .*, mkdir '\/proc/,
  );
});

test("a directory is made with the parents that it lacks, each for the owner alone", async () => {
  await openCertificateDirectory(join(directory, "a/b"), "vk", new RecordingLogger());

  for (const made of ["a", "a/b"]) expect((await stat(join(directory, made))).mode & 0o777).toBe(0o700);
});

test.each([[{}], [{ selfSigned: pair }], [{ issued: pair }], [{ selfSigned: pair, issued: pair, pending }]])(
  "%j can be kept",
  async (content) => {
    const logger = new RecordingLogger();
    const store = await openCertificateDirectory(directory, "vk", logger);
    await store.save(content);

    expect(await store.load()).toEqual(content);
    expect(logger.lines).toEqual([]);
  },
);

test("a file that cannot be read is an error, for it may hold what is in use", async () => {
  await mkdir(join(directory, "vk.json"));
  const store = await openCertificateDirectory(directory, "vk", new RecordingLogger());

  await expect(store.load()).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.stringContaining(`read ${directory}/vk.json: `),
  });
});

test("what is kept nowhere is not there", async () => {
  await noCertificateStore.save(stored);

  expect(await noCertificateStore.load()).toEqual({});
});

test("a directory that every user of the machine can write to, and a file of keys that they can read, are warned of with what mends them", async () => {
  const logger = new RecordingLogger();
  const file = join(directory, "vk.json");
  await (await openCertificateDirectory(directory, "vk", logger)).save(stored);
  await chmod(directory, 0o1777);
  await chmod(file, 0o604);
  expect(logger.warnings).toEqual([]);

  await openCertificateDirectory(directory, "vk", logger);

  expect(logger.fields).toEqual([
    { directory, mode: "1777", mend: `chmod 700 ${directory}` },
    { file, mode: "0604", mend: `chmod 600 ${file}` },
  ]);
});
