import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import { podRef, type AttachIO, type Pod, type Provider } from "@virtual-kubelet/core";
import { eventually } from "@virtual-kubelet/testing";
import { Writable } from "node:stream";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ArmAnswer } from "../aci/fake/arm-request.ts";
import { FakeAzure } from "../aci/fake/fake-azure.ts";
import { quickTimings } from "../aci/fake/fake-container-group.ts";
import { AciProgram } from "../aci/support/aci-program.ts";
import { openAci } from "../aci/support/open-aci.ts";
import { ProcessHost } from "../support/container-host/process-host.ts";
import { canOpenTerminals } from "../zun/fake/container-process.ts";
import { podOf, resolverOf } from "../zun/support.ts";

// Faults of logs, on virtual time, and of the WebSockets of commands and attached clients, whose containers are processes.

const { signal } = new AbortController();
/** Commands of the fake get their terminals from python3. */
const hasTerminals = canOpenTerminals();
const text = "Grüße, 世界 🌍\n";

test.each([1, 2, 3, 7])("a log whose answer comes in chunks of %i bytes is whole", async (chunkBytes) => {
  await using aci = await openAci({ script: () => ({ lines: [1000, 2000].map((afterMs) => ({ afterMs, text })) }) });
  const pod = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
  await aci.create(pod);
  await aci.untilPhase(pod, "Running");
  await aci.clock.advance(10_000);
  aci.azure.chunkBytes = chunkBytes;
  const read = async (): Promise<string> => {
    const options = { follow: false, previous: false, timestamps: false };
    const logs = await aci.provider.getContainerLogs?.(podRef(pod), "web", options, signal);
    const chunks: Buffer[] = [];
    for await (const chunk of logs?.data ?? []) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks).toString("utf8").replaceAll(/^\S+ /gm, "");
  };
  expect(await aci.settle(read())).toEqual({ status: "fulfilled", value: text + text });
});

test.each([
  ["in the middle of a line", "Grü"],
  ["in the middle of a character, which Azure replaces", "Gr\uFFFD"],
  ["between two lines", ""],
])("a followed log that is cut %s is whole and has nothing twice", async (_where, cut) => {
  await using aci = await openAci({ script: () => ({ exit: { afterMs: 300_000, exitCode: 0 } }) });
  const followed = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "nginx" }] });
  await aci.create(followed);
  await aci.untilPhase(followed, "Running");
  const line = (second: number): string => `2026-01-01T00:01:0${second}.000000000Z ${text}`;
  let content = line(1) + (cut === "" ? "" : `2026-01-01T00:01:02.000000000Z ${cut}`);
  const answer = (real: ArmAnswer): ArmAnswer => ({ ...real, body: { content } });
  aci.azure.faults.add({ method: "GET", path: /\/logs\?/, answer });
  const options = { follow: true, previous: false, timestamps: false };
  const logs = await aci.settle(Promise.resolve(aci.provider.getContainerLogs?.(podRef(followed), "web", options, signal)));
  let got = "";
  const read = async (): Promise<void> => {
    if (logs.status === "rejected") throw logs.reason;
    for (const part of [logs.value?.data ?? [], logs.value?.live ?? []])
      for await (const chunk of part) got += typeof chunk === "string" ? chunk : Buffer.from(chunk).toString("utf8");
  };
  const reading = read();
  await aci.clock.advance(20_000);
  content = line(1) + line(2);
  await aci.clock.advance(20_000);
  content = line(1) + line(2) + line(3);
  await aci.clock.advance(20_000);
  expect((await aci.settle(reading)).status).toBe("fulfilled");
  expect(got.replaceAll(/^\S+Z /gm, "")).toBe(text.repeat(3));
});

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
let azure: FakeAzure;
let provider: Provider;
let pod: Pod;

beforeAll(async () => {
  const host = resources.use(new ProcessHost());
  azure = resources.use(new FakeAzure({ host, timings: quickTimings }));
  await azure.listen();
  provider = await resources.use(new AciProgram({ azure, clock: systemClock, random: systemRandom })).open();
  const command = ["sh", "-c", `while :; do printf '${text.trim()}\\n'; sleep 0.2; done`];
  pod = podOf({ restartPolicy: "Never", containers: [{ name: "web", image: "busybox", command }] });
  await provider.createPod(pod, resolverOf(pod), signal);
  await eventually(async () => expect((await provider.getPodStatus(podRef(pod), signal)).phase).toBe("Running"), { timeoutMs: 60_000 });
});

/** Streams of a client, and what it has got. */
function client(): { readonly io: AttachIO; readonly got: () => string } {
  const chunks: Buffer[] = [];
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  const io: AttachIO = { stdin: undefined, stdout, stderr: stdout, tty: false, resizes: { async *[Symbol.asyncIterator]() {} } };
  return { io, got: () => Buffer.concat(chunks).toString("utf8") };
}

const run = (command: readonly string[], io: AttachIO): Promise<unknown> =>
  Promise.resolve(provider.runInContainer?.(podRef(pod), "web", command, io, signal)).catch((error: unknown) => error);

test.skipIf(!hasTerminals)("a command goes on while its token ends, and the next one signs in again", async () => {
  const { io, got } = client();
  const running = run(["sh", "-c", "echo begun; sleep 1; echo ended; exit 7"], io);
  await eventually(() => expect(got()).toContain("begun"), { timeoutMs: 60_000 });
  azure.tokens.revokeAll();
  expect(await running).toEqual({ exitCode: 7 });
  expect(got()).toBe("begun\nended\n");
  expect(await run(["true"], client().io)).toEqual({ exitCode: 0 });
});

test.skipIf(!hasTerminals)("a command whose WebSocket closes without a close frame is not said to have ended", async () => {
  const { io, got } = client();
  const running = run(["sh", "-c", "echo begun; exec sleep 60"], io);
  await eventually(() => expect(got()).toContain("begun"), { timeoutMs: 60_000 });
  azure.sockets.cutAll();
  expect(await running).toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("its exit code is unknown") });
});

test.skipIf(!hasTerminals)("characters that are split over messages arrive whole, with the exit code", async () => {
  azure.sockets.faults.messageBytes = 1;
  const { io, got } = client();
  const result = await run(["printf", text.trim()], io);
  delete azure.sockets.faults.messageBytes;
  expect([result, got()]).toEqual([{ exitCode: 0 }, text.trim()]);
});

test("an attached client whose WebSocket closes without a close frame is told so", async () => {
  const { io, got } = client();
  const attached = Promise.resolve(provider.attachToContainer?.(podRef(pod), "web", io, signal)).catch((error: unknown) => error);
  await eventually(() => expect(got()).toContain(text.trim()), { timeoutMs: 60_000 });
  azure.sockets.cutAll();
  expect(await attached).toMatchObject({ code: "VK_UNAVAILABLE", message: expect.stringContaining("the connection to Azure broke") });
});
