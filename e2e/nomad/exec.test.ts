import { systemClock, systemRandom } from "@virtual-kubelet/clock";
import type { AttachIO } from "@virtual-kubelet/core";
import { noMetrics, silentLogger } from "@virtual-kubelet/kube-client";
import { eventually } from "@virtual-kubelet/testing";
import { createHash, randomUUID } from "node:crypto";
import { PassThrough, Readable, Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { execInTask } from "../../providers/nomad/src/access/exec.ts";
import { NomadClient } from "../../providers/nomad/src/api/nomad-client.ts";
import type { NomadHttp } from "../../providers/nomad/src/api/nomad-http.ts";
import { ObjectReader } from "../../providers/nomad/src/api/object-reader.ts";
import { newPodEntry, type PodEntry } from "../../providers/nomad/src/pods/pod-entry.ts";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { httpTo, openNomad, type NomadBackend } from "./backend.ts";
import { jobWith, taskWith, wait } from "./test-jobs.ts";

// Commands in tasks of the driver raw_exec, on the fake and, with E2E_NOMAD=real, on a real agent.
const { signal } = new AbortController();
const job = jobWith([taskWith(wait)]);

let nomad: NomadBackend;
let http: NomadHttp;
let client: NomadClient;
let entry: PodEntry;

beforeAll(async () => {
  nomad = await openNomad();
  http = httpTo(nomad);
  client = new NomadClient(http, new ObjectReader({ logger: silentLogger, metrics: noMetrics }), "default");
  await client.registerJob(job, 0, signal);
  entry = newPodEntry(job.ID, {
    ref: { namespace: "default", name: "exec", uid: randomUUID() },
    owner: { clusterId: "c1", nodeName: "n1" },
    restartPolicy: "Never",
    containers: [{ name: "main", image: "busybox", role: "main" }],
    graceSeconds: 30,
    driver: "raw_exec",
    network: "host",
    variables: [],
    fileVolumes: [],
  });
  await eventually(async () => {
    [entry.allocation] = await client.jobAllocations(job.ID, signal);
    expect(entry.allocation?.TaskStates?.["main"]?.State).toBe("running");
  });
}, 60_000);
afterAll(async () => {
  await client.stopJob(job.ID, { purge: true }, signal);
  await http[Symbol.asyncDispose]();
  await nomad[Symbol.asyncDispose]();
});

interface Run {
  readonly exitCode: number;
  readonly out: string;
  readonly err: string;
  readonly bytes: Buffer;
}

/** Runs a command and waits for its end. */
async function run(command: readonly string[], io: Partial<AttachIO> = {}, until: AbortSignal = signal): Promise<Run> {
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const keep = (name: keyof typeof chunks): Writable =>
    new Writable({ write: (chunk: Buffer, _, done) => (chunks[name].push(chunk), done()) });
  const whole: AttachIO = { stdin: undefined, stdout: keep("stdout"), stderr: keep("stderr"), tty: false, resizes: noSizes(), ...io };
  const { exitCode } = await execInTask(
    { client, clock: systemClock, random: systemRandom, entry, container: "main", command, io: whole },
    until,
  );
  const [stdout, stderr] = [Buffer.concat(chunks.stdout), Buffer.concat(chunks.stderr)];
  return { exitCode, out: stdout.toString(), err: stderr.toString(), bytes: stdout };
}

const sh = (script: string, io?: Partial<AttachIO>, until?: AbortSignal): Promise<Run> => run(["sh", "-c", script], io, until);

async function* noSizes(): AsyncGenerator<never> {}

/** Input that never ends. */
function openInput(...chunks: readonly (string | Buffer)[]): PassThrough {
  const input = new PassThrough({ highWaterMark: 64 * 1024 * 1024 });
  for (const chunk of chunks) input.write(chunk);
  return input;
}

const megabytes = Buffer.alloc(4 * 1024 * 1024, "0123456789abcdef\n");
const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

describe("output", () => {
  test("is complete and separate for both streams, with arbitrary bytes, when the exit code arrives", async () => {
    expect(await sh("echo out; echo err >&2; exit 7")).toMatchObject({ exitCode: 7, out: "out\n", err: "err\n" });
    expect(await sh("printf 'a\\000b\\000' >&2; printf '\\377\\000' ")).toMatchObject({ exitCode: 0, err: "a\0b\0" });
    const { bytes } = await sh("i=0; while [ $i -lt 2000 ]; do echo line $i; echo error >&2; i=$((i+1)); done");
    expect(bytes.toString()).toBe(Array.from({ length: 2000 }, (_, index) => `line ${index}\n`).join(""));
  });

  test("arrives while the command runs", async () => {
    const input = openInput();
    const stdout = new PassThrough();
    const stderr = new PassThrough();
    const running = sh("echo out; echo err >&2; read line; echo $line", { stdin: input, stdout, stderr });
    await eventually(() => expect([stdout.read()?.toString(), stderr.read()?.toString()].join("")).not.toBe(""));
    input.write("go on\n");
    expect((await running).exitCode).toBe(0);
    input.destroy();
  });

  test("is forwarded without buffering even if the image's sh is not a shell", async () => {
    const command = JSON.stringify(["sh", "-c", "head -c 100000 /dev/zero; sleep 3; exit 5"]);
    const lying: Pick<NomadClient, "exec"> = { exec: (allocation, call, tenant) => client.exec(allocation, { ...call, command }, tenant) };
    const sizes: number[] = [];
    const stdout = new Writable({ write: (chunk: Buffer, _, done) => (sizes.push(chunk.byteLength), done()) });
    const io: AttachIO = { stdin: undefined, stdout, stderr: new PassThrough(), tty: false, resizes: noSizes() };
    let isOver = false;
    const running = execInTask(
      { client: lying, clock: systemClock, random: systemRandom, entry, container: "main", command: ["true"], io },
      signal,
    ).finally(() => (isOver = true));
    const sum = (): number => sizes.reduce((all, each) => all + each, 0);

    await eventually(() => expect([sum() > 16 * 1024, isOver]).toEqual([true, false]));
    expect(await running).toEqual({ exitCode: 5 });
    expect(sum()).toBe(100_000);
  });

  test("without its end is an error, not a success", async () => {
    const sent: string[] = [];
    const cutOff = (command: readonly string[]): Pick<NomadClient, "exec"> => ({
      exec: (allocation, call, tenant) => (
        sent.push(call.command),
        client.exec(allocation, { ...call, command: JSON.stringify(command) }, tenant)
      ),
    });
    const runCut = (command: readonly string[]): Promise<unknown> => {
      const io: AttachIO = { stdin: undefined, stdout: new PassThrough(), stderr: new PassThrough(), tty: false, resizes: noSizes() };
      const input = { client: cutOff(command), clock: systemClock, random: systemRandom, entry, container: "main", command: ["true"], io };
      return execInTask(input, signal);
    };

    await expect(runCut(["sh", "-c", "echo some; exit 0"])).rejects.toThrow(/succeeded, but the end of its output is missing/);
    expect(await runCut(["sh", "-c", "exit 5"])).toEqual({ exitCode: 5 });
    expect(sent).toHaveLength(2);
  });

  test("contains no output of the shell that runs the command", async () => {
    expect(await sh("kill -9 $$")).toMatchObject({ exitCode: 137, out: "", err: "" });
    expect(await sh("exec >&- 2>&-; exit 4")).toMatchObject({ exitCode: 4, out: "", err: "" });
    expect(await run(["ls", "/proc/self/fd"])).toMatchObject({ err: "" });
  });
});

describe("words", () => {
  test("are passed to the program without interpretation by a shell", async () => {
    expect(await run(["printf", "%s|", "a  b", "$HOME;", "é", `'"`, "\\n", ""])).toMatchObject({ out: `a  b|$HOME;|é|'"|\\n||` });
    expect(await run(["printf", "%s|", "${attr.kernel.name}", "%{ if true }"])).toMatchObject({ out: "${attr.kernel.name}|%{ if true }|" });
    expect(await run(["env", "echo", "-n", "\\t"])).toMatchObject({ out: "\\t" });
    expect((await run(["exit", "3"])).exitCode).toBe(127);
  });

  test("that print the end mark themselves do not hold back output", async () => {
    const script =
      "printf '\\000%s 5' \"$(tr '\\000' '\\n' </proc/$PPID/cmdline | grep '^vk-')\" >&2; head -c 100000 /dev/zero >&2; exit 3";
    const { exitCode, err } = await sh(script);

    expect([exitCode, err.length > 100_000]).toEqual([3, true]);
  });

  test("that name a missing program fail, and the next command runs", async () => {
    expect(await run(["/no/such/command"])).toMatchObject({ exitCode: 127, err: expect.stringContaining("/no/such/command") as unknown });
    expect((await run(["/etc/passwd"])).exitCode).toBe(126);
    expect((await sh("exit 5")).exitCode).toBe(5);
  });
});

describe("input", () => {
  test("is at its end if there is none", async () => {
    expect(await run(["cat"])).toMatchObject({ exitCode: 0, out: "" });
  });

  test("is read to its end, with arbitrary bytes", async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
    expect((await run(["cat"], { stdin: Readable.from([every, every]) })).bytes).toEqual(Buffer.concat([every, every]));
    const { exitCode, bytes } = await run(["cat"], { stdin: Readable.from([megabytes]) });
    expect([exitCode, sha256(bytes)]).toEqual([0, sha256(megabytes)]);
  });

  test.each([
    ["nothing", "exit 6", openInput()],
    ["none of several megabytes", "sleep 0.3; exit 6", openInput(megabytes)],
    ["one line", "read line; exit 6", openInput("asked\n")],
    ["half of several megabytes", "head -c 2000000 >/dev/null; exit 6", openInput(megabytes)],
    ["all of several megabytes", `head -c ${megabytes.byteLength} >/dev/null; exit 6`, openInput(megabytes)],
  ])("may stay open after a command has read %s and ended", async (_, script, stdin) => {
    const startedMs = performance.now();
    expect(await sh(`${script}`, { stdin })).toMatchObject({ exitCode: 6, err: "" });
    // A heartbeat, after ten seconds, would reveal the end as well.
    expect(performance.now() - startedMs).toBeLessThan(9000);
    stdin.destroy();
  });

  test("is no longer read after the command has ended", async () => {
    const stdin = openInput("asked\n");
    expect((await sh("read line; echo $line", { stdin })).out).toBe("asked\n");
    stdin.write("the next command's");
    expect(stdin.read()?.toString()).toBe("the next command's");
    stdin.destroy();
  });
});

/** Whether a process has the name among its arguments. The brackets keep the command that looks for it from finding itself. */
async function isThere(name: string): Promise<boolean> {
  return (await sh(`pgrep -f ${name.slice(0, -1)}[${name.slice(-1)}]`)).out !== "";
}

describe("a command whose client is gone", () => {
  test.each([
    ["without input", undefined],
    ["with input", openInput("asked\n")],
  ])("is ended, %s, although it neither reads nor writes", async (_, stdin) => {
    const controller = new AbortController();
    const name = `vk-${randomUUID()}`;
    const running = run(["sh", "-c", "while :; do sleep 0.1; done", name], { stdin }, controller.signal);
    running.catch(() => undefined);
    await eventually(async () => expect(await isThere(name)).toBe(true));
    const reason = new Error("the client is gone");
    controller.abort(reason);

    await expect(running).rejects.toBe(reason);
    await eventually(async () => expect(await isThere(name)).toBe(false));
  });

  test("is ended although nobody reads its output", async () => {
    const controller = new AbortController();
    const name = `vk-${randomUUID()}`;
    const stdout = new PassThrough({ highWaterMark: 1 });
    const running = run(["sh", "-c", "while :; do echo much of it; done", name], { stdout }, controller.signal);
    await eventually(async () => expect(await isThere(name)).toBe(true));
    controller.abort(new Error("the client is gone"));

    await expect(running).rejects.toThrow("the client is gone");
    await eventually(async () => expect(await isThere(name)).toBe(false));
  });

  test("leaves no connection behind", async () => {
    // Six connections are the share of one namespace in a total of eight.
    const calls = Array.from({ length: 6 }, () => {
      const controller = new AbortController();
      setTimeout(() => controller.abort(new Error("gone")), 300);
      return sh("sleep 60", {}, controller.signal).catch((error: unknown) => String(error));
    });
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 6 }, () => "Error: gone"));
    expect((await sh("exit 3")).exitCode).toBe(3);
  });
});

describe.skipIf(!canOpenTerminals())("a terminal", () => {
  test("has one output, and the call returns when the command ends although the input is open", async () => {
    const stdin = openInput();
    expect(await sh("echo out; echo err >&2; exit 6", { stdin, tty: true })).toMatchObject({ exitCode: 6, out: "out\r\nerr\r\n", err: "" });
    stdin.destroy();
  });

  test("stays open for a command without input", async () => {
    expect(await sh("echo one; sleep 0.5; echo two", { tty: true })).toMatchObject({ exitCode: 0, out: "one\r\ntwo\r\n" });
  });
});
