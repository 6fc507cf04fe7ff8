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

test("a saved state is loaded after a restart, for the same node only", async () => {
  const logger = new RecordingLogger();
  await (await openCertificateDirectory(directory, "vk", logger)).save(stored);

  expect(await (await openCertificateDirectory(directory, "vk", logger)).load()).toEqual(stored);
  expect(await (await openCertificateDirectory(directory, "vk-2", logger)).load()).toEqual({});
});

test("only the owner can read the file, and no partially written file is left", async () => {
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
])("a file with the content %j is ignored, which is logged", async (text) => {
  const logger = new RecordingLogger();
  await writeFile(join(directory, "vk.json"), text, { mode: 0o600 });
  const store = await openCertificateDirectory(directory, "vk", logger);

  expect(await store.load()).toEqual({});
  expect(logger.lines).toEqual(["warn the file with certificates cannot be parsed; starting without it"]);
  expect(logger.fields).toEqual([{ path: join(directory, "vk.json") }]);
});

test("keys are not written through a link that another user has created", async () => {
  const elsewhere = join(directory, "elsewhere");
  await writeFile(elsewhere, "theirs");
  await symlink(elsewhere, join(directory, "vk.json.new"));
  const store = await openCertificateDirectory(directory, "vk", new RecordingLogger());

  await store.save(stored);

  expect(await readFile(elsewhere, "utf8")).toBe("theirs");
  expect(await store.load()).toEqual(stored);
});

test("the error for a directory that cannot be created names it", async () => {
  await writeFile(join(directory, "file"), "");

  await expect(openCertificateDirectory(join(directory, "file"), "vk", new RecordingLogger())).rejects.toThrow(
    `make the directory ${directory}/file for certificates`,
  );
});

test("a directory below one that accepts no entries, such as /proc, is refused without endless attempts", async () => {
  await expect(openCertificateDirectory("/proc/x/y", "vk", new RecordingLogger())).rejects.toThrow(
    /^make the directory \/proc\/x\/y for certificates: .*, mkdir '\/proc/,
  );
});

test("a directory is created with its missing parents, which only the owner can access", async () => {
  await openCertificateDirectory(join(directory, "a/b"), "vk", new RecordingLogger());

  for (const made of ["a", "a/b"]) expect((await stat(join(directory, made))).mode & 0o777).toBe(0o700);
});

test.each([[{}], [{ selfSigned: pair }], [{ issued: pair }], [{ selfSigned: pair, issued: pair, pending }]])(
  "%j can be saved",
  async (content) => {
    const logger = new RecordingLogger();
    const store = await openCertificateDirectory(directory, "vk", logger);
    await store.save(content);

    expect(await store.load()).toEqual(content);
    expect(logger.lines).toEqual([]);
  },
);

test("a file that cannot be read is an error, because it may hold certificates in use", async () => {
  await mkdir(join(directory, "vk.json"));
  const store = await openCertificateDirectory(directory, "vk", new RecordingLogger());

  await expect(store.load()).rejects.toMatchObject({
    code: "VK_INVALID_INPUT",
    message: expect.stringContaining(`read ${directory}/vk.json: `),
  });
});

test("noCertificateStore keeps nothing", async () => {
  await noCertificateStore.save(stored);

  expect(await noCertificateStore.load()).toEqual({});
});

test("a directory that every user of the machine can write to, and a file of keys that they can read, are logged with the command that fixes them", async () => {
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
