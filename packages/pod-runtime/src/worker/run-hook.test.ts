import { VirtualClock } from "@virtual-kubelet/clock";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Clock, Container } from "@virtual-kubelet/core";
import { afterEach, describe, expect, test } from "vitest";
import type { PodNotice } from "../pod/pod-effect.ts";
import { runHook, type HookSpec } from "./run-hook.ts";
import type { ContainerRuntime } from "../runtime/container-runtime.ts";

const never = new AbortController().signal;
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

/** A container whose commands exit with 3 and an error message. */
const runtime: Pick<ContainerRuntime, "exec"> = {
  async exec(_id, command, io) {
    io.stderr?.write("no such file");
    return { exitCode: command[0] === "true" ? 0 : 3 };
  },
};

/** Runs a hook of a container at 127.0.0.1. @returns the recorded events */
async function run(hook: HookSpec, ports: Container["ports"] = [], clock: Clock = new VirtualClock()): Promise<readonly PodNotice[]> {
  const told: PodNotice[] = [];
  const tell = (notice: PodNotice): void => void told.push(notice);
  await runHook(hook, { runtime, id: "c1", container: { name: "app", ports }, podIP: "127.0.0.1", clock, tell }, never);
  return told;
}

interface Asked {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** A server in the container that answers with a status, and its requests. */
async function serve(status = 200): Promise<{ readonly port: number; readonly asked: readonly Asked[] }> {
  const asked: Asked[] = [];
  const server = createServer(({ url, headers }, response) => {
    asked.push({ url, headers });
    response.writeHead(status).end();
  });
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, asked };
}

describe("a hook", () => {
  test("may be a command, whose exit code determines the result", async () => {
    await run({ exec: { command: ["true"] } });

    await expect(run({ exec: { command: ["rm", "x"] } })).rejects.toThrow(`command 'rm x' exited with 3, message: "no such file"`);
  });

  test("may be a time to wait", async () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    const waited = run({ sleep: { seconds: 5 } }, [], clock).then(() => order.push("over"));

    await clock.advance(4_999);
    order.push("before");
    await clock.advance(1);
    await waited;

    expect(order).toEqual(["before", "over"]);
  });

  test("without an action is refused", async () => {
    await expect(run({})).rejects.toThrow("it has none of exec, httpGet and sleep");
  });
});

describe("a hook by HTTP", () => {
  test("is sent to the pod, to a port that may be named, like a kubelet's", async () => {
    const { port, asked } = await serve();

    await run({ httpGet: { path: "/ready?x=1", port: "web", httpHeaders: [{ name: "X-Own", value: "1" }] } }, [
      { name: "web", containerPort: port },
    ]);

    expect(asked).toMatchObject([
      { url: "/ready?x=1", headers: { host: `127.0.0.1:${port}`, "user-agent": "kube-lifecycle/1.36", "x-own": "1" } },
    ]);
  });

  test.each([200, 404, 500])("has succeeded with any answer (%d)", async (status) => {
    const { port, asked } = await serve(status);

    await run({ httpGet: { port } });

    expect(asked).toHaveLength(1);
  });

  test("has failed if nothing answers", async () => {
    await expect(run({ httpGet: { path: "/x", port: 1 } })).rejects.toThrow(`Get "http://127.0.0.1:1/x": connect ECONNREFUSED 127.0.0.1:1`);
  });

  test("by HTTPS is repeated by HTTP without credentials if the server speaks HTTP, with an event", async () => {
    const { port, asked } = await serve();
    const httpHeaders = [
      { name: "Authorization", value: "Bearer canary" },
      { name: "X-Own", value: "1" },
    ];

    const told = await run({ httpGet: { scheme: "HTTPS", port, httpHeaders } });

    expect(asked.map(({ headers }) => [headers.authorization, headers["x-own"]])).toEqual([[undefined, "1"]]);
    const message = `request to HTTPS lifecycle hook 127.0.0.1:${port} got HTTP response, retry with HTTP succeeded`;
    expect(told).toEqual([{ kind: "event", type: "Warning", reason: "LifecycleHTTPFallback", message }]);
  });
});

describe("a hook by HTTPS that is repeated by HTTP", () => {
  test("and fails again has the first error, and causes no event", async () => {
    const server = createServer((request) => request.socket.destroy());
    servers.push(server);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;

    await expect(run({ httpGet: { scheme: "HTTPS", port } })).rejects.toThrow(`Get "https://127.0.0.1:${port}/"`);
  });

  test("requests the same path, including the query", async () => {
    const { port, asked } = await serve();

    await run({ httpGet: { scheme: "HTTPS", port, path: "/up?x=1" } });

    expect(asked.map(({ url }) => url)).toEqual(["/up?x=1"]);
  });
});

test("a hook by HTTPS whose connection is cut is not repeated by HTTP", async () => {
  let connections = 0;
  const { port, asked } = await serve();
  const [server] = servers;
  server?.on("connection", (socket) => {
    if (connections++ === 0) socket.resetAndDestroy();
  });

  await expect(run({ httpGet: { scheme: "HTTPS", port } })).rejects.toThrow(`Get "https://127.0.0.1:${port}/"`);

  expect([connections, asked]).toEqual([1, []]);
});

test("a hook by HTTPS without an answer is not repeated", async () => {
  await expect(run({ httpGet: { scheme: "HTTPS", port: 1 } })).rejects.toThrow(`Get "https://127.0.0.1:1/": connect ECONNREFUSED`);
});

test("a hook with an empty command is run unchanged, and its error names no command", async () => {
  await expect(run({ exec: {} })).rejects.toThrow(`command '' exited with 3, message: "no such file"`);
});

test("an aborted hook ends with the signal's reason", async () => {
  const abort = new AbortController();
  const target = { runtime, id: "c1", container: { name: "app" }, podIP: "127.0.0.1", clock: new VirtualClock(), tell: () => {} };
  const asked = runHook({ sleep: { seconds: 5 } }, target, abort.signal);
  abort.abort(new Error("over"));

  await expect(asked).rejects.toThrow("over");
});
