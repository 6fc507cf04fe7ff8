import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { eventually, freePort } from "@virtual-kubelet/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestOf, megabytes, serveTcp } from "../embedded/support/streaming-rig.ts";
import { findKubectl } from "../support/kubectl.ts";
import { forwardedPorts } from "./support/forwarded-ports.ts";
import { InteropRig, startTimeoutMs, type PodOnNode } from "./support/rig.ts";
import { ways } from "./support/ways.ts";

const kubectl = await findKubectl();
const soon = { timeoutMs: 60_000 };

/** Sends everything that it receives back. */
function echo(socket: Socket): void {
  pipeline(socket, socket).catch(() => undefined);
}

/** Answers after its client has ended its direction. */
function answerAtEnd(socket: Socket): void {
  let text = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (text += piece));
  socket.once("end", () => socket.end(`got ${text}`));
}

/** Sends text on a new connection and ends that direction. @returns the response */
async function ask(port: number, text: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let answer = "";
  socket.setEncoding("utf8").on("data", (piece: string) => (answer += piece));
  // kubectl closes a connection that it cannot forward; if it has not read the text by then, the system resets the connection.
  socket.on("error", () => undefined);
  socket.end(text);
  await new Promise((resolve) => socket.once("close", resolve));
  return answer;
}

describe(`kubectl ${kubectl.version} port-forward`, () => {
  let rig: InteropRig;
  let on: (declared: boolean) => PodOnNode;

  beforeAll(async () => {
    rig = await InteropRig.open("forward");
    on = await rig.startBoth();
  }, startTimeoutMs);
  afterAll(() => rig[Symbol.asyncDispose](), startTimeoutMs);

  describe.for(ways)("over $name", ({ declared, env, atNode }) => {
    test("serves two ports and many connections in one session, and forwards the end of each direction", async () => {
      const { node, pod } = on(declared);
      await using first = await serveTcp(echo);
      await using second = await serveTcp(answerAtEnd);
      const before = await node.metric("kubelet_websocket_streaming_requests_total", /subresource="portforward"/);
      const { child, output, ended } = rig.kubectl(kubectl.program, env).start("port-forward", pod, `:${first.port}`, `:${second.port}`);
      const ports = await forwardedPorts(output, 2);
      const [toFirst = 0, toSecond = 0] = [ports.get(first.port), ports.get(second.port)];

      const large = connect({ port: toFirst, host: "127.0.0.1", allowHalfOpen: true });
      const sent = pipeline(Readable.from(megabytes(10)), large);
      expect(await digestOf(large)).toBe(await digestOf(megabytes(10)));
      await sent;
      for (const word of ["one", "two", "three"]) expect(await ask(toSecond, word)).toBe(`got ${word}`);
      const words = Array.from({ length: 10 }, (_, index) => `word ${index}`);
      expect(await Promise.all(words.map((word) => ask(toFirst, word)))).toEqual(words);

      const after = await node.metric("kubelet_websocket_streaming_requests_total", /subresource="portforward"/);
      expect(after - before).toBe(atNode === "websocket" && rig.cluster.heedsDeclaredFeatures ? 1 : 0);
      child.kill("SIGINT");
      await ended;
      const said = (): unknown[] => node.logs.filter(({ verb, pod: name }) => verb === "port-forward" && String(name).endsWith(`/${pod}`));
      const result = expect.stringMatching(new RegExp(`^ports (${first.port}, ${second.port}|${second.port}, ${first.port})$`)) as string;
      await eventually(() => expect(said()).toContainEqual(expect.objectContaining({ result })), soon);
    });

    test("reports why a port cannot be reached", async () => {
      const { pod } = on(declared);
      const port = await freePort();
      const { child, output, ended } = rig.kubectl(kubectl.program, env).start("port-forward", pod, `:${port}`);
      const local = (await forwardedPorts(output, 1)).get(port) ?? 0;

      expect(await ask(local, "hello?")).toBe("");

      await eventually(() => expect(output.stderr).toMatch(new RegExp(`error forwarding port ${port} to pod .*connection refused`)), soon);
      child.kill("SIGKILL");
      await ended;
    });
  });
});
