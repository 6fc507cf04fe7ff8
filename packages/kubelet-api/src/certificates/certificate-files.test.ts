import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock } from "@virtual-kubelet/kube-client/testing";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RecordingLogger } from "../test-support/recording-logger.ts";
import { openCertificateFiles } from "./certificate-files.ts";
import { certificateOf, type KeyPair } from "./key-pair.ts";
import { makeSelfSigned } from "./self-signed.ts";

let directory = "";
const stop = new AbortController();

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "files-"));
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function rig(pair: KeyPair) {
  const certificateFile = join(directory, "tls.crt");
  const keyFile = join(directory, "tls.key");
  const write = async (next: Partial<KeyPair>): Promise<void> => {
    if (next.certificate !== undefined) await writeFile(certificateFile, next.certificate);
    if (next.key !== undefined) await writeFile(keyFile, next.key);
  };
  await write(pair);
  const clock = new FakeClock();
  const logger = new RecordingLogger();
  const source = await openCertificateFiles({ certificateFile, keyFile, clock, logger });
  let changes = 0;
  source.onChange(() => changes++);
  void source.run(stop.signal);
  /** Reading files takes real time, of which the fake clock knows nothing. */
  const look = async (check: () => void): Promise<void> => {
    await clock.advance(5_000);
    await vi.waitFor(check, { timeout: 30_000 });
  };
  return { source, logger, write, look, changes: () => changes };
}

const [first, second] = [await makeSelfSigned("vk", undefined, 0), await makeSelfSigned("vk", undefined, 0)];

test("new files are taken up while it runs", async () => {
  const { source, logger, write, look, changes } = await rig(first);
  expect(source.current()).toEqual(first);

  await write(second);

  await look(() => expect(source.current()).toEqual(second));
  expect(changes()).toBe(1);
  expect(logger.fields).toEqual([{ file: join(directory, "tls.crt"), notAfter: certificateOf(second).validTo }]);
});

test("files that stay as they are change nothing, and who stops it ends it", async () => {
  const clock = new FakeClock();
  const [certificateFile, keyFile] = [join(directory, "a.crt"), join(directory, "a.key")];
  await writeFile(certificateFile, first.certificate);
  await writeFile(keyFile, first.key);
  const logger = new RecordingLogger();
  const source = await openCertificateFiles({ certificateFile, keyFile, clock, logger });
  const end = new AbortController();
  const running = source.run(end.signal);
  for (let round = 0; round < 3; round++) {
    await clock.advance(4_999);
    expect(clock.pending).toBe(1);
    await clock.advance(1);
    // Reading takes real time; the next wait begins when it is over.
    await vi.waitFor(() => expect(clock.pending).toBe(1), { timeout: 30_000 });
  }

  end.abort();
  await running;

  expect([logger.lines, clock.pending]).toEqual([[], 0]);
});

test("a state that stays bad is told of once", async () => {
  const { logger, write, look } = await rig(first);
  await rm(join(directory, "tls.key"));
  await look(() => expect(logger.warnings).toHaveLength(1));
  await look(() => expect(logger.warnings).toHaveLength(1));
  await write({ key: "no key" });
  await look(() => expect(logger.warnings).toHaveLength(2));

  expect(logger.fields[0]).toEqual({ file: join(directory, "tls.crt"), err: expect.stringContaining(`read ${directory}/tls.key: ENOENT`) });
});

test("a certificate whose key is yet to come changes nothing until it is there", async () => {
  const { source, logger, write, look } = await rig(first);

  await write({ certificate: second.certificate });
  await look(() => expect(logger.warnings).toEqual(["the serving certificate cannot be read again; the one before stays"]));
  expect(source.current()).toEqual(first);
  await write({ key: second.key });

  await look(() => expect(source.current()).toEqual(second));
});

test("files that go and come back as they were change nothing in the end", async () => {
  const { source, logger, write, look } = await rig(first);

  await rm(join(directory, "tls.key"));
  await look(() => expect(logger.warnings).toHaveLength(1));
  await write(first);
  await look(() => expect(logger.lines.at(-1)).toBe("info the serving certificate has changed"));

  expect(source.current()).toEqual(first);
});

test.each([
  ["that is none", { certificate: "x", key: first.key }, "read a certificate and its key"],
  ["with another's key", { certificate: first.certificate, key: second.key }, "the key is not that certificate's"],
])("a certificate %s is refused at the start", async (_, pair, message) => {
  await expect(rig(pair)).rejects.toThrow(message);
});
