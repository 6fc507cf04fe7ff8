import { eventually } from "@virtual-kubelet/testing";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ContainerGroup, ContainerHost, ContainerRun, RunSpec } from "./container-host.ts";

/** Differences between hosts that really run commands. */
export interface HostTraits {
  /** Image with Busybox. */
  readonly image: string;
  /** Folder at which a volume may be mounted. */
  readonly mountPath: string;
  /** Whether standard output and error are told apart in logs. */
  readonly separatesStreams: boolean;
}

/** Tests of a host that runs real commands. */
export function describeHost(open: () => Promise<ContainerHost>, traits: HostTraits): void {
  describe("a host of real commands", () => {
    let host: ContainerHost;
    let group: ContainerGroup;

    beforeAll(async () => {
      host = await open();
      group = await host.createGroup({
        name: `g${process.pid}`,
        volumes: { files: [{ path: "greeting", content: Buffer.from("hello\n") }] },
      });
    });
    afterAll(() => host?.[Symbol.asyncDispose]());

    test("a run has the environment and the files of its spec, and its exit code and output are the command's", async () => {
      const run = start("main", `echo "$WORD"; cat ${traits.mountPath}/greeting; echo problem >&2; exit 7`, {
        environment: { WORD: "a b=c" },
        mounts: [{ volume: "files", path: traits.mountPath }],
      });

      expect(await run.ended).toMatchObject({ kind: "exited", exitCode: 7, isOutOfMemory: false });
      const lines = await run.log();
      expect(lines.map((line) => line.text).toSorted()).toEqual(["a b=c\n", "hello\n", "problem\n"]);
      expect(lines.find((line) => line.text === "problem\n")?.stream).toBe(traits.separatesStreams ? "stderr" : "stdout");
      expect(lines.every(({ time }) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/.test(time))).toBe(true);
      expect(run.history.map(({ kind }) => kind)).toEqual(["pulling", "starting", "running", "exited"]);
    });

    test("a command runs on a terminal with the requested size, reads input, and returns its exit code", async () => {
      await using running = await sleeper("exec");
      const session = await running.run.exec(["sh", "-c", "read line; stty size; echo got $line; exit 5"], {
        terminal: { rows: 33, columns: 101 },
      });
      const output = text(session.stream);
      session.stream.write("words\n");

      expect(await session.exitCode).toBe(5);
      expect(await output).toMatch(/33 101\r\n[^]*got words\r\n/);
    });

    test("a terminal can be resized while its command runs", async () => {
      await using running = await sleeper("resize");
      const wait = 'while [ "$(stty size)" != "12 34" ]; do sleep 0.1; done; echo resized';
      const session = await running.run.exec(["sh", "-c", wait], { terminal: { rows: 10, columns: 20 } });
      const output = text(session.stream);
      await session.resize({ rows: 12, columns: 34 });

      expect(await session.exitCode).toBe(0);
      expect(await output).toContain("resized");
    });

    test("a run ends with its own exit code within its grace period, and is killed after it", async () => {
      const polite = start("polite", "trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done");
      const stubborn = start("stubborn", "trap '' TERM; echo up; while :; do sleep 0.1; done");
      await Promise.all([polite, stubborn].map(isUp));
      await Promise.all([polite.stop(10_000), stubborn.stop(1000)]);

      expect(polite.state).toMatchObject({ kind: "exited", exitCode: 9 });
      expect(stubborn.state).toMatchObject({ kind: "exited", exitCode: 137 });
    });

    test("a stop without grace kills at once", async () => {
      const run = start("killed", "trap 'exit 9' TERM; echo up; while :; do sleep 0.1; done");
      await isUp(run);
      await run.stop(0);

      expect(run.state).toMatchObject({ exitCode: 137 });
    });

    test("an attached client reads what the container writes, and writes to its input", async () => {
      const run = start("attached", "read line; echo got $line", { hasInput: true });
      await isRunning(run);
      const session = await run.attach();
      const output = text(session.stream);
      session.stream.write("words\n");

      expect(await session.exitCode).toBe(0);
      expect(await output).toContain("got words");
    });

    test("a run's usage is measured while it runs", async () => {
      await using running = await sleeper("usage");

      expect((await running.run.usage())?.memoryBytes).toBeGreaterThan(0);
      await running.run.stop(0);
      expect(await running.run.usage()).toBeUndefined();
    });

    test("nothing can be run in a run that has ended", async () => {
      const run = start("over", "exit 0");
      await run.ended;

      await expect(run.exec(["true"], {})).rejects.toThrow("it does not run");
      await expect(run.attach()).rejects.toThrow("it does not run");
    });

    function start(container: string, script: string, more: Partial<RunSpec> = {}): ContainerRun {
      return group.run({ name: container, attempt: 0, image: traits.image, entrypoint: ["sh", "-c", script], ...more });
    }

    async function sleeper(container: string): Promise<AsyncDisposable & { readonly run: ContainerRun }> {
      const run = start(container, "echo up; while :; do sleep 0.1; done");
      await isUp(run);
      return { run, [Symbol.asyncDispose]: () => run.stop(0) };
    }
  });
}

/** Resolves when the run's script has set its traps and written its first line. */
async function isUp(run: ContainerRun): Promise<void> {
  // The first line can be read before the engine has answered that the container started.
  await run.started;
  await eventually(async () => expect((await run.log()).length).toBeGreaterThan(0), { describe: `${run.spec.name} to write` });
}

async function isRunning(run: ContainerRun): Promise<void> {
  await eventually(() => expect(run.state.kind).toBe("running"), { describe: `${run.spec.name} to run` });
}
