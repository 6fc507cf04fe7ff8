import type { ContainerLogOptions, PodRef } from "@virtual-kubelet/core";
import { isQuotaExceeded } from "@virtual-kubelet/errdefs";
import { eventually } from "@virtual-kubelet/testing";
import { Writable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import { container, forever, NomadRig } from "./nomad-rig.ts";

const stop = new AbortController();
const { signal } = stop;

let rig: NomadRig;
beforeEach(async () => {
  rig = await NomadRig.open();
});
afterEach(() => rig[Symbol.asyncDispose]());

const run = (script: string): Promise<PodRef> => rig.create(rig.pod({ containers: [container(script)] }));
const untilPhase = (ref: PodRef, wanted: string): Promise<void> => rig.until(ref, ({ phase }) => expect(phase).toBe(wanted));

/** A container's log as the provider returns it. */
async function* logOf(ref: PodRef, options: Partial<ContainerLogOptions> = {}, name = "main"): AsyncGenerator<string> {
  const wanted = { follow: false, previous: false, timestamps: false, ...options };
  const logs = await rig.provider.getContainerLogs?.(ref, name, wanted, signal);
  for await (const chunk of logs?.data ?? []) yield Buffer.from(chunk as Uint8Array).toString();
  for await (const chunk of logs?.live ?? []) yield Buffer.from(chunk as Uint8Array).toString();
}

async function textOf(ref: PodRef, options: Partial<ContainerLogOptions> = {}, name = "main"): Promise<string> {
  let text = "";
  for await (const chunk of logOf(ref, options, name)) text += chunk;
  return text;
}

interface Following {
  text: string;
  done: Promise<void>;
}

/** Follows a log until it ends. */
function following(ref: PodRef, options: Partial<ContainerLogOptions> = {}, name = "main"): Readonly<Following> {
  const seen: Following = { text: "", done: Promise.resolve() };
  const read = async (): Promise<void> => {
    for await (const chunk of logOf(ref, { follow: true, ...options }, name)) seen.text += chunk;
  };
  seen.done = read();
  return seen;
}

const followed = (): number => rig.nomad.requests.filter(({ query }) => query.get("follow") === "true").length;

test("the last lines are taken from both outputs, wherever a line ends", async () => {
  const ref = await run("echo out1; echo out2; printf out3; for i in 1 2 3; do echo err$i >&2; done");
  await untilPhase(ref, "Succeeded");

  expect(await textOf(ref)).toBe("out1\nout2\nerr1\nerr2\nerr3\nout3");
  expect(await textOf(ref, { tailLines: 3 })).toBe("out2\nerr3\nout3");
  expect(await textOf(ref, { tailLines: 100 })).toBe("out1\nout2\nerr1\nerr2\nerr3\nout3");
  expect(await textOf(ref, { tailLines: 0 })).toBe("");
});

test("lines are in the order of their arrival, also for later readers", async () => {
  const lines = ["out1", "err1", "out2", "err2", "out3", "err3"];
  const steps = lines.map(
    (line) => `until [ -e ${rig.file(line)} ]; do sleep 0.05; done; echo ${line}${line.startsWith("err") ? " >&2" : ""}`,
  );
  const ref = await run(`${steps.join("; ")}; ${rig.held(0)}`);
  await untilPhase(ref, "Running");
  const first = following(ref);
  let wanted = "";
  for (const line of lines) {
    rig.write(line);
    wanted += `${line}\n`;
    await eventually(() => expect(first.text).toBe(wanted));
  }

  expect(await textOf(ref)).toBe(wanted);
  expect(await textOf(ref, { tailLines: 3 })).toBe("err2\nout3\nerr3\n");
  rig.release();
  await first.done;
});

test("a line's time is the time of its arrival and does not change", async () => {
  const ref = await run(`echo early; ${rig.held(0)}; `);
  await untilPhase(ref, "Running");
  await eventually(async () => expect(await textOf(ref)).toBe("early\n"));
  const before = await textOf(ref, { timestamps: true });
  await new Promise((resolve) => setTimeout(resolve, 20));

  expect(before).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z early\n$/);
  expect(await textOf(ref, { sinceTime: "2020-01-01T00:00:00Z" })).toBe(before);
  rig.release();
});

test("lines of an ended container are not later than its end", async () => {
  const ref = await run("echo one; echo two >&2");
  await untilPhase(ref, "Succeeded");
  const { containerStatuses } = await rig.provider.getPodStatus(ref, signal);
  const endedAt = Date.parse(containerStatuses?.[0]?.state?.terminated?.finishedAt ?? "");
  await new Promise((resolve) => setTimeout(resolve, 50));
  const times = (await textOf(ref, { timestamps: true })).match(/^\S+/gm) ?? [];

  expect(times).toHaveLength(2);
  for (const time of times) expect(Date.parse(time)).toBeLessThanOrEqual(endedAt + 1000);
  expect(times.every((time) => Math.abs(Date.parse(time) - endedAt) <= 1000)).toBe(true);
});

test("all followers of a container share one stream per output, and each gets the complete log", async () => {
  const ref = await run(`echo one; ${rig.held(0)}`);
  await untilPhase(ref, "Running");
  await eventually(async () => expect(await textOf(ref)).toBe("one\n"));
  const readers = Array.from({ length: 20 }, () => following(ref));
  await eventually(() => expect(readers.map(({ text }) => text)).toEqual(readers.map(() => "one\n")));
  await eventually(() => expect(followed()).toBeGreaterThan(0));
  const late = following(ref, { tailLines: 1 });
  await eventually(() => expect(late.text).toBe("one\n"));
  rig.release();
  await Promise.all([...readers, late].map(({ done }) => done));

  expect(followed()).toBe(2);
});

test("a follower survives an outage of the agent without missing or repeated lines", async () => {
  const ref = await run(`for i in 1 2 3 4 5 6 7 8; do echo $i; sleep 0.2; done; ${forever}`);
  await untilPhase(ref, "Running");
  const reader = following(ref);
  await eventually(() => expect(reader.text).toContain("2\n"));
  let refused = 0;
  rig.nomad.fault = ({ query }) => (query.get("follow") === "true" && refused++ < 3 ? { status: 502, text: "Bad Gateway" } : undefined);
  rig.nomad.breakConnections();

  await eventually(() => expect(reader.text).toBe("1\n2\n3\n4\n5\n6\n7\n8\n"));
  await eventually(() => expect(refused).toBeGreaterThanOrEqual(3));
  await rig.delete(ref);
  await reader.done;
});

test("followers share the remaining connections, no namespace gets all of them, and the node's own requests continue", async () => {
  await rig[Symbol.asyncDispose]();
  // The node keeps four connections for itself and one for probes. Of the remaining eight, two are reserved for namespaces with fewer than
  // two.
  rig = await NomadRig.open({ maxSockets: 4, maxConnections: 17 });
  rig.nomad.maxConnections = 17;
  const names = ["a", "b", "c", "d"];
  const containers = names.map((name) => container(`echo ${name}; ${rig.held(0)}`, { name }));
  const pod = rig.pod({ containers });
  const ref = await rig.create(pod);
  const other = rig.pod({ containers });
  const neighbour = await rig.create({ ...other, metadata: { ...other.metadata, namespace: "neighbour" } });
  await untilPhase(ref, "Running");
  await untilPhase(neighbour, "Running");
  const readers = names.slice(0, 3).map((name) => following(ref, {}, name));
  await eventually(() => expect(readers.map(({ text }) => text)).toEqual(["a\n", "b\n", "c\n"]));
  await eventually(() => expect(followed()).toBe(6));

  await expect(following(ref, {}, "d").done).rejects.toSatisfy(isQuotaExceeded);
  await expect(shell(ref, "a")).rejects.toThrow(/there are 8, the last quarter of them for namespaces with less than two/);
  expect(await shell(neighbour, "a")).toEqual({ exitCode: 7 });
  readers.push(following(neighbour, {}, "a"));
  await eventually(() => expect(followed()).toBe(8));
  await expect(following(neighbour, {}, "b").done).rejects.toSatisfy(isQuotaExceeded);
  await Promise.all(Array.from({ length: 10 }, async () => rig.provider.ping?.(signal)));
  await rig.run();
  rig.release();
  await Promise.all(readers.map(({ done }) => done));
  await eventually(async () => expect(await textOf(ref, {}, "d")).toBe("d\n"));
  expect(rig.nomad.refusedConnections).toBe(0);
});

/** Runs a command that exits with code 7. */
async function shell(ref: PodRef, name: string): Promise<unknown> {
  const sink = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });
  const resizes = (async function* (): AsyncGenerator<never> {})();
  const io = { stdin: undefined, stdout: sink(), stderr: sink(), tty: false, resizes };
  return rig.provider.runInContainer?.(ref, name, ["sh", "-c", "exit 7"], io, signal);
}
