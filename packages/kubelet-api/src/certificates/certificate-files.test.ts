import { VirtualClock } from "@virtual-kubelet/clock";
import { type KeyPair, selfSignedCertificate } from "@virtual-kubelet/pki";
import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RecordingMetrics, ScrapedMetrics } from "../test-support/recording-metrics.ts";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { openCertificateFiles } from "./certificate-files.ts";
import { certificateOf } from "./key-pair.ts";
import { makeSelfSigned } from "./self-signed.ts";

const dayMs = 24 * 3_600_000;

let directory = "";
const stop = new AbortController();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "files-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function rig(pair: KeyPair, keyMode = 0o600) {
  const certificateFile = join(directory, "tls.crt");
  const keyFile = join(directory, "tls.key");
  const write = async (next: Partial<KeyPair>): Promise<void> => {
    if (next.certificate !== undefined) await writeFile(certificateFile, next.certificate);
    if (next.key === undefined) return;
    await writeFile(keyFile, next.key);
    await chmod(keyFile, keyMode);
  };
  await write(pair);
  const clock = new VirtualClock(0);
  const logger = new RecordingLogger();
  const metrics = new RecordingMetrics();
  const source = await openCertificateFiles({ certificateFile, keyFile, clock, logger, metrics });
  let changes = 0;
  source.onChange(() => changes++);
  void source.run(stop.signal);
  /** Reading files takes real time, which the fake clock does not include. */
  const look = async (check: () => void): Promise<void> => {
    await clock.advance(5_000);
    await vi.waitFor(check, { timeout: 30_000 });
  };
  return { source, logger, metrics, write, look, changes: () => changes };
}

const [first, second] = [await makeSelfSigned("vk", undefined, 0), await makeSelfSigned("vk", undefined, 0)];

test("new files are used while the program runs", async () => {
  const { source, logger, write, look, changes } = await rig(first);
  expect(source.current()).toEqual(first);

  await write(second);

  await look(() => expect(source.current()).toEqual(second));
  expect(changes()).toBe(1);
  expect(logger.fields).toEqual([{ file: join(directory, "tls.crt"), notAfter: certificateOf(second).validTo }]);
});

test("unchanged files cause no change, and aborting ends the watch", async () => {
  const clock = new VirtualClock(0);
  const [certificateFile, keyFile] = [join(directory, "a.crt"), join(directory, "a.key")];
  await writeFile(certificateFile, first.certificate);
  await writeFile(keyFile, first.key, { mode: 0o600 });
  const logger = new RecordingLogger();
  const source = await openCertificateFiles({ certificateFile, keyFile, clock, logger });
  const end = new AbortController();
  const running = source.run(end.signal);
  for (let round = 0; round < 3; round++) {
    await clock.advance(4_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    // Reading takes real time; the next wait begins after it.
    await vi.waitFor(() => expect(clock.pending).toBe(1), { timeout: 30_000 });
  }

  end.abort();
  await running;

  expect([logger.lines, clock.pending]).toEqual([[], 0]);
});

test("an invalid state that does not change is logged once", async () => {
  const { logger, write, look } = await rig(first);
  await rm(join(directory, "tls.key"));
  await look(() => expect(logger.warnings).toHaveLength(1));
  await look(() => expect(logger.warnings).toHaveLength(1));
  await write({ key: "no key" });
  await look(() => expect(logger.warnings).toHaveLength(2));

  expect(logger.fields[0]).toEqual({ file: join(directory, "tls.crt"), err: expect.stringContaining(`read ${directory}/tls.key: ENOENT`) });
});

test("a certificate whose key is not written yet is not used until the key is there", async () => {
  const { source, logger, write, look } = await rig(first);

  await write({ certificate: second.certificate });
  await look(() => expect(logger.warnings).toEqual(["the new serving certificate cannot be read; the previous one stays in use"]));
  expect(source.current()).toEqual(first);
  await write({ key: second.key });

  await look(() => expect(source.current()).toEqual(second));
});

/** A pair whose key OpenSSL considers too small, although it belongs to the certificate. */
function tooSmall(): KeyPair {
  const key = generateKeyPairSync("ec", { namedCurve: "prime192v1" }).privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const validity = { notBeforeMs: 0, notAfterMs: 365 * dayMs };
  return { certificate: selfSignedCertificate({ commonName: "vk", names: ["vk"], usages: ["server auth"], validity }, key), key };
}

test("a certificate that OpenSSL refuses is not used, and is logged and counted once", async () => {
  const { source, logger, metrics, write, look, changes } = await rig(first);

  await write(tooSmall());

  await look(() => expect(logger.warnings).toEqual(["the new serving certificate cannot be read; the previous one stays in use"]));
  await look(() => expect(logger.fields).toEqual([{ file: join(directory, "tls.crt"), err: expect.stringContaining("ee key too small") }]));
  expect([source.current(), changes()]).toEqual([first, 0]);
  expect(metrics.samples.filter((sample) => sample.startsWith("virtual_kubelet_serving_certificate_read_errors_total"))).toHaveLength(1);
});

test("files that disappear and return unchanged cause no change", async () => {
  const { source, logger, write, look } = await rig(first);

  await rm(join(directory, "tls.key"));
  await look(() => expect(logger.warnings).toHaveLength(1));
  await write(first);
  await look(() => expect(logger.lines.at(-1)).toBe("info the serving certificate has changed"));

  expect(source.current()).toEqual(first);
});

test.each([
  ["that is not a certificate", { certificate: "x", key: first.key }, "not a certificate, expected PEM with -----BEGIN CERTIFICATE-----"],
  ["whose key is none", { certificate: first.certificate, key: "x" }, "not a key, expected PEM with a private key and without a password"],
  ["whose key is too small", tooSmall(), "read a certificate and its key: error:0A00018F:SSL routines::ee key too small"],
  ["with an invalid chain", { ...first, certificate: `${first.certificate}-----BEGIN CERTIFICATE-----\nAAAA\n` }, "read a certificate"],
  ["with another's key", { certificate: first.certificate, key: second.key }, "the key does not belong to the certificate"],
])("a certificate %s is refused at the start", async (_, pair, message) => {
  await expect(rig(pair)).rejects.toThrow(message);
});

test.each([
  ["that has expired", 366 * dayMs, "the serving certificate has expired: clients that check it refuse the node", 0],
  ["that is not valid yet", -2 * dayMs, "the serving certificate is not valid yet: clients that check it refuse the node", 0],
  ["that expires within a week", 359 * dayMs, "the serving certificate is about to expire: replace the file", 1],
  ["that is valid", 200 * dayMs, undefined, 1],
])("the log and a metric report a certificate file %s", async (_what, nowMs, message, valid) => {
  const [certificateFile, keyFile] = [join(directory, "a.crt"), join(directory, "a.key")];
  const [pair, logger, metrics] = [await makeSelfSigned("vk", undefined, 0), new RecordingLogger(), new RecordingMetrics()];
  await writeFile(certificateFile, pair.certificate);
  await writeFile(keyFile, pair.key, { mode: 0o600 });
  const clock = new VirtualClock(nowMs);

  await openCertificateFiles({ certificateFile, keyFile, clock, logger, metrics });

  expect(logger.warnings).toEqual(message === undefined ? [] : [expect.stringContaining(message)]);
  expect(metrics.samples).toContain(`virtual_kubelet_serving_certificate_valid ${valid}`);
  const leftSeconds = Math.trunc((certificateOf(pair).validToDate.getTime() - nowMs) / 1000);
  expect(metrics.samples).toContain(`kubelet_certificate_manager_server_ttl_seconds{node=""} ${leftSeconds}`);
});

test("the time left of a certificate file is read at each scrape, while it is kept up to date", async () => {
  const [certificateFile, keyFile] = [join(directory, "a.crt"), join(directory, "a.key")];
  const [pair, logger, metrics] = [await makeSelfSigned("vk", undefined, 0), new RecordingLogger(), new ScrapedMetrics()];
  await writeFile(certificateFile, pair.certificate);
  await writeFile(keyFile, pair.key, { mode: 0o600 });
  const clock = new VirtualClock(0);
  const source = await openCertificateFiles({ certificateFile, keyFile, clock, logger, metrics });
  const ended = new AbortController();
  const running = source.run(ended.signal);

  clock.jump(7_000);
  const leftSeconds = Math.trunc((certificateOf(pair).validToDate.getTime() - 7_000) / 1000);
  expect(metrics.scrape()).toEqual([`kubelet_certificate_manager_server_ttl_seconds{node=""} ${leftSeconds}`]);
  ended.abort();
  await running;
  expect(metrics.scrape()).toEqual([]);
});

test("a certificate that is about to expire is logged once a day while the program runs", async () => {
  const [certificateFile, keyFile] = [join(directory, "a.crt"), join(directory, "a.key")];
  const [pair, logger] = [await makeSelfSigned("vk", undefined, 0), new RecordingLogger()];
  await writeFile(certificateFile, pair.certificate);
  await writeFile(keyFile, pair.key, { mode: 0o600 });
  const clock = new VirtualClock(certificateOf(pair).validToDate.getTime() - 7 * dayMs - 30_000);
  const source = await openCertificateFiles({ certificateFile, keyFile, clock, logger });
  const ended = new AbortController();
  const running = source.run(ended.signal);
  expect(logger.warnings).toEqual([]);

  /** Reading takes real time, which the fake clock does not include. */
  const look = async (ms: number): Promise<void> => {
    await clock.advance(ms);
    await vi.waitFor(() => expect(clock.pending).toBe(1));
  };

  await look(30_001);
  expect(logger.warnings).toHaveLength(1);
  await look(3_600_000);
  expect(logger.warnings).toHaveLength(1);
  await look(dayMs);
  expect(logger.warnings).toHaveLength(2);

  ended.abort();
  await running;
});

test("a key that every user of the machine can read is logged, with the command that fixes it", async () => {
  const keyFile = join(directory, "tls.key");
  const { logger } = await rig(first, 0o644);
  expect(logger.fields).toContainEqual({ file: keyFile, mode: "0644", mend: `chmod 600 ${keyFile}` });

  expect((await rig(first, 0o640)).logger.fields).toEqual([]);
});
