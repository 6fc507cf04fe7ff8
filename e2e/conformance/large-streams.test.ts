import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { ProviderRig, shellPrograms } from "@virtual-kubelet/testing/conformance";
import { expect, test } from "vitest";
import { provider } from "../real-process-provider/provider.ts";

const mebibyte = 1024 * 1024;

test("200 MB out of a command and 50 MB into one arrive as they went, and are never held", async () => {
  const directory = mkdtempSync(join(tmpdir(), "vk-large-"));
  await using rig = await ProviderRig.open({
    provider,
    config: { directory },
    required: [],
    programs: shellPrograms({ image: "none" }),
    timeouts: { callMs: 20_000 },
  });
  using _files = { [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
  const ref = await rig.run();
  const before = process.memoryUsage().rss;

  const out = hashing();
  expect(await rig.exec(ref, ["head", "-c", String(200 * mebibyte), "/dev/zero"], { stdout: out.stream })).toBe(0);
  const piece = Buffer.alloc(mebibyte, "0123456789abcdef");
  const echoed = hashing();
  expect(await rig.exec(ref, ["cat"], { stdin: Readable.from(repeat(piece, 50)), stdout: echoed.stream })).toBe(0);

  expect([out.bytes(), out.digest()]).toEqual([200 * mebibyte, digestOf(repeat(Buffer.alloc(mebibyte), 200))]);
  expect([echoed.bytes(), echoed.digest()]).toEqual([50 * mebibyte, digestOf(repeat(piece, 50))]);
  expect(process.memoryUsage().rss - before).toBeLessThan(150 * mebibyte);
});

/** Counts and hashes what is written to it. */
function hashing(): { readonly stream: Writable; bytes(): number; digest(): string } {
  const hash = createHash("sha256");
  let bytes = 0;
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      bytes += chunk.byteLength;
      done();
    },
  });
  return { stream, bytes: () => bytes, digest: () => hash.digest("hex") };
}

function* repeat(piece: Buffer, times: number): Generator<Buffer, void, undefined> {
  for (let count = 0; count < times; count++) yield piece;
}

function digestOf(pieces: Iterable<Buffer>): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}
