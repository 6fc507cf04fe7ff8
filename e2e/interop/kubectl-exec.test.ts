import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout } from "node:timers/promises";
import { eventually } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { digestOf, megabytes } from "../embedded/support/streaming-rig.ts";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { findKubectl } from "../support/kubectl.ts";
import { InteropRig, startTimeoutMs, type PodOnNode } from "./support/rig.ts";
import type { KubectlRunner } from "./support/kubectl-runner.ts";
import { ways } from "./support/ways.ts";

const kubectl = await findKubectl();
const soon = { timeoutMs: 60_000 };

/** A command that prints this number of megabytes, whose content depends on the position. */
function flood(count: number): string {
  return `seq 1 ${count * 150_000} | head -c ${count}M`;
}

/** Length and digest of the output. The length distinguishes truncated from altered output. */
interface Printed {
  readonly bytes: number;
  readonly digest: string;
}

function printedBy(command: string): Promise<Printed> {
  return read(spawn("sh", ["-c", command], { stdio: ["ignore", "pipe", "inherit"] }).stdout);
}

/** @param pauseMs - pause in milliseconds after the first chunk is read */
async function read(stream: Readable, { pauseMs = 0 } = {}): Promise<Printed> {
  const hash = createHash("sha256");
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    if (bytes === 0) await setTimeout(pauseMs);
    bytes += chunk.length;
    hash.update(chunk);
  }
  return { bytes, digest: hash.digest("hex") };
}

describe(`kubectl ${kubectl.version} exec, attach and cp`, () => {
  let rig: InteropRig;
  let on: (declared: boolean) => PodOnNode;

  beforeAll(async () => {
    rig = await InteropRig.open("exec");
    on = await rig.startBoth();
  }, startTimeoutMs);
  afterAll(() => rig[Symbol.asyncDispose](), startTimeoutMs);

  describe.for(ways)("over $name", { concurrent: true }, ({ declared, env, megabytes: count, name }) => {
    const translatedByKubernetes = !declared && inject("parityServer") !== "embedded";
    const here = (): PodOnNode & { readonly client: KubectlRunner } => ({
      ...on(declared),
      client: rig.kubectl(kubectl.program, env),
    });

    test.for([0, 3, 7])("kubectl exits with the command's exit code %i, and keeps its output and errors separate", async (exitCode) => {
      const { client, pod } = here();

      const { code, stdout, stderr } = await client.run(["exec", pod, "--", "sh", "-c", `echo out; echo err >&2; exit ${exitCode}`]);

      const told = exitCode === 0 ? "" : `command terminated with exit code ${exitCode}\n`;
      expect({ code, stdout, stderr }).toEqual({ code: exitCode, stdout: "out\n", stderr: `err\n${told}` });
    });

    test("the command sees the end of the input, and its output continues", async () => {
      const { client, pod } = here();

      const ended = await client.run(["exec", "-i", pod, "--", "sh", "-c", "cat; sleep 0.3; echo behind it; exit 3"], "typed\n");

      expect(ended).toMatchObject({ code: 3, stdout: "typed\nbehind it\n" });
    });

    test(`${count.input} MB of input and ${count.output} MB of output arrive unchanged`, { timeout: 900_000 }, async () => {
      const { client, pod } = here();
      const printed = await printedBy(flood(count.output));
      const { child, output, ended } = client.startQuietly("exec", "-i", pod, "--", "sh", "-c", `sha256sum >&2; ${flood(count.output)}`);

      const [got, sent] = await Promise.all([
        read(child.stdout as Readable),
        digestOf(megabytes(count.input)),
        pipeline(Readable.from(megabytes(count.input)), child.stdin as NodeJS.WritableStream),
      ]);

      expect({ ...(await ended), got }, output.stderr).toMatchObject({ code: 0, got: printed });
      expect(output.stderr).toBe(`${sent}  -\n`);
    });

    // A kube-apiserver that translates protocols closes the WebSocket at once, even if the client has not read everything.
    const slowlyRead = translatedByKubernetes ? [] : [8];
    test.for(slowlyRead)("%i MB arrive completely although kubectl reads them long after the command has ended", async (mb) => {
      const { client, pod } = here();
      const printed = await printedBy(flood(mb));
      const { child, output, ended } = client.startQuietly("exec", pod, "--", "sh", "-c", flood(mb));

      const got = await read(child.stdout as Readable, { pauseMs: 15_000 });

      expect({ ...(await ended), got }, output.stderr).toMatchObject({ code: 0, got: printed });
    });

    test("a command gets a terminal, which follows the size of kubectl's terminal", async ({ skip }) => {
      skip(!canOpenTerminals(), "there is no script(1)");
      const { client, pod } = here();
      using terminal = client.onTerminal(
        { width: 101, height: 33 },
        ...["exec", "-it", pod, "--", "sh", "-c", "tty; stty size; while read -r _; do stty size; done; exit 4"],
      );
      // A command may start before it receives the size.
      const shows = (text: string): Promise<void> =>
        eventually(
          () => {
            terminal.type("\r");
            expect(terminal.text()).toContain(text);
          },
          { timeoutMs: 60_000, intervalMs: 200 },
        );
      await shows("33 101\r\n");
      expect(terminal.text()).toMatch(/\/dev\/pts\/\d+\r\n/);

      terminal.group.resize({ width: 120, height: 40 });

      await shows("40 120\r\n");
      terminal.type("\u0004");
      expect(await terminal.group.exited).toBe(4);
    });

    test("attach connects to the container's main process, whose input ends when kubectl's input ends", async () => {
      const { client, node } = here();
      const pod = await node.run({
        command: ["sh", "-c", 'while read -r line; do echo "got $line"; done; echo over'],
        container: { stdin: true, stdinOnce: true },
      });
      const { child, output, ended } = client.start("attach", "-i", pod);
      child.stdin?.write("first\n");
      await eventually(() => expect(output.stdout).toBe("got first\n"), soon);
      child.stdin?.end("last\n");

      expect(await ended).toMatchObject({ code: 0, stdout: "got first\ngot last\nover\n" });
    });

    test("a command ends when its kubectl is killed", async () => {
      const { client, pod } = here();
      const { child, output } = client.start("exec", "-i", pod, "--", "sh", "-c", "echo $$; exec sleep 600");
      const pid = await eventually(() => {
        expect(output.stdout).toMatch(/^\d+\n$/);
        return Number(output.stdout);
      }, soon);
      expect(isRunning(pid)).toBe(true);

      child.kill("SIGKILL");

      await eventually(() => expect(isRunning(pid)).toBe(false), soon);
    });

    test("a command that prints nothing for eleven seconds is not cut off", async () => {
      const { client, pod } = here();

      expect(await client.run(["exec", pod, "--", "sh", "-c", "sleep 11; echo awake"])).toEqual({ code: 0, stdout: "awake\n", stderr: "" });
    });

    test("cp copies a folder into the container and back", async () => {
      const { client, pod } = here();
      const folder = join(rig.cluster.directory, `copied-${name.replaceAll(/\W+/g, "-")}`);
      await mkdir(join(folder, "here/below"), { recursive: true });
      const content = Buffer.from(Array.from({ length: 100_000 }, (_, index) => index % 253));
      await writeFile(join(folder, "here/below/file"), content);

      for (const words of [
        ["cp", join(folder, "here"), `${pod}:${join(folder, "there")}`],
        ["cp", `${pod}:${join(folder, "there")}`, join(folder, "back")],
      ])
        expect(await client.run(words)).toMatchObject({ code: 0 });

      expect(await readFile(join(folder, "back/below/file"))).toEqual(content);
    });
  });

  test.for(ways)("over $name the API server connects to the node by $atNode", async ({ declared, env, atNode }) => {
    const { node, pod } = on(declared);
    const webSockets = (): Promise<number> => node.metric("kubelet_websocket_streaming_requests_total", /subresource="exec"/);
    const before = await webSockets();

    expect(await rig.kubectl(kubectl.program, env).run(["exec", pod, "--", "true"])).toMatchObject({ code: 0 });

    expect((await webSockets()) - before).toBe(atNode === "websocket" && rig.cluster.heedsDeclaredFeatures ? 1 : 0);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
