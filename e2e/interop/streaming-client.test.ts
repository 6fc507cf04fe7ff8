import { once } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { TerminalSize } from "@virtual-kubelet/core";
import { openPortForward, runRemoteCommand } from "@virtual-kubelet/streaming";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { describe, expect } from "vitest";
import { clock, digestOf, megabytes, serveTcp } from "../embedded/support/streaming-rig.ts";
import { canOpenTerminals } from "../real-process-provider/spawn-command.ts";
import { runningPod, test } from "./support/stream-test.ts";

const transports = ["websocket", "spdy"] as const;
const cases = [true, false].flatMap((declared) => transports.map((transport) => ({ declared, transport })));

describe.for(cases)(
  "the client in the package streaming, over $transport, with a node that declares WebSockets: $declared",
  ({ declared, transport }) => {
    test("runs a command that copies its input to its output", async ({ rig }) => {
      const pod = await runningPod(rig, declared);
      const query = "command=cat&stdin=true&stdout=true";
      const stdout = new PassThrough();

      const [result, digest, expected] = await Promise.all([
        runRemoteCommand(rig.cluster.target(`/api/v1/namespaces/${rig.namespace}/pods/${pod}/exec?${query}`), {
          transport,
          clock,
          stdin: Readable.from(megabytes(4)),
          stdout,
        }).finally(() => stdout.end()),
        digestOf(stdout),
        digestOf(megabytes(4)),
      ]);

      expect(result).toMatchObject({ exitCode: 0 });
      expect(digest).toBe(expected);
    });

    test("sets the sizes of the terminal", async ({ rig, skip }) => {
      skip(!canOpenTerminals(), "there is no script(1)");
      const pod = await runningPod(rig, declared);
      const command = ["sh", "-c", "until stty size | tee /dev/stderr | grep -q '40 120'; do sleep 0.1; done; exit 5"];
      const query = [...command.map((word) => `command=${encodeURIComponent(word)}`), "stdin=true", "stdout=true", "tty=true"].join("&");
      const stdout = new PassThrough();
      let shown = "";
      stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
      async function* sizes(): AsyncGenerator<TerminalSize> {
        yield { width: 91, height: 23 };
        await eventually(() => expect(shown).toContain("23 91"), { timeoutMs: 60_000 });
        yield { width: 120, height: 40 };
      }

      const result = await runRemoteCommand(rig.cluster.target(`/api/v1/namespaces/${rig.namespace}/pods/${pod}/exec?${query}`), {
        transport,
        clock,
        tty: true,
        stdin: new PassThrough(),
        stdout,
        resizes: sizes(),
      });

      expect(result).toMatchObject({ exitCode: 5 });
      expect(shown).toContain("40 120");
    });

    test("forwards ports, and continues after a port that nothing listens on", async ({ rig }) => {
      const pod = await runningPod(rig, declared);
      await using echo = await serveTcp((socket) => void pipeline(socket, socket).catch(() => undefined));
      const closed = await freePort();
      await using session = await openPortForward(rig.cluster.target(`/api/v1/namespaces/${rig.namespace}/pods/${pod}/portforward`), {
        transport,
        clock,
      });

      const refused = await session.open(closed);
      const [error] = (await once(refused.resume(), "error")) as [Error];
      expect(error.message).toMatch(new RegExp(`error forwarding port ${closed} to pod .*connection refused`));

      const stream = await session.open(echo.port);
      stream.end("echo");
      expect(await stream.setEncoding("utf8").toArray()).toEqual(["echo"]);
    });
  },
);
