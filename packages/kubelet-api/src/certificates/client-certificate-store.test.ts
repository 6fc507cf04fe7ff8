import { isInvalidInput } from "@virtual-kubelet/errdefs";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { clientCertificatePath, openClientCertificateStore } from "./client-certificate-store.ts";

const authority = createCertificateAuthority("test-ca");
const pair = authority.issue({ commonName: "system:node:vk", organizations: ["system:nodes"], usages: ["client auth"] });
const pending = { name: "csr", uid: "u", key: pair.key, request: "pem", names: { dnsNames: [], ips: [] }, madeMs: 1 };
let folder: string;
let directory: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "client-store-"));
  directory = join(folder, "vk/pki");
});

afterEach(() => rm(folder, { recursive: true }));

const open = () => openClientCertificateStore(directory, new RecordingLogger());

test("certificate, key and pending request are read by the next one who opens the folder", async () => {
  await (await open()).save({ issued: pair, pending });

  expect(await (await open()).load()).toEqual({ issued: pair, pending });
});

test("certificate and key are in one file, which only its owner can read", async () => {
  const store = await open();
  await store.save({ issued: pair, pending });

  expect(await readFile(clientCertificatePath(directory), "utf8")).toBe(pair.certificate + pair.key);
  for (const name of await readdir(directory)) expect((await stat(join(directory, name))).mode & 0o777).toBe(0o600);
  expect((await stat(directory)).mode & 0o777).toBe(0o700);
});

test("the pending request's file ends with the request", async () => {
  const store = await open();
  await store.save({ issued: pair, pending });
  await store.save({ issued: pair });

  expect(await readdir(directory)).toEqual(["kubelet-client-current.pem"]);
});

test("an unchanged certificate is not written again", async () => {
  await (await open()).save({ issued: pair });
  const store = await open();
  await store.load();
  const path = clientCertificatePath(directory);
  const before = (await stat(path)).ino;

  await store.save({ issued: pair, pending });

  expect((await stat(path)).ino).toBe(before);
});

test("a chain is kept, in its order", async () => {
  const chain = { certificate: pair.certificate + authority.certificate, key: pair.key };
  await (await open()).save({ issued: chain });

  expect((await (await open()).load()).issued).toEqual(chain);
});

test("a file without a key is refused with its name", async () => {
  await (await open()).save({ issued: pair });
  await writeFile(clientCertificatePath(directory), pair.certificate);
  const store = await open();

  const error: unknown = await store.load().catch((thrown: unknown) => thrown);

  expect(error).toSatisfy(isInvalidInput);
  expect(String(error)).toContain(`${clientCertificatePath(directory)}: it holds no certificate with a private key`);
});

test("a half-written pending request is logged without its contents, and ignored", async () => {
  await (await open()).save({ pending });
  await writeFile(join(directory, "kubelet-client-pending.json"), `{"key":"SECRET`);
  const logger = new RecordingLogger();

  expect((await (await openClientCertificateStore(directory, logger)).load()).pending).toBeUndefined();

  expect(logger.warnings.join()).toContain("cannot be parsed");
  expect(JSON.stringify([logger.lines, logger.fields])).not.toContain("SECRET");
});

test("a file that others can read is warned about", async () => {
  await (await open()).save({ issued: pair });
  await chmod(clientCertificatePath(directory), 0o644);
  const logger = new RecordingLogger();

  await openClientCertificateStore(directory, logger);

  expect(JSON.stringify(logger.fields)).toContain(`chmod 600 ${clientCertificatePath(directory)}`);
});
