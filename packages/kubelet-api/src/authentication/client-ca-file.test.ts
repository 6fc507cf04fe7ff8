import { VirtualClock } from "@virtual-kubelet/clock";
import { createCertificateAuthority } from "@virtual-kubelet/pki";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { openClientCaFile } from "./client-ca-file.ts";

/** Timeout for reading files, which takes longer on a busy machine. */
const patient = { timeout: 30_000 };

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "ca-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

test("the CA in the file is used, and so is a CA that replaces it; invalid content changes nothing", async () => {
  const path = join(directory, "ca.crt");
  const [first, second] = [createCertificateAuthority("first").certificate, createCertificateAuthority("second").certificate];
  await writeFile(path, first);
  const clock = new VirtualClock();
  const logger = new RecordingLogger();
  const ca = await openClientCaFile({ path, clock, logger });
  let changes = 0;
  ca.onChange(() => changes++);
  const stop = new AbortController();
  const running = ca.run(stop.signal);
  expect(ca.current()).toBe(first);

  await writeFile(path, "nothing");
  await clock.advance(5_000);
  await vi.waitFor(() => expect(logger.warnings).toEqual(["the client CA file cannot be read; the previous CA stays in use"]), patient);
  expect(ca.current()).toBe(first);
  await writeFile(path, `${first}${second}`);
  await clock.advance(5_000);

  await vi.waitFor(() => expect(ca.current()).toBe(`${first}${second}`), patient);
  expect(changes).toBe(1);
  stop.abort();
  await running;
});

test.each([
  ["is not there", undefined, "read "],
  ["holds no certificate", "nothing", "it has no PEM block CERTIFICATE"],
  ["holds an invalid one", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate 1 of 1"],
])("a file that %s is refused at the start", async (_, content, message) => {
  const path = join(directory, "ca.crt");
  if (content !== undefined) await writeFile(path, content);

  await expect(openClientCaFile({ path, clock: new VirtualClock(), logger: new RecordingLogger() })).rejects.toThrow(message);
});

test("the error for an unusable bundle contains the number of the certificate", async () => {
  const path = join(directory, "ca.crt");
  const { certificate } = createCertificateAuthority("first");
  await writeFile(path, `${certificate}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`);

  await expect(openClientCaFile({ path, clock: new VirtualClock(), logger: new RecordingLogger() })).rejects.toThrow(
    "certificate 2 of 2: ",
  );
});

test("the search is complete once the file is open", async () => {
  const path = join(directory, "ca.crt");
  await writeFile(path, createCertificateAuthority("first").certificate);

  const ca = await openClientCaFile({ path, clock: new VirtualClock(), logger: new RecordingLogger() });

  expect(await ca.searched).toBeUndefined();
});
