import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import type { AttachIO, Container } from "@virtual-kubelet/core";
import { afterEach, describe, expect, test } from "vitest";
import { httpUrl, probeOnce, type ProbeTarget } from "./probe-action.ts";

const never = new AbortController().signal;
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const web = (listener: RequestListener): Promise<number> => listen(createServer(listener));

function targetOf({ exec, podIP, ports }: { exec?: ProbeTarget["runtime"]["exec"]; podIP?: string; ports?: Container["ports"] } = {}) {
  const refuse = (): never => {
    throw new Error("not asked for");
  };
  return { runtime: { exec: exec ?? refuse }, id: "c1", container: { name: "app", ...(ports && { ports }) }, podIP } satisfies ProbeTarget;
}

describe("probeOnce", () => {
  test.for([
    ["at the pod's own address is followed to another port of that address", {}, { isSuccess: true, output: "other" }],
    [
      "at a port of a machine is not followed to another port of the machine",
      { endpointOf: (port: number) => ({ host: "127.0.0.1", port }) },
      { isSuccess: true, isWarning: true, output: "Probe terminated redirects, Response body: own" },
    ],
  ] as const)("a redirect %s", async ([, way, found]) => {
    const other = await web((_, response) => response.end("other"));
    const port = await web((_, response) => response.writeHead(302, { location: `http://127.0.0.1:${other}/` }).end("own"));

    expect(await probeOnce({ httpGet: { port } }, { ...targetOf({ podIP: "127.0.0.1" }), ...way }, never)).toEqual(found);
  });

  test.for([
    [0, true],
    [1, false],
  ] as const)("a command that exits with %d is a success: %s, with its output", async ([exitCode, isSuccess]) => {
    const asked: unknown[] = [];
    const exec = async (id: string, command: readonly string[], io: AttachIO): Promise<{ exitCode: number }> => {
      asked.push([id, command, io.tty, io.stdin]);
      io.stdout?.write(Buffer.from("out"));
      io.stderr?.write(Buffer.from("err"));
      return { exitCode };
    };

    expect(await probeOnce({ exec: { command: ["check", "it"] } }, targetOf({ exec }), never)).toEqual({ isSuccess, output: "outerr" });
    expect(asked).toEqual([["c1", ["check", "it"], false, undefined]]);
  });

  test("a command without arguments is run unchanged", async () => {
    const commands: unknown[] = [];
    const exec = async (_: string, command: readonly string[]): Promise<{ exitCode: number }> => {
      commands.push(command);
      return { exitCode: 0 };
    };

    await probeOnce({ exec: {} }, targetOf({ exec }), never);

    expect(commands).toEqual([[]]);
  });

  test("sends an HTTP request to the pod's address, with the headers of the probe", async () => {
    const port = await web(({ url, headers }, response) => response.end(`${url} ${String(headers["x-a"])}`));
    const httpGet = { port, path: "healthz?x=1", httpHeaders: [{ name: "X-A", value: "1" }] };

    expect(await probeOnce({ httpGet }, targetOf({ podIP: "127.0.0.1" }), never)).toEqual({ isSuccess: true, output: "/healthz?x=1 1" });
  });

  test("connects to another host if the probe names one, by HTTP and TCP", async () => {
    const port = await web((_, response) => response.end("here"));
    const target = targetOf({ podIP: "192.0.2.1" });

    expect(await probeOnce({ httpGet: { host: "127.0.0.1", port } }, target, never)).toEqual({ isSuccess: true, output: "here" });
    expect(await probeOnce({ tcpSocket: { host: "127.0.0.1", port } }, target, never)).toEqual({ isSuccess: true, output: "" });
  });

  test("finds a port of the pod by its name", async () => {
    const port = await web((_, response) => response.end());
    const ports = [
      { name: "other", containerPort: 1 },
      { name: "web", containerPort: port },
    ];

    expect(await probeOnce({ tcpSocket: { port: "web" } }, targetOf({ podIP: "127.0.0.1", ports }), never)).toMatchObject({
      isSuccess: true,
    });
  });

  test("calls gRPC's health service of the pod, for the configured service", async () => {
    const asked: Buffer[] = [];
    const server = createHttp2Server();
    server.on("stream", (stream) => {
      stream.on("data", (chunk: Buffer) => asked.push(chunk));
      stream.on("end", () => {
        stream.respond({ ":status": 200, "grpc-status": "0" });
        stream.end(Buffer.from([0, 0, 0, 0, 2, 0x08, 1]));
      });
    });
    const port = await listen(server);

    expect(await probeOnce({ grpc: { port, service: "web" } }, targetOf({ podIP: "127.0.0.1" }), never)).toMatchObject({ isSuccess: true });
    expect(await probeOnce({ grpc: { port } }, targetOf({ podIP: "127.0.0.1" }), never)).toMatchObject({ isSuccess: true });

    expect(asked.map((body) => body.toString("latin1"))).toEqual(["\0\0\0\0\u0005\n\u0003web", "\0\0\0\0\0"]);
  });

  test("refuses a probe without an action, and names the container", async () => {
    await expect(probeOnce({}, targetOf(), never)).rejects.toMatchObject({
      code: "VK_INVALID_INPUT",
      message: "probe container app: it has none of exec, httpGet, tcpSocket and grpc",
    });
  });

  test.for([{ httpGet: { port: 80 } }, { tcpSocket: { port: 80 } }, { grpc: { port: 80 } }])(
    "refuses %j while the pod has no address",
    async (spec) => {
      await expect(probeOnce(spec, targetOf(), never)).rejects.toMatchObject({
        code: "VK_INVALID_INPUT",
        message: "probe container app: the pod has no address",
      });
    },
  );
});

describe("httpUrl", () => {
  test.for<[Parameters<typeof httpUrl>[0], string]>([
    [{ port: 80 }, "http://10.0.0.1/"],
    [{ port: 8080, path: "" }, "http://10.0.0.1:8080/"],
    [{ port: 8080, path: "/live" }, "http://10.0.0.1:8080/live"],
    [{ port: 8080, path: "live" }, "http://10.0.0.1:8080/live"],
    [{ port: 8443, scheme: "HTTPS" }, "https://10.0.0.1:8443/"],
    [{ port: 8080, scheme: "" }, "http://10.0.0.1:8080/"],
    [{ port: 8080, host: "fd00::1" }, "http://[fd00::1]:8080/"],
    [{ port: 8080, host: "" }, "http://10.0.0.1:8080/"],
    [{ port: "web" }, "http://10.0.0.1:8000/"],
    [{ port: "9000" }, "http://10.0.0.1:9000/"],
  ])("%j is %s", ([action, url]) => {
    const ports = [
      { name: "admin", containerPort: 8001 },
      { name: "web", containerPort: 8000 },
    ];
    expect(httpUrl(action, targetOf({ podIP: "10.0.0.1", ports })).href).toBe(url);
  });

  test.for(["gone", 0, 65_536, 1.5, -1])("the value %j is neither a port nor the name of one", (port) => {
    expect(() => httpUrl({ port }, targetOf({ podIP: "10.0.0.1" }))).toThrow(
      `probe container app: ${JSON.stringify(port)} is neither a port nor the name of one of its ports`,
    );
  });

  test("65535 is a valid port", () => {
    expect(httpUrl({ port: 65_535 }, targetOf({ podIP: "10.0.0.1" })).port).toBe("65535");
  });
});
